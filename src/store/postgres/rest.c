/* store/postgres: names that cannot be asked about just now: somebody else sits on the row of their
 * semaphore. See postgres.h. */
#include <string.h>

#include "store/postgres/postgres.h"
#include "store/rest.h"

/* Each attempt may hold up the wire for as long as a lock may take, so it is made alone. */
void weir__pg_rest(struct postgres *pg, const struct question *question, const char *why)
{
	struct call *next;
	weir_time until;

	for (size_t i = 0; i < question->n; i++)
		if (question->calls[i]->state == CALL_NEXT)
			question->calls[i]->alone = true;
	until = weir__rest_calls(&pg->desk, question->calls, question->n, why);
	/* Or each would find out for itself, and hold up the wire for as long. */
	for (struct call *call = pg->primary.todo.first; call != NULL; call = next) {
		next = call->next;
		if (strcmp(call->name, question->name) != 0)
			continue;
		call->alone = true;
		weir__rest_call(call, until, why);
	}
}

void weir__pg_wake_up(struct weir__timer *timer)
{
	struct postgres *pg = (struct postgres *)(void *)((char *)timer -
							  offsetof(struct postgres, desk.wake_up));

	weir__rest_over(&pg->desk);
	weir__pg_send(pg);
}
