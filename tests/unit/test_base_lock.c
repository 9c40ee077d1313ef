/* base: the lock for a few instructions. */
#include "base/lock.h"
#include "support/acquirer.h"
#include "support/crew.h"
#include "support/futex_watch.h"
#include "support/unit.h"

#include <sched.h>

enum { THREADS = 4, TURNS = 20000 };

TEST(all_zero_is_free_and_an_uncontended_lock_makes_no_system_call)
{
	struct weir__lock lock = { 0 };
	struct futex_watch seen;

	futex_watch_start(&lock, sizeof(lock));
	for (int i = 0; i < 3; i++) {
		weir__lock(&lock);
		assert_int_not_equal(lock.word, 0);
		weir__unlock(&lock);
		assert_int_equal(lock.word, 0);
	}
	seen = futex_watch_read();
	assert_int_equal(seen.waits + seen.wakes, 0);
}

struct counter {
	struct weir__lock lock;
	uint64_t count; /* plain: only the lock protects it */
	bool slow;
};

static void increment(void *argument, uint32_t number)
{
	struct counter *counter = argument;

	(void)number;
	for (int i = 0; i < TURNS; i++) {
		weir__lock(&counter->lock);
		counter->count++;
		/* Now and then away for long: the others give up spinning, and sleep. */
		if (counter->slow && i % 64 == 0)
			(void)sched_yield();
		weir__unlock(&counter->lock);
	}
}

static void count_together(bool slow)
{
	struct counter counter = { .slow = slow };
	struct crew crew;

	crew_start(&crew, THREADS);
	crew_run(&crew, increment, &counter);
	crew_stop(&crew);
	assert_int_equal(counter.count, (uint64_t)THREADS * TURNS);
	assert_int_equal(counter.lock.word, 0);
}

TEST(one_at_a_time)
{
	count_together(false);
}

/* CHECKLIST 9: a flag that was cleared while others sleep would leave them asleep for good. */
TEST(nobody_is_left_asleep)
{
	count_together(true);
}

struct guarded {
	struct weir__lock lock;
	uint32_t passed;
};

static void *pass(void *argument)
{
	struct guarded *guarded = argument;

	weir__lock(&guarded->lock);
	guarded->passed++;
	weir__unlock(&guarded->lock);
	return NULL;
}

TEST(those_who_sleep_all_get_it_in_the_end)
{
	struct guarded guarded = { 0 };
	pthread_t threads[THREADS];

	futex_watch_start(&guarded.lock, sizeof(guarded.lock));
	weir__lock(&guarded.lock);
	for (int i = 0; i < THREADS; i++)
		threads[i] = start_thread(pass, &guarded);
	while (futex_watch_read().waits < THREADS)
		(void)sched_yield();
	assert_int_equal(guarded.passed, 0);
	weir__unlock(&guarded.lock);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(guarded.passed, THREADS);
	assert_int_equal(guarded.lock.word, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_zero_is_free_and_an_uncontended_lock_makes_no_system_call),
		cmocka_unit_test(one_at_a_time),
		cmocka_unit_test(nobody_is_left_asleep),
		cmocka_unit_test(those_who_sleep_all_get_it_in_the_end),
	};

	return RUN_TESTS(tests);
}
