/* conformance: one suite for every store.
 *
 * It knows the public headers and a URL, nothing of any engine. After each test nothing may be held
 * and nobody may wait in the store. Each test names the promise (L1 to L11) it is about, or the
 * line of the list of behaviours: M for the in-memory semaphore, S for the leases in SQL, A for
 * what any such system must pass. */
#ifndef TESTS_CONFORMANCE_SUITE_H
#define TESTS_CONFORMANCE_SUITE_H

#include "support/unit.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <weir/lease.h>
#include <weir/store.h>

/* The store under test, and a second handle of the same one. */
extern struct weir_store *store;
extern struct weir_store *other;

/* Which tape to begin with. */
extern uint64_t first_tape;

/* The URL, with more options. */
struct weir_store *open_store(const char *more_options);

/* A name that no other test uses. Lives until the next but seven. */
const char *fresh_name(void);

/* A short life, that a test can wait for; one in which a busy machine still does several things;
 * and one that no test sees the end of. */
#define BRIEF (300 * WEIR_MS)
#define NOT_LONG (2 * WEIR_SECOND)
#define LONG (600 * WEIR_SECOND)

void sleep_for(weir_time duration);
#define after_brief() sleep_for(BRIEF + 20 * WEIR_MS)

/* Tries; must succeed. */
struct weir_lease *take(struct weir_store *in, const char *name, uint32_t weight, weir_time ttl);

/* Tries; returns what weir_acquire does and drops what it got. */
int try_once(struct weir_store *in, const char *name, uint32_t weight);

/* Releases what must still be held, and drops it. */
void give_back(struct weir_lease *lease);

struct weir_lease_info info_of(const struct weir_lease *lease);

/* ---- what the store shows -----------------------------------------------------------------------
 */

enum { SEEN_MOST = 64 };

struct seen_claim {
	char request_id[WEIR_NAME_MAX + 1];
	char owner[WEIR_NAME_MAX + 1];
	uint32_t weight, position, slot;
	uint64_t fence;
	weir_time left;
	uint8_t token[WEIR_TOKEN_SIZE];
};

struct seen {
	bool found;
	struct weir_sem_info info; /* without the name */
	uint32_t n_holders, n_waiters;
	struct seen_claim holders[SEEN_MOST], waiters[SEEN_MOST];
};

/* Of a task that looks: a picture alone fills the stack that tasks have by default. */
enum { TASK_STACK = 4 * sizeof(struct seen) };

/* Fills it in for one name. */
void look(struct weir_store *in, const char *name, struct seen *seen);

void assert_counts(const char *name, uint32_t limit, uint32_t held, uint32_t waiting);

/* ---- threads that wait --------------------------------------------------------------------------
 */

struct waiter {
	struct weir_store *in; /* NULL: store */
	struct weir_request request;
	struct weir_lease *lease;
	int result;
	uint32_t *turns, turn;
	bool answered;
	pthread_t thread;
};

/* Starts it, and returns when it is in the queue, or has been there, for so short a wait that
 * nobody has seen it. Nobody else comes meanwhile. */
void waiter_queue(struct waiter *waiter, const char *name, uint32_t weight, weir_time deadline);
void waiter_start(struct waiter *waiter);
int waiter_join(struct waiter *waiter);

/* ---- the tests ----------------------------------------------------------------------------------
 */

struct group {
	const char *name;
	const struct CMUnitTest *tests;
	size_t n;
};

#define GROUP(title, tests_)                                   \
	const struct group title##_group = { #title, (tests_), \
					     sizeof(tests_) / sizeof((tests_)[0]) }

int nothing_left(void **state);
#define CONFORMANCE(test) cmocka_unit_test_teardown(test, nothing_left)

extern const struct group arguments_group, leases_group, waiting_group, limits_group, crowds_group,
	tasks_group, tapes_group;

#endif
