/* store/sqlite: what the dead leave behind is swept, a little at a time. */
#include "support/other.h"

#include "store/sqlite/lite.h"

TEST(leftovers_of_the_dead_are_swept)
{
	struct other holder = other_start(other_holds);
	struct weir_store *store;

	other_await(&holder);
	other_kill(&holder);
	assert_int_equal(files_in_live(), 3);
	store = lite_open();
	weir_store_close(store);
	assert_int_equal(files_in_live(), 2);
}

enum { CROWD = 6, STORES = 50, LOOKS_MAX = 64 };

/* Many agents, without a claim that somebody would come across. */
static void be_many(int from, int to)
{
	for (int i = 0; i < STORES; i++) {
		if (weir_ensure(lite_open(), "a", 1) < 0)
			_exit(2);
	}
	other_says(to);
	other_hears(from);
}

static uint32_t sweep(struct weir_store *store)
{
	struct weir__lite *lite = store->state;
	uint32_t looked;

	weir__lite_lock(lite->lock.fd);
	looked = weir__lite_sweep(lite);
	weir__lite_unlock(lite->lock.fd);
	return looked;
}

/* The living are looked at, too, and stay. */
TEST(each_open_sweeps_a_little)
{
	struct weir_store *store = lite_open();
	struct other crowd[CROWD];
	struct other living;

	for (int i = 0; i < CROWD; i++) {
		crowd[i] = other_start(be_many);
		other_await(&crowd[i]);
	}
	living = other_start(other_holds);
	other_await(&living);
	assert_int_equal(files_in_live(), 2 + CROWD * STORES + 1);
	assert_true(sweep(store) <= 4);
	for (int i = 0; i < CROWD; i++)
		other_kill(&crowd[i]);
	assert_true(sweep(store) <= LOOKS_MAX);
	assert_true(files_in_live() >= 2 + CROWD * STORES + 1 - LOOKS_MAX);
	for (int i = 0; i < 6; i++)
		weir_store_close(lite_open());
	assert_int_equal(files_in_live(), 3);
	assert_true(sweep(store) <= 4);
	other_go_on(&living);
	assert_int_equal(other_end(&living), 0);
	weir_store_close(store);
}

/* One after the other: there are never many. */
TEST(the_killed_do_not_pile_up)
{
	for (int i = 0; i < 30; i++) {
		struct other holder = other_start(other_holds);

		other_await(&holder);
		other_kill(&holder);
		assert_true(files_in_live() <= 4);
	}
}

other_fn *const other_parts[] = {
	other_holds,
	be_many,
	NULL,
};

int main(int argc, char **argv)
{
	other_run(argc, argv);

	const struct CMUnitTest tests[] = {
		OTHER_TEST(leftovers_of_the_dead_are_swept),
		OTHER_TEST(each_open_sweeps_a_little),
		OTHER_TEST(the_killed_do_not_pile_up),
	};

	return RUN_TESTS(tests);
}
