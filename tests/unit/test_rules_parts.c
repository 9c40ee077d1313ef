/* The rule book's parts that are about size rather than order: slots beyond a word, a keeper whose
 * file fails, and how long the waits were. */
#define LITTLE_CLAIMS 300
#include "support/little_book.h"
#include "support/unit.h"

#include <errno.h>
#include <stdlib.h>

static bool no_memory;

void *__real_weir__alloc(size_t size);
void *__wrap_weir__alloc(size_t size);

void *__wrap_weir__alloc(size_t size)
{
	return no_memory ? NULL : __real_weir__alloc(size);
}

static struct little_book book;

static struct weir__claim *hold(uint32_t number)
{
	struct weir__claim *claim = little_room(&book);
	struct weir__claim *got;

	claim->weight = 1;
	claim->ttl = WEIR_SECOND;
	memcpy(claim->token, &number, sizeof(number));
	assert_int_equal(weir__rules_request(&book.rec, 0, claim, false, 1, &got), 0);
	little_forget(&book);
	return got;
}

TEST(slots_are_the_lowest_free_ones_beyond_a_word_too_L2)
{
	little_init(&book);
	assert_int_equal(weir__rules_resize(&book.rec, 0, 40), 0);
	for (uint32_t i = 0; i < 40; i++)
		assert_int_equal(hold(i)->slot, i);
	assert_int_equal(weir__rules_resize(&book.rec, 0, 130), 0);
	for (uint32_t i = 40; i < 130; i++)
		assert_int_equal(hold(i)->slot, i);
	assert_int_equal(weir__rules_resize(&book.rec, 0, 250), 0); /* from words to more words */
	for (uint32_t i = 130; i < 200; i++)
		assert_int_equal(hold(i)->slot, i);
	for (uint32_t i = 0; i < 200; i++)
		assert_true(weir__slots_taken(&book.rec.slots, i));
	assert_false(weir__slots_taken(&book.rec.slots, 200));
	assert_false(weir__slots_taken(&book.rec.slots, 100000));
	for (uint32_t i = 63; i < 200; i += 65) {
		uint8_t token[WEIR_TOKEN_SIZE] = { 0 };

		memcpy(token, &i, sizeof(i));
		assert_int_equal(weir__rules_release(&book.rec, 0, token), 0);
		assert_false(weir__slots_taken(&book.rec.slots, i));
	}
	assert_int_equal(hold(1000)->slot, 63);
	assert_int_equal(hold(1001)->slot, 128);
	assert_int_equal(hold(1002)->slot, 193);
	assert_int_equal(hold(1003)->slot, 200);
	/* A lower limit takes no slot away. */
	assert_int_equal(weir__rules_resize(&book.rec, 0, 1), 0);
	assert_true(weir__slots_taken(&book.rec.slots, 200));
	weir__slots_done(&book.rec.slots);
	assert_false(weir__slots_taken(&book.rec.slots, 1));
}

TEST(without_memory_a_limit_stays_as_it_was)
{
	little_init(&book);
	assert_int_equal(weir__rules_resize(&book.rec, 0, 3), 0);
	(void)hold(1);
	no_memory = true;
	assert_int_equal(weir__rules_resize(&book.rec, WEIR_SECOND, 65), -ENOMEM);
	assert_int_equal(book.rec.limit, 3);
	assert_int_equal(book.rec.held, 1); /* nor has anything expired */
	assert_int_equal(weir__rules_resize(&book.rec, 0, 64), 0);
	no_memory = false;
	weir__slots_done(&book.rec.slots);
}

/* ---- a keeper whose file fails answers anything; the rules must only come to an end
 * -------------- */

static struct weir__claim *nothing(struct weir__rec *rec)
{
	(void)rec;
	return NULL;
}

TEST(a_book_that_finds_nothing_ends_every_operation)
{
	struct weir__book blind = little_table;
	uint8_t token[WEIR_TOKEN_SIZE] = { 9 };
	struct weir__claim *claim;

	blind.first_to_expire = nothing;
	blind.first_to_fall_silent = nothing;
	blind.head = nothing;
	blind.waited = NULL;
	little_init(&book);
	assert_int_equal(weir__rules_resize(&book.rec, 0, 1), 0);
	(void)hold(1);
	claim = little_room(&book);
	claim->weight = 1;
	claim->ttl = 1;
	assert_int_equal(weir__rules_request(&book.rec, 0, claim, true, 1, &claim), 1);
	book.rec.book = &blind;
	assert_int_equal(weir__rules_expire(&book.rec, WEIR_SECOND, 10), 0);
	assert_int_equal(weir__rules_release(&book.rec, 0, token), -ESTALE);
	assert_int_equal(weir__rules_resize(&book.rec, 0, 5), 0);
	assert_int_equal(book.rec.waiting, 1);
	weir__slots_done(&book.rec.slots);
}

TEST(a_keeper_may_leave_waits_uncounted)
{
	struct weir__book quiet = little_table;
	struct weir__claim *claim;

	quiet.waited = NULL;
	little_init(&book);
	book.rec.book = &quiet;
	assert_int_equal(weir__rules_resize(&book.rec, 0, 0), 0);
	claim = little_room(&book);
	claim->weight = 1;
	claim->ttl = 1;
	assert_int_equal(weir__rules_request(&book.rec, 0, claim, true, 1, &claim), 1);
	assert_int_equal(weir__rules_resize(&book.rec, 0, 1), 0);
	assert_int_equal(claim->state, WEIR__HOLDING);
	assert_int_equal(book.rec.counters.after_wait, 1);
}

/* ---- waits --------------------------------------------------------------------------------------
 */

TEST(classes_of_waits_rise_and_are_narrow)
{
	uint32_t last = 0;

	assert_int_equal(weir__wait_class(-WEIR_SECOND), 0);
	assert_int_equal(weir__wait_class(0), 0);
	for (uint64_t us = 1; us < UINT64_C(1) << 31; us += 1 + us / 64) {
		uint32_t class = weir__wait_class((weir_time)us * WEIR_US);

		assert_in_range(class, last, last + 1);
		last = class;
	}
	assert_true(weir__wait_class(WEIR_NEVER - 1) < WEIR__WAIT_CLASSES);
	assert_int_equal(weir__wait_class(WEIR_NEVER - 1), WEIR__WAIT_CLASSES - 1);
}

static int ascending(const void *left, const void *right)
{
	weir_time a = *(const weir_time *)left, b = *(const weir_time *)right;

	return a < b ? -1 : a > b;
}

/* The truth, and no more than a quarter above it, which is as wide as a class is. */
static void check_percentile(const weir_time *sorted, size_t n, const struct weir__waits *waits,
			     double part)
{
	size_t rank = (size_t)(part * (double)n);
	weir_time truth;

	if ((double)rank < part * (double)n)
		rank++;
	truth = sorted[rank > 0 ? rank - 1 : 0];
	assert_true(weir__waits_percentile(waits, part) >= truth);
	assert_true((double)weir__waits_percentile(waits, part) <=
		    (double)truth * 1.26 + 2 * (double)WEIR_US);
}

TEST(percentiles_are_never_below_the_truth_nor_a_quarter_above)
{
	enum { MOST = 1000 };
	static weir_time times[MOST];
	uint64_t random = 1;

	for (size_t n = 1; n <= MOST; n += 1 + n / 2) {
		struct weir__waits waits = { 0 };

		for (size_t i = 0; i < n; i++) {
			random = random * UINT64_C(6364136223846793005) + 1442695040888963407U;
			times[i] = (weir_time)(random >> (22 + random / 3 % 36)); /* to 2 hours */
			weir__waits_add(&waits, times[i]);
		}
		qsort(times, n, sizeof(times[0]), ascending);
		assert_int_equal(waits.longest, times[n - 1]);
		check_percentile(times, n, &waits, 0.5);
		check_percentile(times, n, &waits, 0.9);
		check_percentile(times, n, &waits, 0.99);
		assert_int_equal(weir__waits_percentile(&waits, 1), times[n - 1]);
	}
}

TEST(of_no_waits_every_percentile_is_nothing)
{
	struct weir__waits waits = { 0 };

	assert_int_equal(weir__waits_percentile(&waits, 0.5), 0);
	weir__waits_add(&waits, 1); /* and a part beyond all is the longest */
	assert_int_equal(weir__waits_percentile(&waits, 2), 1);
}

TEST(waits_of_a_day_are_no_shorter_than_that)
{
	struct weir__waits waits = { 0 };

	weir__waits_add(&waits, 86400 * WEIR_SECOND);
	weir__waits_add(&waits, 86401 * WEIR_SECOND);
	assert_int_equal(weir__waits_percentile(&waits, 0.5), 86401 * WEIR_SECOND);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slots_are_the_lowest_free_ones_beyond_a_word_too_L2),
		cmocka_unit_test(without_memory_a_limit_stays_as_it_was),
		cmocka_unit_test(a_book_that_finds_nothing_ends_every_operation),
		cmocka_unit_test(a_keeper_may_leave_waits_uncounted),
		cmocka_unit_test(classes_of_waits_rise_and_are_narrow),
		cmocka_unit_test(percentiles_are_never_below_the_truth_nor_a_quarter_above),
		cmocka_unit_test(of_no_waits_every_percentile_is_nothing),
		cmocka_unit_test(waits_of_a_day_are_no_shorter_than_that),
	};

	return RUN_TESTS(tests);
}
