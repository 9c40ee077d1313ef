/* cli: asking for a permit, waiting for it, and giving it back.
 *
 * The wait is a task, so that one thread can do three things meanwhile: wait, draw the status line,
 * and give up in good order when a signal comes. The handler does what a handler may: it releases a
 * semaphore, for which a second task waits that then cancels the first. The place in the queue is
 * given back before the process ends, on every store.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <unistd.h>
#include <weir/sem.h>
#include <weir/task.h>

#include "cli/cli.h"

#define STATUS_AFTER (300 * WEIR_MS) /* who is served sooner sees no line flash by */
#define STATUS_EVERY (500 * WEIR_MS)

static struct weir_sem interrupted = WEIR_SEM_INIT(1);
static volatile sig_atomic_t signal_seen;

struct attempt {
	struct weir_store *store;
	const struct wanted *wanted;
	struct weir_request request;
	struct weir_future *asker;
	struct weir_lease *lease;
	weir_time begun;
	bool asked;  /* the store, so that an error is that of the store */
	bool status; /* draw it */
	bool drawn;
	char id[33];
};

/* Who is told twice has even less time for giving the place in the queue back. */
static void on_fatal(int number)
{
	patience_shorten(signal_seen ? HURRY : PATIENCE, number);
	signal_seen = number;
	weir_sem_release(&interrupted, 1);
}

/* ---- the status line ---- */

struct picture {
	const char *id;
	bool seen;
	uint32_t limit, held, waiting, position;
	weir_time closed;
};

static int see_semaphore(void *arg, const struct weir_sem_info *info)
{
	struct picture *picture = arg;

	picture->seen = true;
	picture->limit = info->limit;
	picture->held = info->held;
	picture->waiting = info->waiting;
	picture->closed = info->closed;
	return 0;
}

static int see_waiter(void *arg, const struct weir_claim_info *info)
{
	struct picture *picture = arg;

	if (strcmp(info->request_id, picture->id) == 0)
		picture->position = info->position;
	return 0;
}

static void draw(struct attempt *attempt)
{
	static const struct weir_visitor visitor = { .semaphore = see_semaphore,
						     .waiter = see_waiter };
	struct picture picture = { .id = attempt->request.request_id };
	struct winsize window = { 0 };
	char line[512];
	size_t width;
	int length;

	if (weir_list(attempt->store, &attempt->request.name, 1, &visitor, &picture) != 0 ||
	    picture.position == 0 || !in_foreground(STDERR_FILENO))
		return;
	length = snprintf(line, sizeof(line),
			  "weir: waiting for %s, %s: number %u of %u in line, %u of %u permits "
			  "taken%s",
			  attempt->request.name, time_text(weir_now() - attempt->begun).text,
			  picture.position, picture.waiting, picture.held, picture.limit,
			  picture.limit == 0 ? " (paused: weir limit changes that)" :
			  picture.closed     ? " (closed: weir show says why)" :
					       "");
	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &window) < 0 || window.ws_col < 20)
		window.ws_col = 80;
	width = (size_t)window.ws_col - 1;
	attempt->drawn = true;
	dprintf(STDERR_FILENO, "\r%.*s\033[K", length > (int)width ? (int)width : length, line);
}

static int keep_drawing(void *arg, intptr_t *value)
{
	struct attempt *attempt = arg;
	weir_time pause = STATUS_AFTER;

	(void)value;
	while (weir_sleep(pause) == 0) {
		draw(attempt);
		pause = STATUS_EVERY;
	}
	if (attempt->drawn)
		dprintf(STDERR_FILENO, "\r\033[K");
	return 0;
}

/* ---- asking ---- */

/* Without a limit given, an existing semaphore is taken as it is, and a new one gets one permit. */
static int ask_now(struct attempt *attempt)
{
	int error = weir_acquire(attempt->store, &attempt->request, &attempt->lease);

	if (error != -ENOENT)
		return error;
	error = weir_ensure(attempt->store, attempt->request.name, 1);
	if (error < 0)
		return error;
	return weir_acquire(attempt->store, &attempt->request, &attempt->lease);
}

static int ask(void *arg, intptr_t *value)
{
	(void)value;
	return ask_now(arg);
}

static int give_up_when_told(void *arg, intptr_t *value)
{
	struct attempt *attempt = arg;

	(void)value;
	if (weir_sem_acquire(&interrupted, 1) == 0)
		weir_cancel(attempt->asker);
	return 0;
}

static int wait_in_tasks(void *arg, intptr_t *value)
{
	struct attempt *attempt = arg;
	struct weir_future *guard;
	struct weir_future *painter = NULL;
	int error;

	(void)value;
	attempt->asker = weir_spawn(ask, attempt);
	guard = attempt->asker ? weir_spawn(give_up_when_told, attempt) : NULL;
	if (attempt->status)
		painter = weir_spawn(keep_drawing, attempt);
	attempt->asked = guard;
	if (attempt->asker && !guard)
		weir_cancel(attempt->asker); /* nobody could stop it later */
	error = guard ? weir_wait(attempt->asker, WEIR_NEVER, NULL) : -ENOMEM;
	weir_future_unref(painter);
	weir_future_unref(guard);
	return error;
}

static int wait_for_it(struct attempt *attempt)
{
	int error;

	weir_sem_acquire(&interrupted, 1);
	let_signals_in(on_fatal);
	error = weir_run(wait_in_tasks, attempt, NULL);
	hold_signals_again();
	weir_future_unref(attempt->asker);
	return error;
}

/* The status line finds us in the queue by the request's id. */
static void prepare_status(struct attempt *attempt)
{
	const struct options *options = attempt->wanted->options;
	uint8_t random[16];

	attempt->status = !options->quiet && !options->json && isatty(STDERR_FILENO);
	if (!attempt->status || attempt->request.request_id)
		return;
	if (getrandom(random, sizeof(random), 0) != sizeof(random)) {
		attempt->status = false;
		return;
	}
	token_print(random, attempt->id);
	attempt->request.request_id = attempt->id;
}

/* ---- what went wrong ---- */

static void look(struct attempt *attempt, struct picture *picture)
{
	static const struct weir_visitor visitor = { .semaphore = see_semaphore };

	weir_list(attempt->store, &attempt->request.name, 1, &visitor, picture);
}

static uint32_t stored_limit(struct attempt *attempt)
{
	struct picture picture = { 0 };

	look(attempt, &picture);
	return picture.limit;
}

/* Why a try failed. The picture is a little younger, and may not show it any more. */
static void explain_try(struct attempt *attempt)
{
	uint32_t weight = attempt->request.weight ? attempt->request.weight : 1;
	const char *name = attempt->request.name;
	struct picture picture = { 0 };

	look(attempt, &picture);
	if (picture.seen && picture.limit == 0)
		fail(0, "no permit of %s now: it is paused. 'weir limit %s N' changes that", name,
		     name);
	else if (picture.seen && picture.closed)
		fail(0, "no permit of %s for another %s: " WHY_CLOSED, name,
		     time_text(picture.closed).text);
	else if (picture.seen && picture.held >= picture.limit)
		fail(0, "no permit of %s now: all are taken. See weir show %s", name, name);
	else if (picture.seen && weight > picture.limit - picture.held)
		fail(0, "no %u permits of %s now: %u of %u are free. See weir show %s", weight,
		     name, picture.limit - picture.held, picture.limit, name);
	else if (picture.seen && picture.waiting > 0)
		fail(0, "no permit of %s now: others wait for what is free. See weir show %s", name,
		     name);
	else
		fail(0,
		     "there was no permit of %s when weir asked; by now there may be one. See "
		     "weir show %s",
		     name, name);
}

static int explain(struct attempt *attempt, int error)
{
	const struct options *options = attempt->wanted->options;
	const char *name = attempt->request.name;
	uint32_t limit;

	/* wait_for_it holds it with all signals, and here the store is asked once more. */
	patience_goes_on();
	/* It never came to asking, so the store has nothing to say. */
	if (!attempt->asked)
		return fail(EXIT_FAILED, "%s", weir_strerror(error));
	switch (error) {
	case -EAGAIN:
	case -ETIMEDOUT:
		if (options->quiet)
			return options->conflict;
		if (error == -EAGAIN) {
			explain_try(attempt);
			return options->conflict;
		}
		return fail(options->conflict, "no permit of %s within %s. See weir show %s", name,
			    time_text(options->wait).text, name);
	case -EEXIST:
		limit = stored_limit(attempt);
		return fail(EXIT_USAGE,
			    "%s has a limit of %u, not %u: leave -j out, or change it with "
			    "'weir limit %s %u'",
			    name, limit, options->limit, name, options->limit);
	case -E2BIG:
		limit = stored_limit(attempt);
		return fail(EXIT_USAGE,
			    "%s has a limit of %u, so a weight of %u would wait for ever: "
			    "'weir limit %s %u' raises it",
			    name, limit, options->weight, name, options->weight);
	default:
		return fail_store(options, error);
	}
}

int acquire(struct weir_store *store, const struct wanted *wanted, struct weir_lease **ret_lease,
	    int *ret_signal)
{
	const struct options *options = wanted->options;
	bool only_try = options->nonblock || (options->has_wait && options->wait == 0);
	struct attempt attempt = {
		.store = store,
		.wanted = wanted,
		.request = {
			.name = wanted->name,
			.weight = options->weight,
			.limit = options->has_limit ? options->limit : 0,
			.ttl = options->ttl,
			.max_hold = wanted->max_hold,
			.owner = options->owner,
			.request_id = options->request_id,
			.keepalive = wanted->keepalive,
			.detached = wanted->detached,
			.on_lost = wanted->on_lost,
		},
		.begun = weir_now(),
	};
	int error;

	if (!only_try) {
		attempt.request.deadline = options->has_wait ? weir_after(options->wait) :
							       WEIR_NEVER;
		prepare_status(&attempt);
	}
	patience_goes_on();
	attempt.asked = only_try;
	error = only_try ? ask_now(&attempt) : wait_for_it(&attempt);
	*ret_signal = signal_seen;
	if (error == 0)
		*ret_lease = attempt.lease;
	else
		error = signal_seen ? 128 + signal_seen : explain(&attempt, error);
	patience_end();
	return error;
}

/* ---- giving it back ---- */

/* The command has ended, and what it said is what counts. A signal that comes now is not for us
 * alone, perhaps, but for all who worked here: it must not leave a permit behind that could be
 * given back at once. */
static void hurry(int number)
{
	(void)number;
	patience_shorten(HURRY, 0);
}

void give_back(struct weir_store *store, struct weir_lease *lease, const struct ending *ending)
{
	struct weir_lease_info info;

	if (lease) {
		weir_lease_get(lease, &info);
		patience_begin(PATIENCE, ending,
			       "the store did not answer: the permit is not given back, it ends "
			       "by itself, at the latest after its TTL of %s",
			       time_text(info.ttl).text);
		let_fatal_in(hurry);
		if (weir_release(lease) == -EHOSTUNREACH)
			fail(0, "could not give the permit back, it ends by itself: %s",
			     weir_store_error(store));
	}
	weir_lease_unref(lease);
	weir_store_close(store);
	if (lease)
		hold_signals_again();
	patience_end();
}
