/* store: what servers say of calls. See hear.h. */
#include "store/hear.h"

#include <errno.h>
#include <string.h>

#include "base/boottime.h"

static const char nonsense[] = "its answer is not understood";

/* ---- numbers --------------------------------------------------------------------------------- */

int weir__heard_error(int64_t number)
{
	switch (number) {
	case -2:
		return -ENOENT;
	case -7:
		return -E2BIG;
	case -11:
		return -EAGAIN;
	case -17:
		return -EEXIST;
	case -105:
		return -ENOBUFS;
	case -116:
		return -ESTALE;
	default:
		return -EPROTO;
	}
}

weir_time weir__heard_time(int64_t microseconds)
{
	if (microseconds < 0)
		return -1;
	return microseconds < WEIR_NEVER / WEIR_US ? microseconds * WEIR_US : WEIR_NEVER;
}

void weir__heard_grant(struct weir__grant *grant, const void *token, const int64_t *numbers)
{
	*grant = (struct weir__grant){
		.weight = (uint32_t)numbers[0],
		.slot = (uint32_t)numbers[1],
		.fence = (uint64_t)numbers[2],
		.left = weir__heard_time(numbers[3]),
		.hard_left = numbers[4] < 0 ? WEIR_NEVER : weir__heard_time(numbers[4]),
		.ttl = weir__heard_time(numbers[5]),
	};
	memcpy(grant->token, token, WEIR_TOKEN_SIZE);
}

/* ---- answers --------------------------------------------------------------------------------- */

static void granted(struct call *call, const struct weir__grant *grant)
{
	if (grant->ttl > call->desk->longest)
		call->desk->longest = grant->ttl;
	call->op->grant = *grant;
	weir__call_answer(call, 0);
}

/* When to ask whether it was granted: a heartbeat after it was asked for, or when it may be. */
static weir_time when_to_look(const struct call *call, weir_time again)
{
	weir_time next = call->sent + call->desk->store->bounds.heartbeat;

	if (call->poll_again)
		return 0;
	if (again >= 0) {
		weir_time soon = weir__boottime() + again + WEIR_MS / 4;

		next = soon < next ? soon : next;
	}
	return next;
}

static void waits(struct call *call, const struct heard *heard)
{
	const uint8_t *token = heard->grant.token;

	if (call->early && !call->withdrawn &&
	    memcmp(call->op->grant.token, token, WEIR_TOKEN_SIZE) == 0) {
		granted(call, &call->op->grant);
		return;
	}
	weir__call_set_token(call, token);
	call->look_again = when_to_look(call, heard->again);
	call->poll_again = false;
	if (call->state != CALL_WAITING)
		weir__call_move(call, CALL_WAITING);
	weir__desk_look(call->desk, call->look_again);
	call->desk->kind->listen(call->desk);
	if (call->withdrawn) {
		call->withdrawn = false;
		weir__desk_withdraw(call->op);
	}
}

static void ask_again(struct call *call)
{
	weir__call_set_token(call, call->op->token);
	weir__call_move(call, CALL_NEXT);
	call->early = false;
	call->verb = CALL_REQUEST;
	call->sent_before = false;
}

/* What came of an orphan. */
static void hear_orphan(struct call *call, int result)
{
	if (call->verb == CALL_WITHDRAW && result == 0 && !call->inherited) {
		call->verb = CALL_RELEASE;
		weir__call_move(call, CALL_NEXT);
	} else {
		weir__call_bury(call);
	}
}

void weir__call_hear(struct call *call, const struct heard *heard)
{
	int result = heard->result;

	if (call->orphan) {
		hear_orphan(call, result);
	} else if (result == 0 && weir__call_wants_lease(call)) {
		granted(call, &heard->grant);
	} else if (result == 1 && weir__call_may_wait(call)) {
		waits(call, heard);
	} else if (call->verb == CALL_WITHDRAW) {
		weir__call_answer(call, call->op->give_up);
	} else if (result == -EPROTO) {
		weir__call_refuse(call, -EPROTO, nonsense);
	} else {
		call->op->found_limit = heard->found_limit;
		/* What it has done when it was asked before is what was asked for. */
		if (result == -ESTALE && call->sent_before && call->verb != CALL_RENEW)
			result = 0;
		weir__call_answer(call, result);
	}
}

void weir__call_hear_poll(struct call *call, weir_time sent, const struct heard *heard)
{
	call->polled = false;
	if (call->op == NULL || call->state != CALL_WAITING)
		return;
	if (heard->result == -ESTALE) {
		ask_again(call);
		return;
	}
	call->sent = sent;
	if (heard->result == 0)
		granted(call, &heard->grant);
	else if (heard->result == 1)
		waits(call, heard);
	else
		weir__call_refuse(call, -EPROTO, nonsense);
}

void weir__call_hear_survey(struct call *call, bool more, int error)
{
	const struct names *names = call->names;

	if (error == -EPROTO)
		weir__call_refuse(call, error, nonsense);
	else if (!more)
		weir__call_answer(call, error < 0 ? error : (int)names->reaped);
	else if (names->asked == names->heard) /* else the rest of what was asked is on its way */
		weir__call_move(call, CALL_NEXT);
}

/* ---- messages -------------------------------------------------------------------------------- */

/* Granted, at a time after the last one when it was known to wait. Whoever was known to so long ago
 * that little would be left asks for the truth (L5). A message may overtake the answer that the
 * request waits, for they come by different wires. */
static void hear_grant(struct call *call, const struct weir__grant *grant)
{
	if (call->state != CALL_WAITING) {
		call->op->grant = *grant;
		call->early = true;
	} else if (weir__boottime() - call->sent > grant->left / 4) {
		call->look_again = 0;
		call->poll_again = call->polled;
		weir__desk_look(call->desk, 0);
	} else {
		granted(call, grant);
	}
}

void weir__desk_message(struct desk *desk, char what, const uint8_t *token,
			const struct weir__grant *grant)
{
	struct call *next;

	if (what == 'l') {
		weir__store_lost(desk->store, token);
		return;
	}
	for (struct call *call = weir__desk_waiter(desk, token); call != NULL; call = next) {
		next = weir__call_next_waiter(call);
		if (what == 'g')
			hear_grant(call, grant);
		else if (what == 'h' && call->state == CALL_WAITING)
			ask_again(call); /* and is told the limit */
	}
}
