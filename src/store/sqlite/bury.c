/* store/sqlite: ending what the dead have left.
 *
 * Whoever is the head of a queue watches the holders, and everybody else the one before, so that
 * the death of any of them is seen by somebody who gains from it. A view has one first waiter, and
 * it is enough to watch for that one: what is between the others of the same view is seen by
 * whoever makes it the head, when nobody hears its news.
 *
 * Watches make it quick. Without them, each look does the same.
 */
#include <poll.h>

#include "store/sqlite/lite.h"

enum { CHECKED_MAX = 1024 };

static bool has_ended(const struct weir__watched *watched)
{
	struct pollfd end = { .fd = watched->watch.fd, .events = POLLIN };

	return poll(&end, 1, 0) == 1;
}

/* Whether this claim's process lives; UNKNOWN when that is not what keeps the claim. What may end
 * is watched by the view. */
enum weir__life weir__lite_claim_life(struct weir__lite *lite, struct weir__view *view,
				      const struct weir__lite_claim *claim)
{
	bool holds = claim->claim.state == WEIR__HOLDING;
	bool room = view != NULL && view->n_watched < WEIR__WATCHED_MAX;
	struct weir__watched *watched;
	enum weir__life life;
	int fd = -1;

	if (holds && claim->detached)
		return WEIR__UNKNOWN;
	watched = weir__lite_watched_process(lite, &claim->who);
	if (watched == NULL && holds)
		watched = weir__lite_watched_lease(lite, claim->claim.token);
	/* Views hear of its end; who asks just once may be here before the news. */
	if (watched != NULL && (view != NULL || !has_ended(watched))) {
		if (view != NULL)
			weir__lite_watch_add(view, watched);
		return watched->pid != 0 ? WEIR__ALIVE : WEIR__UNKNOWN;
	}
	life = weir__lite_life(lite, &claim->who, room ? &fd : NULL);
	if (life != WEIR__DEAD) {
		if (fd >= 0)
			weir__lite_watch_new(lite, view, &claim->who, NULL, fd);
		return life;
	}
	if (!holds || !weir__lite_is_bound(lite, claim->claim.token, room ? &fd : NULL))
		return WEIR__DEAD;
	if (fd >= 0)
		weir__lite_watch_new(lite, view, NULL, claim->claim.token, fd);
	return WEIR__UNKNOWN;
}

/* ---- burials --------------------------------------------------------------------------------- */

void weir__lite_bury(struct weir__lite_sem *sem, const uint8_t *token)
{
	struct weir__lite_claim *claim = weir__lite_claim(sem, token);

	if (claim == NULL)
		return;
	weir__lite_unbind(sem->lite, token, claim->claim.state != WEIR__HOLDING);
	weir__lite_inbox_bury(sem->lite, claim->who.agent);
	weir__rules_bury(&sem->rec, sem->lite->now, &claim->claim);
}

bool weir__lite_bury_dead(struct weir__lite_sem *sem, enum weir__claim_state state,
			  struct weir__view *view)
{
	size_t count = CHECKED_MAX;
	struct weir__lite_claim **claims = weir__lite_claims(sem, state, &count);
	const struct weir__who *alive = &sem->lite->self;
	bool any = false;

	for (size_t i = 0; i < count; i++) {
		const struct weir__who *who = &claims[i]->who;
		enum weir__life life;

		/* Many in a row may be one process's. */
		if (who->pid == alive->pid && who->start == alive->start &&
		    who->space == alive->space)
			continue;
		life = weir__lite_claim_life(sem->lite, view, claims[i]);
		if (life == WEIR__ALIVE)
			alive = who;
		if (life == WEIR__DEAD) {
			weir__lite_bury(sem, claims[i]->claim.token);
			any = true;
		}
	}
	return any;
}

/* A grant that nobody can have heard of is taken back at once, bound to a process or not. */
void weir__lite_bury_refused(struct weir__lite *lite)
{
	for (uint32_t i = 0; i < lite->n_refused; i++) {
		const struct weir__tiding *refused = &lite->refused[i];
		struct weir__lite_sem *sem;

		if (weir__lite_life(lite, &refused->who, NULL) != WEIR__DEAD)
			continue;
		sem = weir__lite_sem_by_id(lite, refused->news.semaphore);
		if (sem == NULL)
			continue;
		if (refused->news.kind == WEIR__NEWS_GRANTED)
			weir__lite_bury(sem, refused->news.token);
		(void)weir__lite_bury_dead(sem, WEIR__HOLDING, NULL);
		(void)weir__lite_bury_dead(sem, WEIR__WAITING, NULL);
	}
	lite->n_refused = 0;
}
