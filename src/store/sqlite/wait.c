/* store/sqlite: the requests of this store that wait. */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "store/sqlite/lite.h"

/* ---- waiters --------------------------------------------------------------------------------- */

/* Both are allocated here, so that what follows the commit cannot fail. */
struct weir__waiter *weir__lite_wait(struct weir__lite *lite, struct weir__lite_sem *sem,
				     struct weir__op *op, const struct weir__claim *claim)
{
	struct weir__waiter *waiter = weir__alloc(sizeof(*waiter));
	struct weir__view *view = weir__lite_view(lite, sem->id);

	if (waiter != NULL && view == NULL)
		view = weir__lite_view_new(lite, sem->id);
	if (view != NULL && view->users == 0)
		view->polls_at = weir__lite_next_poll(lite);
	if (waiter == NULL || view == NULL) {
		weir__free(waiter);
		weir__lite_fail(lite, SQLITE_NOMEM);
		return NULL;
	}
	*waiter = (struct weir__waiter){
		.next = lite->fresh, .view = view, .ticket = claim->ticket, .op = op
	};
	memcpy(waiter->token, claim->token, WEIR_TOKEN_SIZE);
	view->users++;
	lite->fresh = waiter;
	return waiter;
}

static void forget(struct weir__lite *lite, struct weir__waiter *waiter)
{
	struct weir__view *view = waiter->view;

	weir__free(waiter);
	if (--view->users == 0)
		weir__lite_view_leave(lite, view);
}

void weir__lite_waits_begin(struct weir__lite *lite)
{
	while (lite->fresh != NULL) {
		struct weir__waiter *waiter = lite->fresh;
		struct weir__view *view = waiter->view;

		lite->fresh = waiter->next;
		waiter->next = view->waiters;
		waiter->link = &view->waiters;
		if (waiter->next != NULL)
			waiter->next->link = &waiter->next;
		view->waiters = waiter;
		weir__lite_look_soon(lite, view->semaphore);
	}
}

/* The transaction has failed: those that are new never waited, those that left still wait. */
void weir__lite_waits_undo(struct weir__lite *lite)
{
	while (lite->leaving != NULL) {
		struct weir__waiter *waiter = lite->leaving;

		lite->leaving = waiter->leaving;
		waiter->leaving = NULL;
		waiter->over = false;
	}
	while (lite->fresh != NULL) {
		struct weir__waiter *waiter = lite->fresh;

		lite->fresh = waiter->next;
		waiter->op->keeper = NULL;
		forget(lite, waiter);
	}
}

void weir__lite_leave(struct weir__lite *lite, struct weir__waiter *waiter, int result)
{
	if (waiter->over)
		return;
	waiter->over = true;
	waiter->result = result;
	waiter->leaving = lite->leaving;
	lite->leaving = waiter;
}

void weir__lite_waits_answer(struct weir__lite *lite)
{
	while (lite->leaving != NULL) {
		struct weir__waiter *waiter = lite->leaving;
		struct weir__op *op = waiter->op;
		int result = waiter->result;

		lite->leaving = waiter->leaving;
		*waiter->link = waiter->next;
		if (waiter->next != NULL)
			waiter->next->link = waiter->link;
		op->keeper = NULL;
		weir__op_answer(op, result);
		forget(lite, waiter);
	}
}

/* One that has not ended. */
struct weir__waiter *weir__lite_waiter(struct weir__lite *lite, int64_t semaphore,
				       const uint8_t *token)
{
	struct weir__view *view = weir__lite_view(lite, semaphore);
	struct weir__waiter *waiter = view != NULL ? view->waiters : NULL;

	while (waiter != NULL &&
	       (waiter->over || memcmp(waiter->token, token, WEIR_TOKEN_SIZE) != 0))
		waiter = waiter->next;
	return waiter;
}

/* One that came after the last of its id had given up, but before that was heard of here. Only who
 * waits by this very transaction counts, not whoever has asked (weir__namesakes_keep_place): that
 * one may yet fail, on a full disk for example, and a place here does not end by silence. */
static bool has_successor(const struct weir__lite *lite, const struct weir__waiter *waiter)
{
	const struct weir__waiter *other = lite->fresh;

	while (other != NULL && (other == waiter || other->over ||
				 memcmp(other->token, waiter->token, WEIR_TOKEN_SIZE) != 0))
		other = other->next;
	return other != NULL;
}

void weir__lite_withdraw(struct weir__lite *lite, struct weir__op *op)
{
	struct weir__waiter *waiter = op->keeper;
	struct weir__lite_sem *sem = NULL;
	struct weir__claim *claim;
	int result = op->give_up;

	if (waiter == NULL || waiter->over)
		return;
	if (!op->place_stays && !has_successor(lite, waiter))
		sem = weir__lite_sem_by_id(lite, waiter->view->semaphore);
	if (sem != NULL && weir__rules_withdraw(&sem->rec, lite->now, waiter->token,
						op->give_up == -ETIMEDOUT, &claim) == 1) {
		weir__lite_take_over(sem, weir__lite_claim_of(claim));
		op->sent = lite->sent;
		weir__op_grant(op, lite->now, claim);
		result = 0;
	}
	weir__lite_leave(lite, waiter, result);
}

/* ---- giving up while the file cannot be written ---------------------------------------------- */

void weir__lite_abandon(struct weir__lite *lite, struct weir__op *op)
{
	struct weir__waiter *waiter = op->keeper;
	struct weir__abandoned *abandoned = weir__alloc(sizeof(*abandoned));

	if (abandoned != NULL && !op->place_stays) {
		abandoned->semaphore = waiter->view->semaphore;
		memcpy(abandoned->token, waiter->token, WEIR_TOKEN_SIZE);
		abandoned->next = lite->abandoned;
		lite->abandoned = abandoned;
		abandoned = NULL;
	}
	weir__free(abandoned);
	weir__lite_leave(lite, waiter, op->give_up);
}

/* In a transaction. What was granted meanwhile, nobody knows of. */
void weir__lite_abandoned_end(struct weir__lite *lite)
{
	for (struct weir__abandoned *abandoned = lite->abandoned; abandoned != NULL;
	     abandoned = abandoned->next) {
		struct weir__lite_sem *sem = weir__lite_sem_by_id(lite, abandoned->semaphore);
		struct weir__claim *claim;

		if (sem != NULL &&
		    weir__rules_withdraw(&sem->rec, lite->now, abandoned->token, true, &claim) == 1)
			(void)weir__rules_release(&sem->rec, lite->now, abandoned->token);
	}
}

void weir__lite_abandoned_free(struct weir__lite *lite)
{
	while (lite->abandoned != NULL) {
		struct weir__abandoned *abandoned = lite->abandoned;

		lite->abandoned = abandoned->next;
		weir__free(abandoned);
	}
}

/* ---- the end --------------------------------------------------------------------------------- */

void weir__lite_waits_each(struct weir__lite *lite,
			   void (*call)(struct weir__lite *lite, struct weir__waiter *waiter))
{
	for (size_t i = 0; i < WEIR__VIEW_BUCKETS; i++) {
		for (struct weir__view *view = lite->views[i]; view != NULL; view = view->next) {
			for (struct weir__waiter *waiter = view->waiters; waiter != NULL;
			     waiter = waiter->next)
				call(lite, waiter);
		}
	}
}
