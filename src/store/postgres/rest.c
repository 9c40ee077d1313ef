/* store/postgres: calls that cannot be answered just now, though the server can answer others:
 * somebody else sits on the row of their semaphore. See postgres.h. */
#include <errno.h>
#include <string.h>

#include "base/boottime.h"
#include "store/postgres/postgres.h"

/* Each attempt may hold up the wire for as long as a lock may take, so it is made alone. */
static void rest(struct postgres *pg, struct call *call, weir_time until, const char *why)
{
	if (++call->rests >= weir__desk_attempts(&pg->desk, 0)) {
		weir__call_fail(call, call->server, -EHOSTUNREACH, why);
		return;
	}
	call->alone = true;
	call->look_again = until;
	weir__call_move(call, CALL_RESTING);
}

/* Whoever only asked whether it was granted asks again in a heartbeat. */
static void rest_asked(struct postgres *pg, const struct question *question, weir_time until,
		       const char *why)
{
	weir_time next = weir__boottime() + pg->desk.store->bounds.heartbeat;

	for (size_t i = 0; i < question->n; i++) {
		struct call *call = question->calls[i];

		if (!weir__call_is_live(call))
			continue;
		if (call->state == CALL_WAITING)
			call->look_again = next;
		else if (call->state == CALL_NEXT)
			rest(pg, call, until, why);
	}
	weir__desk_look(&pg->desk, next);
}

void weir__pg_rest(struct postgres *pg, const struct question *question, const char *why)
{
	weir_time until = weir__boottime() +
			  weir__backoff_delay(&pg->desk.backoff, question->calls[0]->rests + 1);
	struct call *next;

	rest_asked(pg, question, until, why);
	/* Or each would find out for itself, and hold up the wire for as long. */
	for (struct call *call = pg->primary.todo.first; call != NULL; call = next) {
		next = call->next;
		if (strcmp(call->name, question->name) == 0)
			rest(pg, call, until, why);
	}
	if (pg->desk.resting.first != NULL && until < pg->wakes_at) {
		pg->wakes_at = until;
		weir__agent_timer_set(pg->desk.agent, &pg->wake_up, until);
	}
}

void weir__pg_wake_up(struct weir__timer *timer)
{
	struct postgres *pg =
		(struct postgres *)(void *)((char *)timer - offsetof(struct postgres, wake_up));
	weir_time now = weir__boottime(), next = WEIR_NEVER;
	struct call *after;

	for (struct call *call = pg->desk.resting.first; call != NULL; call = after) {
		after = call->next;
		if (call->look_again <= now)
			weir__call_move(call, CALL_NEXT);
		else if (call->look_again < next)
			next = call->look_again;
	}
	pg->wakes_at = next;
	if (next != WEIR_NEVER)
		weir__agent_timer_set(pg->desk.agent, &pg->wake_up, next);
	weir__pg_send(pg);
}
