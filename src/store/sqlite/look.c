/* store/sqlite: looking after those who wait.
 *
 * Whoever is the head of a queue watches the holders, and everybody else the one before, so that
 * the death of any of them is seen by somebody who gains from it. A view has one first waiter, and
 * it is enough to watch for that one: what is between the others of the same view is seen by
 * whoever makes it the head, when nobody hears its news.
 *
 * Watches make it quick. Without them, each look does the same.
 */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/alloc.h"
#include "store/sqlite/lite.h"

enum { WATCHED_MAX = 64, CHECKED_MAX = 1024 };

/* ---- watches --------------------------------------------------------------------------------- */

static void unwatch(struct weir__lite *lite, struct weir__watched *watched)
{
	struct weir__watched **link = &lite->watched;
	int fd = watched->watch.fd;

	while (*link != watched)
		link = &(*link)->next;
	*link = watched->next;
	weir__agent_unwatch(lite->store->agent, &watched->watch);
	close(fd);
	/* The agent may still have an event for it. */
	watched->next = lite->unwatched;
	lite->unwatched = watched;
}

void weir__lite_unwatched_free(struct weir__lite *lite)
{
	while (lite->unwatched != NULL) {
		struct weir__watched *watched = lite->unwatched;

		lite->unwatched = watched->next;
		weir__free(watched);
	}
}

struct watches {
	uint32_t count;
	struct weir__watched *watched[WATCHED_MAX];
};

/* Takes them off the view; what is watched on meanwhile stays open. */
static struct watches view_watches(struct weir__view *view)
{
	struct watches watches = { .count = view->n_watched };

	for (uint32_t i = 0; i < view->n_watched; i++)
		watches.watched[i] = view->watched[i];
	view->n_watched = 0;
	return watches;
}

static void end_watches(struct weir__lite *lite, const struct watches *watches)
{
	for (uint32_t i = 0; i < watches->count; i++) {
		if (--watches->watched[i]->views == 0)
			unwatch(lite, watches->watched[i]);
	}
}

void weir__lite_unwatch_all(struct weir__lite *lite, struct weir__view *view)
{
	struct watches watches = view_watches(view);

	end_watches(lite, &watches);
}

/* It has ended: whoever watched it looks at once. */
static void ended(struct weir__watch *watch, uint32_t events)
{
	struct weir__watched *watched = (struct weir__watched *)(void *)watch;
	struct weir__lite *lite = watched->lite;

	(void)events;
	lite->now = weir__lite_clock(lite);
	for (size_t i = 0; i < WEIR__VIEW_BUCKETS; i++) {
		for (struct weir__view *view = lite->views[i]; view != NULL; view = view->next) {
			for (uint32_t j = 0; j < view->n_watched; j++) {
				if (view->watched[j] != watched)
					continue;
				view->watched[j--] = view->watched[--view->n_watched];
				watched->views--;
				weir__lite_look_at(lite, view, lite->now);
			}
		}
	}
	unwatch(lite, watched);
	weir__lite_look_now(lite);
}

static struct weir__watched *watched_process(struct weir__lite *lite, const struct weir__who *who)
{
	struct weir__watched *watched = who->space == lite->self.space ? lite->watched : NULL;

	while (watched != NULL && (watched->pid != who->pid || watched->start != who->start))
		watched = watched->next;
	return watched;
}

static struct weir__watched *watched_lease(struct weir__lite *lite, const uint8_t *token)
{
	struct weir__watched *watched = lite->watched;

	while (watched != NULL &&
	       (watched->pid != 0 || memcmp(watched->token, token, WEIR_TOKEN_SIZE) != 0))
		watched = watched->next;
	return watched;
}

static void add_watch(struct weir__view *view, struct weir__watched *watched)
{
	for (uint32_t i = 0; i < view->n_watched; i++) {
		if (view->watched[i] == watched)
			return;
	}
	if (view->watched == NULL)
		view->watched = weir__alloc(WATCHED_MAX * sizeof(struct weir__watched *));
	if (view->watched == NULL || view->n_watched == WATCHED_MAX)
		return; /* its look at each heartbeat will do */
	view->watched[view->n_watched++] = watched;
	watched->views++;
}

/* Takes the descriptor. */
static void new_watch(struct weir__lite *lite, struct weir__view *view, const struct weir__who *who,
		      const uint8_t *token, int fd)
{
	struct weir__watched *watched = weir__alloc(sizeof(*watched));

	if (watched == NULL) {
		close(fd);
		return;
	}
	watched->lite = lite;
	watched->watch = (struct weir__watch){ .fd = fd, .ready = ended };
	if (who != NULL) {
		watched->pid = who->pid;
		watched->start = who->start;
	} else {
		memcpy(watched->token, token, WEIR_TOKEN_SIZE);
	}
	if (weir__agent_watch(lite->store->agent, &watched->watch, EPOLLIN) < 0) {
		close(fd);
		weir__free(watched);
		return;
	}
	watched->next = lite->watched;
	lite->watched = watched;
	add_watch(view, watched);
	if (watched->views == 0)
		unwatch(lite, watched);
}

/* Whether this claim's process lives; UNKNOWN when that is not what keeps the claim. What may end
 * is watched by the view. */
static enum weir__life life_of(struct weir__lite *lite, struct weir__view *view,
			       const struct weir__lite_claim *claim)
{
	bool holds = claim->claim.state == WEIR__HOLDING;
	bool room = view != NULL && view->n_watched < WATCHED_MAX;
	struct weir__watched *watched;
	enum weir__life life;
	int fd = -1;

	if (holds && claim->detached)
		return WEIR__UNKNOWN;
	watched = watched_process(lite, &claim->who);
	if (watched == NULL && holds)
		watched = watched_lease(lite, claim->claim.token);
	if (watched != NULL) {
		if (view != NULL)
			add_watch(view, watched);
		return watched->pid != 0 ? WEIR__ALIVE : WEIR__UNKNOWN;
	}
	life = weir__lite_life(lite, &claim->who, room ? &fd : NULL);
	if (life != WEIR__DEAD) {
		if (fd >= 0)
			new_watch(lite, view, &claim->who, NULL, fd);
		return life;
	}
	if (!holds || !weir__lite_is_bound(lite, claim->claim.token, room ? &fd : NULL))
		return WEIR__DEAD;
	if (fd >= 0)
		new_watch(lite, view, NULL, claim->claim.token, fd);
	return WEIR__UNKNOWN;
}

/* ---- burials --------------------------------------------------------------------------------- */

static void bury(struct weir__lite_sem *sem, const uint8_t *token)
{
	struct weir__lite_claim *claim = weir__lite_claim(sem, token);

	if (claim == NULL)
		return;
	weir__lite_unbind(sem->lite, token, claim->claim.state != WEIR__HOLDING);
	weir__lite_inbox_bury(sem->lite, claim->who.agent);
	weir__rules_bury(&sem->rec, sem->lite->now, &claim->claim);
}

static bool bury_dead(struct weir__lite_sem *sem, enum weir__claim_state state,
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
		life = life_of(sem->lite, view, claims[i]);
		if (life == WEIR__ALIVE)
			alive = who;
		if (life == WEIR__DEAD) {
			bury(sem, claims[i]->claim.token);
			any = true;
		}
	}
	return any;
}

bool weir__lite_bury_dead(struct weir__lite_sem *sem, enum weir__claim_state state)
{
	return bury_dead(sem, state, NULL);
}

/* ---- looking --------------------------------------------------------------------------------- */

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
	struct watches old;
	weir_time next = lite->now + heartbeat;

	if (sem == NULL) {
		weir__lite_look_at(lite, view, next);
		return;
	}
	(void)weir__rules_expire(&sem->rec, lite->now, UINT32_MAX);
	if (lite->now - view->polled >= heartbeat - heartbeat / 8) {
		view->polled = lite->now;
		for (struct weir__waiter *waiter = view->waiters; waiter != NULL;
		     waiter = waiter->next)
			poll_waiter(lite, sem, waiter);
	}
	old = view_watches(view);
	while ((before = weir__lite_claim_before(sem, first_ticket(view))) != NULL &&
	       life_of(lite, view, before) == WEIR__DEAD)
		bury(sem, before->claim.token);
	if (before == NULL) {
		(void)bury_dead(sem, WEIR__HOLDING, view);
		if (sem->next_expiry > lite->now && sem->next_expiry < next)
			next = sem->next_expiry;
	}
	end_watches(lite, &old);
	weir__lite_look_at(lite, view, next);
}

void weir__lite_look_now(struct weir__lite *lite)
{
	int result = weir__lite_begin(lite);
	weir_time now = lite->now;

	if (result == SQLITE_OK) {
		weir__lite_abandoned_end(lite);
		while (lite->looks.first != NULL && lite->looks.first->time <= now) {
			struct weir__view *view = (void *)((char *)lite->looks.first -
							   offsetof(struct weir__view, due));

			weir__heap_remove(&lite->looks, &view->due);
			view->is_due = false;
			look_at(lite, view);
		}
		result = weir__lite_end(lite);
	} else {
		weir__lite_look_later(lite);
	}
	weir__lite_deliver(lite, result);
	if (result == SQLITE_OK)
		weir__lite_abandoned_free(lite);
}

void weir__lite_look(struct weir__timer *timer)
{
	struct weir__lite *lite = (void *)((char *)timer - offsetof(struct weir__lite, look_timer));

	weir__lite_unwatched_free(lite);
	weir__lite_look_now(lite);
	weir__lite_look_set(lite);
}

/* ---- when nobody listens --------------------------------------------------------------------- */

void weir__lite_refused(struct weir__lite *lite, const struct weir__who *who,
			const struct weir__news *news)
{
	if (lite->n_refused < WEIR__REFUSED_MAX) /* of the others, a look will tell */
		lite->refused[lite->n_refused++] = (struct weir__tiding){ .who = *who,
									  .news = *news };
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
			bury(sem, refused->news.token);
		(void)bury_dead(sem, WEIR__HOLDING, NULL);
		(void)bury_dead(sem, WEIR__WAITING, NULL);
	}
	lite->n_refused = 0;
}
