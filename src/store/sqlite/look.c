/* store/sqlite: looking after those who wait. */
#include <errno.h>
#include <string.h>

#include "store/sqlite/lite.h"

/* It asks: was it granted meanwhile, is its claim still there? */
static void poll_waiter(struct weir__lite *lite, struct weir__lite_sem *sem,
			struct weir__waiter *waiter)
{
	struct weir__claim *claim = NULL;
	struct weir__lite_claim *anew;
	int result = weir__rules_poll(&sem->rec, lite->now, waiter->token, weir__lite_silence(lite),
				      &claim);

	if (lite->failed != SQLITE_OK)
		return;
	/* It was dropped, for silence or for its weight: asking again tells which. */
	if (result == -ESTALE) {
		result = weir__lite_request(lite, sem, waiter->op, &anew);
		if (result >= 0) {
			claim = &anew->claim;
			memcpy(waiter->token, claim->token, WEIR_TOKEN_SIZE);
			waiter->ticket = claim->ticket;
		}
	}
	if (result == 1)
		return;
	if (result == 0) {
		weir__lite_take_over(sem, weir__lite_claim_of(claim));
		waiter->op->sent = lite->sent;
		weir__op_grant(waiter->op, lite->now, claim);
	}
	weir__lite_leave(lite, waiter, result);
}

static uint64_t first_ticket(const struct weir__view *view)
{
	uint64_t ticket = UINT64_MAX;

	for (struct weir__waiter *waiter = view->waiters; waiter != NULL; waiter = waiter->next) {
		if (!waiter->over && waiter->ticket < ticket)
			ticket = waiter->ticket;
	}
	return ticket;
}

static void look_at(struct weir__lite *lite, struct weir__view *view)
{
	weir_time heartbeat = lite->store->bounds.heartbeat;
	struct weir__lite_sem *sem = weir__lite_sem_by_id(lite, view->semaphore);
	struct weir__lite_claim *before;
	struct weir__watches old;
	weir_time next = lite->now + heartbeat;

	if (sem == NULL) {
		weir__lite_look_at(lite, view, next);
		return;
	}
	(void)weir__rules_expire(&sem->rec, lite->now, UINT32_MAX);
	if (lite->now >= view->polls_at) {
		view->polls_at = weir__lite_next_poll(lite);
		for (struct weir__waiter *waiter = view->waiters; waiter != NULL;
		     waiter = waiter->next)
			poll_waiter(lite, sem, waiter);
	}
	old = weir__lite_watches_take(view);
	while ((before = weir__lite_claim_before(sem, first_ticket(view))) != NULL &&
	       weir__lite_claim_life(lite, view, before) == WEIR__DEAD)
		weir__lite_bury(sem, before->claim.token);
	if (before == NULL) {
		(void)weir__lite_bury_dead(sem, WEIR__HOLDING, view);
		if (sem->next_expiry > lite->now && sem->next_expiry < next)
			next = sem->next_expiry;
	}
	weir__lite_watches_end(lite, &old);
	weir__lite_look_at(lite, view, next);
}

void weir__lite_look_due(struct weir__lite *lite)
{
	weir_time now = lite->now;

	while (lite->looks.first != NULL && lite->looks.first->time <= now) {
		struct weir__view *view =
			(void *)((char *)lite->looks.first - offsetof(struct weir__view, due));

		weir__heap_remove(&lite->looks, &view->due);
		view->is_due = false;
		look_at(lite, view);
	}
}
