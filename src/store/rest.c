/* store: calls that rest. See rest.h. */
#include "store/rest.h"

#include <errno.h>

#include "base/boottime.h"
#include "store/server.h"

void weir__rest_call(struct call *call, weir_time until, const char *why)
{
	struct desk *desk = call->desk;

	if (++call->rests >= weir__desk_attempts(desk, 0)) {
		weir__call_fail(call, call->server, -EHOSTUNREACH, why);
		return;
	}
	call->look_again = until;
	weir__call_move(call, CALL_RESTING);
	if (until < desk->wakes_at) {
		desk->wakes_at = until;
		weir__agent_timer_set(desk->agent, &desk->wake_up, until);
	}
}

weir_time weir__rest_calls(struct desk *desk, struct call *const *calls, size_t n, const char *why)
{
	weir_time now = weir__boottime();
	weir_time until = now + weir__backoff_delay(&desk->backoff, calls[0]->rests + 1);
	weir_time next = now + desk->store->bounds.heartbeat;

	for (size_t i = 0; i < n; i++) {
		if (calls[i]->state == CALL_WAITING)
			calls[i]->look_again = next;
		else if (calls[i]->state == CALL_NEXT)
			weir__rest_call(calls[i], until, why);
	}
	weir__desk_look(desk, next);
	return until;
}

void weir__rest_over(struct desk *desk)
{
	weir_time now = weir__boottime(), next = WEIR_NEVER;
	struct call *after;

	for (struct call *call = desk->resting.first; call != NULL; call = after) {
		after = call->next;
		if (call->look_again <= now)
			weir__call_move(call, CALL_NEXT);
		else if (call->look_again < next)
			next = call->look_again;
	}
	desk->wakes_at = next;
	if (next != WEIR_NEVER)
		weir__agent_timer_set(desk->agent, &desk->wake_up, next);
}
