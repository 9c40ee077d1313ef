/* store: the semaphores of a process: many names, listings, statistics, names that come and go. */
#include "support/acquirer.h"
#include "support/leases.h"
#include "support/sanitizers.h"
#include "support/scarce.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static struct weir_store *store;

static int start(void **state)
{
	(void)state;
	store = open_store("memory:?min_ttl=5ms");
	return 0;
}

static int stop(void **state)
{
	(void)state;
	weir_store_close(store);
	return 0;
}

struct listing {
	char text[1000];
};

static int show_sem(void *arg, const struct weir_sem_info *info)
{
	struct listing *listing = arg;
	size_t length = strlen(listing->text);

	(void)snprintf(listing->text + length, sizeof(listing->text) - length, "%s:%u/%u=%.0f ",
		       info->name, info->held, info->limit, info->percent);
	return 0;
}

static int show_holder(void *arg, const struct weir_claim_info *info)
{
	struct listing *listing = arg;
	size_t length = strlen(listing->text);

	assert_true(info->left > 0 && info->fence > 0);
	assert_int_equal(info->position, 0);
	(void)snprintf(listing->text + length, sizeof(listing->text) - length, "%s@%u ",
		       info->owner, info->slot);
	return 0;
}

static int show_waiter(void *arg, const struct weir_claim_info *info)
{
	struct listing *listing = arg;
	size_t length = strlen(listing->text);

	(void)snprintf(listing->text + length, sizeof(listing->text) - length, "%s#%u ",
		       info->owner, info->position);
	return 0;
}

static const struct weir_visitor visitor = { .semaphore = show_sem,
					     .holder = show_holder,
					     .waiter = show_waiter };

static struct weir_lease *take(const char *name, const char *owner, uint32_t weight)
{
	struct weir_request request = { .name = name, .owner = owner, .weight = weight };

	return acquire(store, &request);
}

static void *wait_in_line(void *arg)
{
	struct weir_request request = { .name = "b", .owner = arg, .deadline = WEIR_NEVER };
	struct weir_lease *lease = acquire(store, &request);

	release(lease);
	return NULL;
}

TEST(a_listing_shows_the_fullest_first_BEHAVIOURS_8)
{
	static const char *const some[] = { "c", "nosuch", "a" };
	struct listing listing = { "" };
	struct weir_lease *leases[4];
	pthread_t threads[2];

	assert_int_equal(weir_ensure(store, "a", 20), 1);
	assert_int_equal(weir_ensure(store, "b", 2), 1);
	assert_int_equal(weir_ensure(store, "c", 10), 1);
	assert_int_equal(weir_ensure(store, "d", 10), 1);
	leases[0] = take("a", "one", 1);
	leases[1] = take("b", "two", 1);
	leases[2] = take("b", "three", 1);
	leases[3] = take("c", "four", 5);
	threads[0] = start_thread(wait_in_line, "first");
	until_waiting(store, "b", 1);
	threads[1] = start_thread(wait_in_line, "second");
	until_waiting(store, "b", 2);

	assert_int_equal(weir_list(store, NULL, 0, &visitor, &listing), 0);
	assert_string_equal(listing.text, "b:2/2=100 two@0 three@1 first#1 second#2 "
					  "c:5/10=50 four@0 a:1/20=5 one@0 d:0/10=0 ");
	listing.text[0] = '\0';
	assert_int_equal(weir_list(store, some, 3, &visitor, &listing), 0);
	assert_string_equal(listing.text, "c:5/10=50 four@0 a:1/20=5 one@0 ");
	for (int i = 0; i < 4; i++)
		release(leases[i]);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(look(store, "b").granted_at_once, 2);
	assert_int_equal(look(store, "b").granted_after_wait, 2);
}

static int stop_at_second(void *arg, const struct weir_sem_info *info)
{
	(void)info;
	return ++*(int *)arg == 2 ? 7 : 0;
}

TEST(a_visitor_may_stop_and_may_call_the_store)
{
	static const struct weir_visitor stopping = { .semaphore = stop_at_second };
	int count = 0;

	assert_int_equal(weir_ensure(store, "a", 1), 1);
	assert_int_equal(weir_ensure(store, "b", 1), 1);
	assert_int_equal(weir_ensure(store, "c", 1), 1);
	assert_int_equal(weir_list(store, NULL, 0, &stopping, &count), 7);
	assert_int_equal(count, 2);
}

TEST(a_private_space_is_private_and_a_named_one_is_shared_BEHAVIOURS_9)
{
	struct weir_store *other = open_store("memory:");
	struct weir_store *one = open_store("memory:shared");
	struct weir_store *two = open_store("memory:shared");
	struct weir_request request = { .name = "a", .limit = 1 };
	struct weir_lease *a = acquire(store, &request);
	struct weir_lease *b = acquire(other, &request);
	struct weir_lease *c = acquire(one, &request);

	assert_refused(two, &request, -EAGAIN);
	release(a);
	release(b);
	release(c);
	weir_store_close(one);
	release(acquire(two, &request));
	weir_store_close(two);
	weir_store_close(other);
}

TEST(a_child_after_a_fork_has_a_space_of_its_own_CHECKLIST_23)
{
	struct weir_request request = { .name = "a", .limit = 1 };
	struct weir_store *parents;
	struct weir_lease *lease;
	pid_t child;
	int status;

	/* ThreadSanitizer lets no child of a process with threads start one. */
	if (UNDER_TSAN)
		skip();
	parents = open_store("memory:shared");
	lease = acquire(parents, &request);
	child = fork();
	if (child == 0) {
		struct weir_store *mine;
		struct weir_lease *another;
		bool right = weir_store_open("memory:shared", &mine) == 0 &&
			     weir_acquire(mine, &request, &another) == 0 &&
			     weir_release(another) == 0;

		_exit(right ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	release(lease);
	weir_store_close(parents);
}

TEST(fences_rise_also_when_a_space_comes_back_L2_CHECKLIST_46)
{
	struct weir_request request = { .name = "a", .limit = 1 };
	uint64_t last = 0;

	for (int i = 0; i < 5; i++) {
		struct weir_store *again = open_store("memory:back");
		struct weir_lease *lease = acquire(again, &request);

		assert_true(info_of(lease).fence > last);
		last = info_of(lease).fence;
		release(lease);
		weir_store_close(again);
	}
}

static int count_sem(void *arg, const struct weir_sem_info *info)
{
	(void)info;
	++*(int *)arg;
	return 0;
}

TEST(many_names_do_not_share_capacity_BEHAVIOURS_19)
{
	enum { NAMES = 3000 };
	static struct weir_lease *leases[NAMES];
	static const struct weir_visitor counting = { .semaphore = count_sem };
	int count = 0;

	for (int i = 0; i < NAMES; i++) {
		char name[20];
		struct weir_request request = { .name = name, .limit = 1 };

		(void)snprintf(name, sizeof(name), "name/%d", i);
		leases[i] = acquire(store, &request);
		assert_refused(store, &request, -EAGAIN);
	}
	assert_int_equal(weir_list(store, NULL, 0, &counting, &count), 0);
	assert_int_equal(count, NAMES);
	for (int i = 0; i < NAMES; i++)
		release(leases[i]);
}

/* No reaper is needed (L9): whoever looks first drops what is over, and so does the agent. */
TEST(what_has_expired_is_dropped_whoever_comes_L9)
{
	struct weir_request request = { .name = "a", .limit = 5, .ttl = 5 * WEIR_MS };
	struct weir_lease *leases[5];

	for (int i = 0; i < 5; i++)
		leases[i] = acquire(store, &request);
	while (look(store, "a").held != 0)
		assert_int_equal(weir_sleep(WEIR_MS), 0);
	assert_int_equal(look(store, "a").expired, 5);
	assert_int_equal(weir_reap(store, 1000), 0);
	for (int i = 0; i < 5; i++)
		weir_lease_unref(leases[i]);
}

TEST(a_limit_below_use_revokes_nobody_BEHAVIOURS_14)
{
	struct weir_request request = { .name = "a", .limit = 3 };
	struct weir_lease *one = acquire(store, &request);
	struct weir_lease *two = acquire(store, &request);

	assert_int_equal(weir_set_limit(store, "a", 1), 0);
	request.limit = 0;
	assert_refused(store, &request, -EAGAIN);
	assert_true(look(store, "a").percent > 199);
	release(one);
	assert_refused(store, &request, -EAGAIN);
	release(two);
	release(acquire(store, &request));
}

/* Mixed names and threads; what any one system must pass, 12. */
enum { THREADS = 8, ROUNDS = 300 };
static int inside[4];

static void *storm(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		char name[2] = { (char)('a' + i % 4), '\0' };
		struct weir_request request = { .name = name, .limit = 1, .deadline = WEIR_NEVER };
		struct weir_lease *lease = acquire(store, &request);

		assert_int_equal(__atomic_add_fetch(&inside[i % 4], 1, __ATOMIC_RELAXED), 1);
		(void)__atomic_sub_fetch(&inside[i % 4], 1, __ATOMIC_RELAXED);
		release(lease);
	}
	return arg;
}

TEST(never_two_inside_BEHAVIOURS_16)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		threads[i] = start_thread(storm, NULL);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	for (int i = 0; i < 4; i++) {
		char name[2] = { (char)('a' + i), '\0' };

		assert_account(store, name, 0, 0);
	}
}

/* ---- no memory ------------------------------------------------------------------------------- */

static int ignore_claim(void *arg, const struct weir_claim_info *info)
{
	(void)arg;
	(void)info;
	return 0;
}

/* 0, or the first error; then what was begun has been undone. */
static int scenario(void)
{
	static const struct weir_visitor all = { .semaphore = count_sem,
						 .holder = ignore_claim,
						 .waiter = ignore_claim };
	struct weir_request request = {
		.name = "a", .limit = 100, .owner = "me", .keepalive = true, .request_id = "x"
	};
	struct weir_request detached = { .name = "a", .detached = true };
	struct weir_request waits = { .name = "a", .weight = 100, .deadline = 1 };
	struct weir_store *scene = NULL;
	struct weir_lease *one = NULL;
	struct weir_lease *again = NULL;
	struct weir_lease *two = NULL;
	struct weir_lease *three = NULL;
	int count = 0;
	int error = weir_store_open("memory:scene", &scene);

	if (error == 0)
		error = weir_ensure(scene, "b", 100);
	if (error >= 0)
		error = weir_set_limit(scene, "b", 200);
	if (error == 0)
		error = weir_acquire(scene, &request, &one);
	if (error == 0)
		error = weir_acquire(scene, &request, &again);
	if (error == 0) { /* queues, and gives up at once */
		error = weir_acquire(scene, &waits, &two);
		error = error == -ETIMEDOUT ? 0 : error;
	}
	if (error == 0)
		error = weir_acquire(scene, &detached, &two);
	if (error == 0)
		error = weir_lease_adopt(scene, "a", info_of(two).token, &three);
	if (error == 0)
		error = weir_list(scene, NULL, 0, &all, &count);
	if (error == 0)
		error = weir_release(three);
	if (error == 0)
		error = weir_evict(scene, "a", info_of(one).token);
	if (two != NULL)
		(void)weir_release(two); /* which dropping it would not do */
	weir_lease_unref(one);
	weir_lease_unref(again);
	weir_lease_unref(two);
	weir_lease_unref(three);
	weir_store_close(scene);
	return error;
}

TEST(without_memory_every_call_says_so_and_leaves_nothing)
{
	int before = scarce_alive();
	/* What others hold of the same space is theirs all the while. */
	struct weir_store *scene = open_store("memory:scene");
	struct weir_request request = { .name = "a", .limit = 100, .weight = 3 };
	struct weir_lease *lease = acquire(scene, &request);

	assert_int_equal(scenario(), 0);
	for (int for_good = 0; for_good < 2; for_good++) {
		int failures = 0;
		bool failed;

		do {
			int error;

			scarce_after(failures, for_good != 0);
			error = scenario();
			failed = scarce_end();
			if (error != 0 && error != -ENOMEM)
				fail_msg("allocation %d: %d, %s", failures, error,
					 weir_store_error(NULL));
			assert_account(scene, "a", 3, 0);
			assert_true(weir_lease_held(lease));
			assert_true(++failures < 1000);
		} while (failed);
		assert_true(failures > 10);
	}
	release(lease);
	weir_store_close(scene);
	assert_int_equal(scarce_alive(), before);
}

#define memory_test(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		memory_test(a_listing_shows_the_fullest_first_BEHAVIOURS_8),
		memory_test(a_visitor_may_stop_and_may_call_the_store),
		memory_test(a_private_space_is_private_and_a_named_one_is_shared_BEHAVIOURS_9),
		memory_test(a_child_after_a_fork_has_a_space_of_its_own_CHECKLIST_23),
		memory_test(fences_rise_also_when_a_space_comes_back_L2_CHECKLIST_46),
		memory_test(many_names_do_not_share_capacity_BEHAVIOURS_19),
		memory_test(what_has_expired_is_dropped_whoever_comes_L9),
		memory_test(a_limit_below_use_revokes_nobody_BEHAVIOURS_14),
		memory_test(never_two_inside_BEHAVIOURS_16),
		memory_test(without_memory_every_call_says_so_and_leaves_nothing),
	};

	return RUN_TESTS(tests);
}
