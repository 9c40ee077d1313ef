/* store/postgres: connections that fail, and servers that cannot just now. See postgres.h. */
#include <errno.h>
#include <stdlib.h>

#include "base/boottime.h"
#include "base/random.h"
#include "store/postgres/postgres.h"

void weir__pg_connect(struct postgres *pg)
{
	if (!weir__pg_wire_is_down(&pg->mouth) || pg->pausing)
		return;
	pg->ready = false;
	pg->prepared = pg->preparing = 0;
	weir__pg_wire_open(&pg->mouth);
}

void weir__pg_listen(struct postgres *pg)
{
	if (pg->wants_ear && weir__pg_wire_is_down(&pg->ear) && !pg->ear_pausing &&
	    (!pg->pooled || pg->has_direct))
		weir__pg_wire_open(&pg->ear);
}

void weir__pg_free_batch(struct postgres *pg)
{
	while (pg->asked != NULL) {
		struct question *question = pg->asked;

		pg->asked = question->next;
		for (size_t i = 0; i < question->n; i++)
			weir__pg_heard_of(question->calls[i]);
		weir__pq.PQclear(question->result);
		free(question);
	}
	pg->hearing = NULL;
}

/* Its question was sent, and nobody knows what came of it. */
static void unsend_call(struct postgres *pg, struct call *call)
{
	call->polled = false;
	call->look_again = 0;
	if ((call->op == NULL && !call->orphan) || call->state != CALL_SENT)
		return;
	call->sent_before = true;
	if (call->names != NULL)
		call->names->asked = call->names->heard;
	weir__pg_move(pg, call, CALL_NEXT);
}

/* Who has given up does not wait for another connection. */
static void dismiss(struct postgres *pg)
{
	struct call *next;

	for (struct call *call = pg->todo.first; call != NULL; call = next) {
		next = call->next;
		if (call->withdrawn && call->op != NULL)
			weir__pg_abandon(pg, call, call->op->give_up);
	}
}

/* What is awaited will not come. It is to do again, before what was not sent yet. */
static void unsend(struct postgres *pg)
{
	struct calls later = pg->todo;

	pg->todo = (struct calls){ NULL, NULL };
	for (struct question *question = pg->asked; question != NULL; question = question->next)
		for (size_t i = 0; i < question->n; i++)
			unsend_call(pg, question->calls[i]);
	weir__pg_free_batch(pg);
	if (later.first != NULL) {
		later.first->previous = pg->todo.last;
		*(pg->todo.last != NULL ? &pg->todo.last->next : &pg->todo.first) = later.first;
		pg->todo.last = later.last;
	}
	dismiss(pg);
}

/* Longer each time, and never the same for two clients that were cut off together. */
static weir_time delay(const struct postgres *pg)
{
	weir_time time = pg->min_delay;
	uint16_t random = 0;

	for (uint32_t i = 1; i < pg->failed && time < pg->max_delay; i++)
		time *= pg->multiplier;
	if (time > pg->max_delay)
		time = pg->max_delay;
	(void)weir__random(&random, sizeof(random)); /* without, it does without */
	return time / 2 + time / 2 / UINT16_MAX * random;
}

static void pause_for(struct postgres *pg, weir_time time)
{
	pg->pausing = true;
	weir__agent_timer_set(pg->agent, &pg->pause, weir__boottime() + time);
}

static bool is_idle(const struct postgres *pg)
{
	return pg->todo.first == NULL && pg->waiting.first == NULL;
}

/* Whether there may be another attempt; else all have been refused. */
static bool try_again(struct postgres *pg, uint32_t attempts, const char *why)
{
	if (weir__gate_is_shut(pg->store))
		attempts = 1; /* whoever closes a store does not want to wait for it */
	if (++pg->failed < attempts)
		return true;
	weir__pg_give_up(pg, -EHOSTUNREACH, why);
	return false;
}

void weir__pg_part(struct postgres *pg)
{
	struct weir__op *goodbye = pg->goodbye;

	if (goodbye == NULL || !is_idle(pg) || pg->asked != NULL)
		return;
	pg->goodbye = NULL;
	weir__agent_timer_unset(pg->agent, &pg->pause);
	weir__agent_timer_unset(pg->agent, &pg->ear_pause);
	weir__agent_timer_unset(pg->agent, &pg->heartbeat);
	weir__agent_timer_unset(pg->agent, &pg->reaper);
	weir__pg_wire_close(&pg->mouth);
	weir__pg_wire_close(&pg->ear);
	weir__op_answer(goodbye, 0);
}

void weir__pg_give_up(struct postgres *pg, int error, const char *why)
{
	pg->failed = 0;
	pg->gave_up = true;
	pg->ready = false;
	weir__pg_wire_close(&pg->mouth);
	unsend(pg);
	weir__pg_refuse_all(pg, error, why);
	weir__pg_part(pg);
}

void weir__pg_lost(struct postgres *pg, const char *why)
{
	bool was_ready = pg->ready;

	pg->ready = false;
	weir__pg_wire_close(&pg->mouth);
	unsend(pg);
	if (is_idle(pg)) {
		weir__pg_part(pg);
		return;
	}
	/* One that was lost is not one that could not be made. */
	if (!try_again(pg, pg->attempts + (was_ready ? 1 : 0), why))
		return;
	if (was_ready && pg->failed == 1)
		weir__pg_connect(pg);
	else
		pause_for(pg, delay(pg));
}

void weir__pg_later(struct postgres *pg, const char *why)
{
	if (pg->pausing || !try_again(pg, pg->attempts, why))
		return;
	pause_for(pg, delay(pg));
}
