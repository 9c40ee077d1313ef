/* store/postgres: when what is said to the server. See postgres.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/boottime.h"
#include "store/postgres/postgres.h"

enum {
	SURVEY_AT_ONCE = 64, /* names that are asked about before one is heard of */
	MOST_QUESTIONS = 256,
};

/* A batch in the making. */
struct batch {
	struct question *first;
	struct question *last;
	size_t n;
	bool failed;              /* there was no memory */
	struct question *acquire; /* the last one */
	struct question *join;    /* that more may be added to */
	struct question *leave;   /* likewise */
};

/* Whether they can be asked for together. */
static bool are_alike(const struct call *a, const struct call *b)
{
	return a->op->limit == b->op->limit && a->op->weight == b->op->weight &&
	       a->op->ttl == b->op->ttl && a->op->wait == b->op->wait &&
	       strcmp(a->op->owner, b->op->owner) == 0;
}

/* Those beside others are asked for, and given back, many at once: whether it goes with some
 * before it. */
static bool add_to_others(struct batch *batch, enum weir__pg_verb verb, struct call *call)
{
	struct question *question = verb == WEIR__PG_JOIN  ? batch->join :
				    verb == WEIR__PG_LEAVE ? batch->leave :
							     NULL;

	if (question == NULL || question->n == WEIR__POLL_AT_ONCE ||
	    strcmp(question->name, call->name) != 0 ||
	    (verb == WEIR__PG_JOIN && !are_alike(question->calls[0], call)))
		return false;
	question->calls[question->n++] = call;
	call->expected++;
	return true;
}

static struct question *add(struct batch *batch, enum weir__pg_verb verb, const char *name,
			    struct call *const *calls, size_t n)
{
	bool grows = verb == WEIR__PG_JOIN || verb == WEIR__PG_LEAVE;
	size_t room = grows ? WEIR__POLL_AT_ONCE : n;
	struct question *question = malloc(sizeof(*question) + room * sizeof(struct call *));

	if (question == NULL) {
		batch->failed = true;
		return NULL;
	}
	*question = (struct question){ .verb = verb, .name = name, .n = n };
	for (size_t i = 0; i < n; i++) {
		question->calls[i] = calls[i];
		calls[i]->expected++;
	}
	*(batch->last != NULL ? &batch->last->next : &batch->first) = question;
	batch->last = question;
	batch->n++;
	if (verb == WEIR__PG_ACQUIRE)
		batch->acquire = question;
	else if (grows)
		*(verb == WEIR__PG_JOIN ? &batch->join : &batch->leave) = question;
	return question;
}

/* ---- what is to do --------------------------------------------------------------------------- */

static void add_survey(struct batch *batch, struct call *call)
{
	struct names *names = call->names;

	if (!names->complete) {
		const char *beyond = names->count != 0 ? names->name[names->count - 1] : "";

		(void)add(batch, WEIR__PG_NAMES, beyond, &call, 1);
		return;
	}
	for (size_t i = 0; i < SURVEY_AT_ONCE && names->asked < names->count; i++)
		if (add(batch, WEIR__PG_LIST, names->name[names->asked], &call, 1) != NULL)
			names->asked++;
}

/* What may go a short way is asked in the one that was right the last time; but of two who ask at
 * once, the second is beside the first. */
static enum weir__pg_verb short_verb_of(const struct postgres *pg, const struct batch *batch,
					const struct call *call)
{
	bool shared = strcmp(call->name, pg->shared) == 0 ||
		      (batch->acquire != NULL && strcmp(call->name, batch->acquire->name) == 0);
	int64_t slot = weir__pg_slot_of(call);

	if (call->verb == CALL_REQUEST)
		return shared ? WEIR__PG_JOIN : WEIR__PG_ACQUIRE;
	return slot != INT32_MAX && (slot != 0 || shared) ? WEIR__PG_LEAVE : WEIR__PG_RELEASE;
}

static enum weir__pg_verb verb_of(const struct postgres *pg, const struct batch *batch,
				  const struct call *call)
{
	static const enum weir__pg_verb verbs[] = {
		[CALL_ENSURE] = WEIR__PG_ENSURE,   [CALL_SET_LIMIT] = WEIR__PG_LIMIT,
		[CALL_REQUEST] = WEIR__PG_REQUEST, [CALL_WITHDRAW] = WEIR__PG_WITHDRAW,
		[CALL_RENEW] = WEIR__PG_RENEW,     [CALL_EVICT] = WEIR__PG_EVICT,
		[CALL_REAP] = WEIR__PG_REAP,
	};

	/* A request that nobody will ask for again. */
	if (call->verb == CALL_RELEASE || (call->verb == CALL_REQUEST && call->op->private_id &&
					   call->op->max_hold == 0 && !call->sent_before))
		return short_verb_of(pg, batch, call);
	return verbs[call->verb];
}

static void add_call(struct postgres *pg, struct batch *batch, struct call *call)
{
	weir__call_move(call, CALL_SENT);
	if (call->verb == CALL_HELLO) {
		weir__call_answer(call, 0);
		return;
	}
	call->sent = pg->sent;
	if (call->verb != CALL_LIST) {
		enum weir__pg_verb verb = verb_of(pg, batch, call);

		if (!add_to_others(batch, verb, call) &&
		    add(batch, verb, call->name, &call, 1) == NULL)
			weir__call_refuse(call, -ENOMEM, "there is no memory");
		return;
	}
	if (call->names->complete && call->names->heard == call->names->count) {
		weir__call_answer(call, 0);
		return;
	}
	add_survey(batch, call);
	if (call->expected == 0)
		weir__call_refuse(call, -ENOMEM, "there is no memory");
}

/* A reaping locks many, and one whose batch has failed may fail again: each has a batch alone. */
static bool is_alone(const struct call *call)
{
	return call->alone || call->verb == CALL_REAP;
}

static void add_calls(struct postgres *pg, struct batch *batch)
{
	while (pg->primary.todo.first != NULL && batch->n < MOST_QUESTIONS) {
		struct call *call = pg->primary.todo.first;

		if (is_alone(call) && batch->n != 0)
			return;
		add_call(pg, batch, call);
		if (batch->n != 0 && is_alone(call))
			return;
	}
}

/* ---- polls ----------------------------------------------------------------------------------- */

void weir__pg_look_at_all(struct postgres *pg)
{
	for (struct call *call = pg->desk.waiting.first; call != NULL; call = call->next)
		call->look_again = 0;
	weir__desk_look(&pg->desk, 0);
}

static bool add_poll(void *self, struct server *server, struct call *const *calls, size_t n)
{
	(void)server;
	return add(self, WEIR__PG_POLL, calls[0]->name, calls, n) != NULL;
}

static void add_polls(struct postgres *pg, struct batch *batch)
{
	const struct poll poll = { .now = pg->sent, .ask = add_poll, .self = batch };

	if (pg->desk.beats_at > pg->sent + pg->desk.store->bounds.heartbeat / 8)
		return;
	pg->desk.beats_at = WEIR_NEVER;
	weir__desk_poll(&pg->desk, &poll);
}

/* ---- sending --------------------------------------------------------------------------------- */

/* By name; among those of one name, as they came, but what is given back at once comes first: then
 * whoever asks for it in the same batch need not queue up. */
static bool goes_before(const struct question *a, const struct question *b)
{
	int order = strcmp(a->name, b->name);

	return order < 0 || (order == 0 && a->verb == WEIR__PG_LEAVE && b->verb != WEIR__PG_LEAVE);
}

static struct question *merge(struct question *a, struct question *b)
{
	struct question *all = NULL;
	struct question **last = &all;

	while (a != NULL && b != NULL) {
		struct question **next = goes_before(b, a) ? &b : &a;

		*last = *next;
		last = &(*next)->next;
		*next = *last;
	}
	*last = a != NULL ? a : b;
	return all;
}

static struct question *sort(struct question *list, size_t n)
{
	struct question *half = list;

	if (n < 2)
		return list;
	for (size_t i = 1; i < n / 2; i++)
		half = half->next;

	struct question *rest = half->next;

	half->next = NULL;
	return merge(sort(list, n / 2), sort(rest, n - n / 2));
}

static bool send_batch(struct postgres *pg)
{
	if (!weir__pg_prepare(pg, pg->asked))
		return false;
	if (pg->pooled && !weir__pg_send_settings(pg))
		return false;
	for (struct question *question = pg->asked; question != NULL; question = question->next)
		if (!weir__pg_send_question(pg, question))
			return false;
	return weir__pq.PQpipelineSync(pg->mouth.conn) == 1;
}

void weir__pg_send(struct postgres *pg)
{
	struct batch batch = { 0 };

	if (pg->asked != NULL)
		return;
	if (!pg->primary.ready || pg->primary.pausing) {
		if (pg->primary.todo.first == NULL || pg->primary.pausing)
			weir__pg_part(&pg->desk);
		else
			weir__server_want(&pg->primary);
		return;
	}
	pg->sent = weir__boottime();
	/* A poll may hold up the next one, too, and be due again by then: what is to do comes
	 * first. */
	if (pg->primary.todo.first == NULL || (!pg->held_up && !is_alone(pg->primary.todo.first)))
		add_polls(pg, &batch);
	pg->held_up = false;
	add_calls(pg, &batch);
	if (batch.n == 0) {
		weir__pg_part(&pg->desk);
		return;
	}
	pg->asked = pg->hearing = sort(batch.first, batch.n);
	pg->settling = pg->pooled;
	if (send_batch(pg))
		weir__pg_wire_flush(&pg->mouth);
	else
		weir__server_lost(&pg->primary, "there is no memory");
}
