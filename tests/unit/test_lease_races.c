/* lease: everything at once: leases that expire, are evicted, renewed, released and dropped while
 * others do the same, and stores that are closed under those who wait. For the sanitizers above
 * all; what is asserted is that each lease ends once, and that nothing is left. */
#include "lease/store.h"
#include "support/acquirer.h"
#include "support/leases.h"

#include <stdlib.h>

enum { THREADS = 6, ROUNDS = 150 };

static struct weir_store *store;

struct hold {
	uint32_t told; /* how often */
	bool released;
};

static void note(struct weir_lease *lease, void *arg)
{
	struct hold *hold = arg;

	(void)lease;
	(void)__atomic_add_fetch(&hold->told, 1, __ATOMIC_RELAXED);
}

static int evict_it(void *arg, const struct weir_claim_info *info)
{
	int error = weir_evict(store, info->name, info->token);

	(void)arg;
	assert_true(error == 0 || error == -ESTALE);
	return 1; /* one is enough */
}

/* What becomes of a lease is drawn; whatever it is, the holder is told at most once, and never of
 * one that it has released. */
static void use(struct weir_lease *lease, struct hold *hold, unsigned choice)
{
	static const struct weir_visitor evictor = { .holder = evict_it };
	static const char *const name = "a";

	switch (choice % 6) {
	case 0:
		hold->released = weir_release(lease) == 0;
		break;
	case 1:
		(void)weir_renew(lease, 0);
		hold->released = weir_release(lease) == 0;
		break;
	case 2:
		(void)weir_list(store, &name, 1, &evictor, NULL);
		break;
	case 3:
		(void)weir_sleep((weir_time)(choice % 7) * WEIR_MS); /* it may run out */
		hold->released = weir_release(lease) == 0;
		break;
	case 4:
		hold->released = weir_release_last(store, name) == 0;
		break;
	default:
		break; /* dropped as it is */
	}
	assert_true(__atomic_load_n(&hold->told, __ATOMIC_RELAXED) <= (hold->released ? 0 : 1));
	weir_lease_unref(lease);
}

static void *live(void *arg)
{
	unsigned seed = (unsigned)(uintptr_t)arg;

	for (int i = 0; i < ROUNDS; i++) {
		struct hold hold = { 0 };
		unsigned choice = (unsigned)rand_r(&seed);
		struct weir_request request = {
			.name = "a",
			.limit = 3,
			.weight = 1 + choice / 16 % 2,
			.ttl = 5 * WEIR_MS,
			.deadline = choice % 3 == 0 ? weir_after(WEIR_MS) : WEIR_NEVER,
			.keepalive = choice / 64 % 2 == 0,
			.on_lost = choice / 128 % 4 != 0 ? note : NULL,
			.on_lost_arg = &hold,
		};
		struct weir_lease *lease = NULL;
		int error = weir_acquire(store, &request, &lease);

		if (error == 0)
			use(lease, &hold, choice / 1024);
		else
			assert_int_equal(error, -ETIMEDOUT);
	}
	return NULL;
}

TEST(each_lease_ends_once_whatever_happens_CHECKLIST_19)
{
	pthread_t threads[THREADS];

	store = open_store("memory:?min_ttl=5ms");
	for (uintptr_t i = 0; i < THREADS; i++)
		threads[i] = start_thread(live, (void *)(i + 1));
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_account(store, "a", 0, 0);
	weir_store_close(store);
}

/* Others of the same space go on while one handle is closed under those who use it. */
struct user {
	struct weir_store *store;
	struct weir_lease *kept;
	pthread_t thread;
};

static void *use_until_closed(void *arg)
{
	struct user *user = arg;
	struct hold hold = { 0 };
	struct weir_request request = { .name = "a",
					.limit = 2,
					.deadline = WEIR_NEVER,
					.keepalive = true,
					.on_lost = note,
					.on_lost_arg = &hold };

	/* The last one it gets it keeps, until the next or the end. */
	while (true) {
		struct weir_lease *lease = NULL;
		int error = weir_acquire(user->store, &request, &lease);

		weir_lease_unref(user->kept);
		user->kept = lease;
		if (error < 0) {
			assert_int_equal(error, -ESHUTDOWN);
			return NULL;
		}
		if (weir_release(lease) < 0) {
			weir_lease_unref(lease);
			user->kept = NULL;
			return NULL; /* lost, by the close */
		}
	}
}

TEST(a_store_is_closed_under_those_who_use_it)
{
	store = open_store("memory:races");
	for (int round = 0; round < 30; round++) {
		struct weir_store *other = open_store("memory:races");
		struct weir_request request = { .name = "a", .limit = 2, .deadline = WEIR_NEVER };
		struct user users[4];

		for (int i = 0; i < 4; i++) {
			users[i] = (struct user){ .store = other };
			/* Inside before it is closed: calls that begin later are wrong. */
			users[i].thread = start_thread(use_until_closed, &users[i]);
		}
		release(acquire(store, &request));
		(void)weir_sleep(WEIR_MS);
		/* Memory stays while a lease is held on it. */
		struct weir_request last = { .name = "keeps-the-memory", .limit = 1 };
		struct weir_lease *lease = acquire(other, &last);

		weir_store_close(other);
		for (int i = 0; i < 4; i++)
			assert_int_equal(pthread_join(users[i].thread, NULL), 0);
		assert_false(weir_lease_held(lease));
		weir_lease_unref(lease);
		assert_account(store, "a", 0, 0);
	}
	weir_store_close(store);
}

static void *close_it(void *closed)
{
	weir_store_close(store);
	__atomic_store_n((bool *)closed, true, __ATOMIC_RELEASE);
	return NULL;
}

TEST(closing_waits_for_one_who_is_inside_CHECKLIST_28)
{
	struct weir_request request = { .name = "keeps-the-memory", .limit = 1 };
	struct weir_lease *lease;
	bool closed = false;
	pthread_t closer;

	store = open_store("memory:");
	lease = acquire(store, &request);
	assert_int_equal(weir__gate_enter(store), 0);
	closer = start_thread(close_it, &closed);
	while (!weir__gate_is_shut(store))
		(void)weir_sleep(WEIR_MS);
	/* It waits now, or has not waited. */
	while (stats_of(&store->empty).waiting == 0 && !__atomic_load_n(&closed, __ATOMIC_ACQUIRE))
		(void)weir_sleep(WEIR_MS);
	assert_false(__atomic_load_n(&closed, __ATOMIC_ACQUIRE));
	weir__gate_leave(store);
	assert_int_equal(pthread_join(closer, NULL), 0);
	weir_lease_unref(lease);
}

static void *live_as_x(void *arg)
{
	unsigned seed = (unsigned)(uintptr_t)arg;

	for (int i = 0; i < ROUNDS; i++) {
		unsigned choice = (unsigned)rand_r(&seed);
		struct weir_request request = {
			.name = "a",
			.limit = 1,
			.deadline = choice % 3 == 0 ? weir_after(20 * WEIR_US) : WEIR_NEVER,
			.keepalive = choice / 4 % 2 == 0,
			.request_id = choice / 8 % 8 == 0 ? NULL : "x",
		};
		struct weir_lease *lease = NULL;
		int error = weir_acquire(store, &request, &lease);

		/* Whoever releases it does so for all: only one can. */
		if (error == 0 && choice / 64 % 4 == 0)
			(void)weir_release(lease);
		else if (error < 0)
			assert_int_equal(error, -ETIMEDOUT);
		weir_lease_unref(lease);
	}
	return NULL;
}

TEST(those_of_one_id_leave_nothing_whoever_is_first_L4)
{
	pthread_t threads[THREADS];

	store = open_store("memory:");
	for (uintptr_t i = 0; i < THREADS; i++)
		threads[i] = start_thread(live_as_x, (void *)(i + 1));
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_account(store, "a", 0, 0);
	weir_store_close(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(closing_waits_for_one_who_is_inside_CHECKLIST_28),
		cmocka_unit_test(each_lease_ends_once_whatever_happens_CHECKLIST_19),
		cmocka_unit_test(those_of_one_id_leave_nothing_whoever_is_first_L4),
		cmocka_unit_test(a_store_is_closed_under_those_who_use_it),
	};

	return RUN_TESTS(tests);
}
