/* store/sqlite: a batch of operations, in one transaction.
 *
 * Whatever came while the agent was busy is done together: one lock, one commit, one write of each
 * head. Then, in this order: other processes are told, askers are answered. If the transaction
 * fails, all of it fails, and everybody is told why.
 */
#include <errno.h>
#include <sched.h>

#include "base/alloc.h"
#include "lease/picture.h"
#include "store/sqlite/lite.h"

enum { LONG_LOG = 16000 }; /* frames */

/* ---- what comes of a transaction ------------------------------------------------------------- */

static void end_broken(struct weir__lite *lite, struct weir__waiter *waiter)
{
	char *sentence = NULL;

	weir__free(waiter->op->error);
	int error = weir__lite_error(lite, lite->broken, &sentence);

	waiter->op->error = sentence;
	weir__lite_leave(lite, waiter, error);
}

/* A file that is gone or damaged will not be well again: nobody waits for it. */
static void failed(struct weir__lite *lite, int result)
{
	int kind = result & 0xff;

	weir__lite_waits_undo(lite);
	weir__lite_views_close(lite);
	if (lite->gone || kind == SQLITE_CORRUPT || kind == SQLITE_NOTADB || kind == SQLITE_ERROR) {
		lite->broken = result;
		weir__lite_waits_each(lite, end_broken);
	}
}

static void tell(struct weir__lite *lite)
{
	weir__lite_waits_begin(lite);
	for (struct weir__tiding *tiding = lite->tidings; tiding != NULL; tiding = tiding->next) {
		if (tiding->news.kind == WEIR__NEWS_LOST)
			weir__lite_unbind(lite, tiding->news.token, false);
		if (tiding->who.agent == lite->self.agent) {
			weir__lite_heard(lite, &tiding->news);
			tiding->who.agent = 0;
		}
	}
	weir__lite_send(lite);
}

static void conclude(struct weir__lite *lite, int result)
{
	if (result == SQLITE_OK)
		tell(lite);
	else
		failed(lite, result);
	weir__lite_forget(lite);
	weir__lite_waits_answer(lite);
}

/* The dead that were found on the way are buried in another transaction. */
static void bury_refused(struct weir__lite *lite)
{
	while (lite->n_refused != 0) {
		if (weir__lite_begin(lite) != SQLITE_OK) {
			lite->n_refused = 0;
			return;
		}
		weir__lite_bury_refused(lite);
		conclude(lite, weir__lite_end(lite));
	}
}

static void deliver(struct weir__lite *lite, int result)
{
	conclude(lite, result);
	bury_refused(lite);
}

void weir__lite_look(struct weir__timer *timer)
{
	struct weir__lite *lite = (void *)((char *)timer - offsetof(struct weir__lite, look_timer));
	int result;

	weir__lite_unwatched_free(lite);
	weir__lite_views_close(lite);
	if (lite->looks.first == NULL && lite->abandoned == NULL)
		return;
	result = weir__lite_begin(lite);
	if (result == SQLITE_OK) {
		weir__lite_abandoned_end(lite);
		weir__lite_look_due(lite);
		result = weir__lite_end(lite);
	} else {
		weir__lite_look_later(lite);
	}
	deliver(lite, result);
	if (result == SQLITE_OK)
		weir__lite_abandoned_free(lite);
	weir__lite_look_set(lite);
}

/* ---- batches --------------------------------------------------------------------------------- */

static bool needs_space(const struct weir__op *op)
{
	return op->verb == WEIR__REQUEST || op->verb == WEIR__ENSURE;
}

static void fail(struct weir__lite *lite, struct weir__op *op, int result)
{
	weir__free(op->error);
	op->error = NULL;
	weir__picture_free(op->picture);
	op->picture = NULL;
	op->keeper = NULL;
	op->result = weir__lite_error(lite, result, &op->error);
}

static int attempt(struct weir__lite *lite, struct weir__op *operations, struct weir__op *withdrawn)
{
	int result = weir__lite_begin(lite);

	if (result != SQLITE_OK)
		return result;
	/* Before anybody asks under the same request id, and would have what is then taken back. */
	weir__lite_abandoned_end(lite);
	for (struct weir__op *op = operations; op != NULL; op = op->next) {
		op->keeper = NULL;
		if (lite->full && needs_space(op))
			fail(lite, op, SQLITE_FULL);
		else
			weir__lite_do(lite, op);
	}
	for (struct weir__op *op = withdrawn; op != NULL; op = op->withdraw_next)
		weir__lite_withdraw(lite, op);
	result = weir__lite_end(lite);
	if (result == SQLITE_OK)
		weir__lite_abandoned_free(lite);
	if (result == SQLITE_OK && lite->sync_later)
		weir__lite_sync(lite);
	lite->sync_later = false;
	return result;
}

static bool is_full(int result)
{
	return (result & 0xff) == SQLITE_FULL || result == SQLITE_IOERR_WRITE ||
	       result == SQLITE_IOERR_SHMSIZE;
}

/* CHECKLIST 75. */
static int attempt_all(struct weir__lite *lite, struct weir__op *operations,
		       struct weir__op *withdrawn)
{
	bool growing = false;
	int result;

	for (struct weir__op *op = operations; op != NULL && !growing; op = op->next)
		growing = needs_space(op);
	lite->full = growing && !weir__lite_reserve(lite);
	result = attempt(lite, operations, withdrawn);
	if (!is_full(result))
		return result;
	for (struct weir__op *op = operations; op != NULL; op = op->next)
		fail(lite, op, result);
	weir__lite_waits_undo(lite);
	weir__lite_forget(lite);
	weir__lite_reserve_use(lite);
	weir__lite_checkpoint(lite, 0);
	lite->full = true;
	return attempt(lite, operations, withdrawn);
}

/* Those who were answered together will often ask again together: they get a moment for that, or
 * else the next batch would be the first of them alone. */
static void answer(struct weir__op *operations)
{
	struct weir__op *next;
	bool several = operations != NULL && operations->next != NULL;

	for (struct weir__op *op = operations; op != NULL; op = next) {
		next = op->next;
		if (op->keeper == NULL)
			weir__op_answer(op, op->result);
	}
	if (several)
		(void)sched_yield();
}

/* ---- the end --------------------------------------------------------------------------------- */

/* What waits is taken out of the queue; what was granted in the last moment is given back. */
static void end_wait(struct weir__lite *lite, struct weir__waiter *waiter)
{
	struct weir__lite_sem *sem = weir__lite_sem_by_id(lite, waiter->view->semaphore);

	waiter->op->give_up = -ESHUTDOWN;
	weir__lite_withdraw(lite, waiter->op);
	if (waiter->result == 0 && sem != NULL)
		(void)weir__rules_release(&sem->rec, lite->now, waiter->token);
	waiter->result = -ESHUTDOWN;
}

static void just_end(struct weir__lite *lite, struct weir__waiter *waiter)
{
	weir__lite_leave(lite, waiter, -ESHUTDOWN);
}

static void shut_down(struct weir__lite *lite)
{
	int result = SQLITE_OK;

	if (lite->looks.first != NULL || lite->abandoned != NULL) {
		result = weir__lite_begin(lite);
		if (result == SQLITE_OK) {
			weir__lite_abandoned_end(lite);
			weir__lite_waits_each(lite, end_wait);
			result = weir__lite_end(lite);
		}
		deliver(lite, result);
		weir__lite_waits_each(lite, just_end);
		weir__lite_waits_answer(lite);
	}
	weir__lite_views_close(lite);
	weir__lite_inbox_close(lite);
	weir__agent_timer_unset(lite->store->agent, &lite->look_timer);
	weir__agent_timer_unset(lite->store->agent, &lite->tidy_timer);
}

void weir__lite_tidy(struct weir__timer *timer)
{
	struct weir__lite *lite = (void *)((char *)timer - offsetof(struct weir__lite, tidy_timer));

	weir__lite_checkpoint(lite, LONG_LOG);
}

/* It takes long, so it is not for a thread that has only borrowed the agent's role. */
static void tidy(struct weir__lite *lite)
{
	if (lite->frames < LONG_LOG)
		return;
	if (weir__agent_is_self(lite->store->agent))
		weir__lite_checkpoint(lite, LONG_LOG);
	else
		weir__agent_timer_set(lite->store->agent, &lite->tidy_timer, lite->sent);
}

void weir__lite_serve(void *self, struct weir__op *operations, struct weir__op *withdrawn)
{
	struct weir__lite *lite = self;
	bool closing = WEIR__LOAD(&lite->closing, __ATOMIC_ACQUIRE);
	int result;

	weir__lite_unwatched_free(lite);
	/* One that could not be made, for want of descriptors perhaps, is tried again. */
	if (lite->inbox.fd < 0 && operations != NULL && !closing)
		weir__lite_inbox_open(lite);
	result = closing && operations->next == NULL && withdrawn == NULL ?
			 SQLITE_OK :
			 attempt_all(lite, operations, withdrawn);
	if (result == SQLITE_OK) {
		tell(lite);
	} else {
		failed(lite, result);
		for (struct weir__op *op = operations; op != NULL; op = op->next)
			fail(lite, op, result);
		for (struct weir__op *op = withdrawn; op != NULL; op = op->withdraw_next) {
			if (op->keeper != NULL)
				weir__lite_abandon(lite, op);
		}
	}
	weir__lite_forget(lite);
	answer(operations);
	weir__lite_waits_answer(lite);
	bury_refused(lite);
	if (closing)
		shut_down(lite);
	weir__lite_look_set(lite);
	tidy(lite);
}
