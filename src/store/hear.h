/* store: what servers say of calls, and what comes of it.
 *
 * An engine takes apart what it has read, into a struct heard, and hands it over. Scripts in Lua
 * and functions in SQL answer with the same numbers, so these are read here. */
#ifndef WEIR_STORE_HEAR_H
#define WEIR_STORE_HEAR_H

#include "store/call.h"

/* Weight, slot, fence, what is left of the TTL and of the hard end (negative: there is none), and
 * the TTL: the numbers of a lease, times in microseconds. */
enum { WEIR__HEARD_GRANT = 6 };

/* What is not of the result's kind is not looked at. */
struct heard {
	int result; /* 1 of a request: it waits; -EPROTO: it is not understood */
	uint32_t found_limit;
	weir_time again;          /* it waits: how long it will at least; negative: unknown */
	struct weir__grant grant; /* it waits: only the token */
};

/* The error behind the first number of an answer; -EPROTO: it is none. */
int weir__heard_error(int64_t number);
/* Or that number, which is most often the case. */
static inline int weir__heard_result(int64_t number)
{
	return number >= 0 && number < INT32_MAX ? (int)number : weir__heard_error(number);
}

weir_time weir__heard_time(int64_t microseconds);
void weir__heard_grant(struct weir__grant *grant, const void *token, const int64_t *numbers);

/* Whether a result of 0 comes with a lease. */
static inline bool weir__call_wants_lease(const struct call *call)
{
	return !call->orphan && (call->verb == CALL_REQUEST || call->verb == CALL_WITHDRAW ||
				 call->verb == CALL_RENEW);
}

static inline bool weir__call_may_wait(const struct call *call)
{
	return !call->orphan && call->verb == CALL_REQUEST;
}

/* Of a call that is live. */
void weir__call_hear(struct call *call, const struct heard *heard);
/* Of one that was asked about at that time, and may have been answered since. */
void weir__call_hear_poll(struct call *call, weir_time sent, const struct heard *heard);
/* Of one that looks at many names: whether there are more to ask about, or what is wrong. */
void weir__call_hear_survey(struct call *call, bool more, int error);

/* A message about whoever waits or holds under a token: its first letter says what. One that tells
 * of a grant has the lease in it; of others it is NULL. */
void weir__desk_message(struct desk *desk, char what, const uint8_t *token,
			const struct weir__grant *grant);

#endif
