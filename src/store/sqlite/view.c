/* store/sqlite: views: the semaphores for which requests of this store wait.
 *
 * A VIEW is a semaphore, when to look after it next, and who is watched for it. It is looked after
 * soon after something has changed, when a lease there expires, when somebody who is watched dies,
 * and at each heartbeat at the latest. Soon is not at once, because most waits are short, and what
 * has changed once will often change again.
 *
 * One that was LEFT has nobody who waits. The timer that was set for it comes all the same, and
 * closes it: whoever was granted does not wait for that.
 */
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/alloc.h"
#include "store/sqlite/lite.h"

#define SOON (2 * WEIR_MS)

/* ---- views ----------------------------------------------------------------------------------- */

static struct weir__view **bucket(struct weir__lite *lite, int64_t semaphore)
{
	return &lite->views[(uint64_t)semaphore % WEIR__VIEW_BUCKETS];
}

struct weir__view *weir__lite_view(struct weir__lite *lite, int64_t semaphore)
{
	struct weir__view *view = *bucket(lite, semaphore);

	while (view != NULL && view->semaphore != semaphore)
		view = view->next;
	return view;
}

struct weir__view *weir__lite_view_new(struct weir__lite *lite, int64_t semaphore)
{
	struct weir__view *view = weir__alloc(sizeof(*view));

	if (view != NULL) {
		view->semaphore = semaphore;
		view->next = *bucket(lite, semaphore);
		*bucket(lite, semaphore) = view;
	}
	return view;
}

/* The timer is set to the first of all views. Agents' timers are on this process's clock. */
void weir__lite_look_set(struct weir__lite *lite)
{
	weir_time time;

	if (lite->looks.first != NULL)
		time = lite->looks.first->time + lite->boot_offset;
	else if (lite->abandoned != NULL)
		time = lite->sent + lite->store->bounds.heartbeat;
	else
		return; /* one that is set fires for nothing, once */
	if (!lite->look_timer.set || lite->timer_at > time) {
		lite->timer_at = time;
		weir__agent_timer_set(lite->store->agent, &lite->look_timer, time);
	}
}

void weir__lite_look_at(struct weir__lite *lite, struct weir__view *view, weir_time time)
{
	if (view->users == 0)
		return;
	if (view->is_due) {
		if (view->due.time <= time)
			return;
		weir__heap_remove(&lite->looks, &view->due);
	}
	view->is_due = true;
	weir__heap_add(&lite->looks, &view->due, time);
	weir__lite_look_set(lite);
}

void weir__lite_look_soon(struct weir__lite *lite, int64_t semaphore)
{
	struct weir__view *view = weir__lite_view(lite, semaphore);

	if (view != NULL)
		weir__lite_look_at(lite, view, lite->now + SOON);
}

/* Messages may be missing: everybody asks. */
void weir__lite_look_all(struct weir__lite *lite)
{
	for (size_t i = 0; i < WEIR__VIEW_BUCKETS; i++) {
		for (struct weir__view *view = lite->views[i]; view != NULL; view = view->next) {
			view->polls_at = 0;
			weir__lite_look_at(lite, view, lite->now);
		}
	}
}

/* The file cannot be used now. */
void weir__lite_look_later(struct weir__lite *lite)
{
	weir_time now = weir__lite_clock(lite);

	while (lite->looks.first != NULL && lite->looks.first->time <= now) {
		struct weir__heap_node *node = lite->looks.first;

		weir__heap_remove(&lite->looks, node);
		weir__heap_add(&lite->looks, node, now + lite->store->bounds.heartbeat);
	}
}

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

/* Takes them off the view; what is watched on meanwhile stays open. */
struct weir__watches weir__lite_watches_take(struct weir__view *view)
{
	struct weir__watches watches = { .count = view->n_watched };

	for (uint32_t i = 0; i < view->n_watched; i++)
		watches.watched[i] = view->watched[i];
	view->n_watched = 0;
	return watches;
}

void weir__lite_watches_end(struct weir__lite *lite, const struct weir__watches *watches)
{
	for (uint32_t i = 0; i < watches->count; i++) {
		if (--watches->watched[i]->views == 0)
			unwatch(lite, watches->watched[i]);
	}
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
}

struct weir__watched *weir__lite_watched_process(struct weir__lite *lite,
						 const struct weir__who *who)
{
	struct weir__watched *watched = who->space == lite->self.space ? lite->watched : NULL;

	while (watched != NULL && (watched->pid != who->pid || watched->start != who->start))
		watched = watched->next;
	return watched;
}

struct weir__watched *weir__lite_watched_lease(struct weir__lite *lite, const uint8_t *token)
{
	struct weir__watched *watched = lite->watched;

	while (watched != NULL &&
	       (watched->pid != 0 || memcmp(watched->token, token, WEIR_TOKEN_SIZE) != 0))
		watched = watched->next;
	return watched;
}

void weir__lite_watch_add(struct weir__view *view, struct weir__watched *watched)
{
	for (uint32_t i = 0; i < view->n_watched; i++) {
		if (view->watched[i] == watched)
			return;
	}
	if (view->watched == NULL)
		view->watched = weir__alloc(WEIR__WATCHED_MAX * sizeof(struct weir__watched *));
	if (view->watched == NULL || view->n_watched == WEIR__WATCHED_MAX)
		return; /* its look at each heartbeat will do */
	view->watched[view->n_watched++] = watched;
	watched->views++;
}

/* Takes the descriptor. */
void weir__lite_watch_new(struct weir__lite *lite, struct weir__view *view,
			  const struct weir__who *who, const uint8_t *token, int fd)
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
	weir__lite_watch_add(view, watched);
	if (watched->views == 0)
		unwatch(lite, watched);
}

static void close_view(struct weir__lite *lite, struct weir__view *view)
{
	struct weir__view **link = bucket(lite, view->semaphore);
	struct weir__watches watches;

	while (*link != view)
		link = &(*link)->next;
	*link = view->next;
	watches = weir__lite_watches_take(view);
	weir__lite_watches_end(lite, &watches);
	weir__free(view->watched);
	weir__free(view);
}

void weir__lite_view_leave(struct weir__lite *lite, struct weir__view *view)
{
	if (view->is_due)
		weir__heap_remove(&lite->looks, &view->due);
	view->is_due = false;
	if (view->is_left)
		return;
	view->is_left = true;
	view->left_next = lite->left;
	lite->left = view;
}

void weir__lite_views_close(struct weir__lite *lite)
{
	while (lite->left != NULL) {
		struct weir__view *view = lite->left;

		lite->left = view->left_next;
		view->is_left = false;
		if (view->users == 0)
			close_view(lite, view);
	}
}
