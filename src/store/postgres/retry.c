/* store/postgres: connections that fail, and servers that cannot just now. See postgres.h. */
#include <stdlib.h>

#include "store/postgres/postgres.h"

void weir__pg_connect(struct server *server)
{
	struct postgres *pg = weir__pg_of(server->desk);

	if (!weir__pg_wire_is_down(&pg->mouth) || pg->primary.pausing)
		return;
	pg->primary.ready = false;
	pg->prepared = pg->preparing = 0;
	pg->hears = pg->beginning_to_hear = false;
	weir__pg_wire_open(&pg->mouth);
}

void weir__pg_listen(struct desk *desk)
{
	struct postgres *pg = weir__pg_of(desk);

	if (pg->primary.ready && desk->wants_ear && weir__pg_wire_is_down(&pg->ear) &&
	    !pg->ear_pausing && pg->pooled && pg->has_direct)
		weir__pg_wire_open(&pg->ear);
}

void weir__pg_free_batch(struct postgres *pg)
{
	while (pg->asked != NULL) {
		struct question *question = pg->asked;

		pg->asked = question->next;
		for (size_t i = 0; i < question->n; i++)
			weir__call_heard_of(question->calls[i]);
		weir__pq.PQclear(question->result);
		free(question);
	}
	pg->hearing = NULL;
	/* It may have come before the connection was lost: it is none of the next batch's. */
	pg->error_code[0] = '\0';
	pg->culprit = NULL;
}

void weir__pg_unsend(struct server *server)
{
	struct postgres *pg = weir__pg_of(server->desk);

	for (struct question *question = pg->asked; question != NULL; question = question->next)
		for (size_t i = 0; i < question->n; i++)
			weir__call_unsend(question->calls[i]);
	weir__pg_free_batch(pg);
}

void weir__pg_part(struct desk *desk)
{
	struct postgres *pg = weir__pg_of(desk);
	struct weir__op *goodbye = desk->goodbye;

	if (goodbye == NULL || !weir__server_is_idle(&pg->primary) || pg->asked != NULL ||
	    desk->resting.first != NULL)
		return;
	pg->desk.goodbye = NULL;
	weir__agent_timer_unset(pg->desk.agent, &pg->primary.pause);
	weir__agent_timer_unset(pg->desk.agent, &pg->ear_pause);
	weir__agent_timer_unset(pg->desk.agent, &pg->desk.heartbeat);
	weir__agent_timer_unset(pg->desk.agent, &pg->desk.wake_up);
	weir__agent_timer_unset(pg->desk.agent, &pg->reaper);
	weir__pg_wire_close(&pg->mouth);
	weir__pg_wire_close(&pg->ear);
	weir__op_answer(goodbye, 0);
}
