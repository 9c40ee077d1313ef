/* support: cmocka, and the two things nearly every unit test says. */
#ifndef TESTS_SUPPORT_UNIT_H
#define TESTS_SUPPORT_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <weir/weir.h>

#define TEST(name) static void name(void **state __attribute__((unused)))

/* For texts. */
#define assert_contains(text, part) assert_non_null(strstr((text), (part)))

#define RUN_TESTS(tests) cmocka_run_group_tests(tests, NULL, NULL)

static inline struct weir_sem_stats stats_of(const struct weir_sem *sem)
{
	struct weir_sem_stats stats;

	weir_sem_stats(sem, &stats);
	return stats;
}

/* The whole account of a semaphore (P2): everything else follows from these three. */
#define assert_permits(sem, limit_, held_, waiting_)                 \
	do {                                                         \
		struct weir_sem_stats seen_ = stats_of(sem);         \
		uint32_t l_ = (limit_), h_ = (held_);                \
		assert_int_equal(seen_.limit, l_);                   \
		assert_int_equal(seen_.held, h_);                    \
		assert_int_equal(seen_.free, l_ > h_ ? l_ - h_ : 0); \
		assert_int_equal(seen_.owed, h_ > l_ ? h_ - l_ : 0); \
		assert_int_equal(seen_.waiting, (waiting_));         \
	} while (0)

#endif
