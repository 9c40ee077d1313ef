/* base: the hash table. */
#include "base/table.h"
#include "support/unit.h"

enum { MANY = 5000 };

static struct weir__link links[MANY];

TEST(links_are_found_until_they_are_removed)
{
	struct weir__table table = { 0 };

	assert_null(weir__table_find(&table, 1));
	for (uint64_t i = 0; i < MANY; i++)
		weir__table_add(&table, &links[i], i * 3);
	for (uint64_t i = 0; i < MANY; i++)
		assert_ptr_equal(weir__table_find(&table, i * 3), &links[i]);
	assert_null(weir__table_find(&table, 1));
	for (uint64_t i = 0; i < MANY; i += 2)
		weir__table_remove(&table, &links[i]);
	for (uint64_t i = 0; i < MANY; i++)
		assert_ptr_equal(weir__table_find(&table, i * 3), i % 2 == 0 ? NULL : &links[i]);
	weir__table_done(&table);
}

TEST(of_equal_hashes_the_newest_comes_first_also_after_growing)
{
	struct weir__table table = { 0 };
	int n = 0;

	for (int i = 0; i < 10; i++)
		weir__table_add(&table, &links[i], 7);
	for (int i = 10; i < 200; i++)
		weir__table_add(&table, &links[i], (uint64_t)i * 16 + 7);
	for (struct weir__link *link = weir__table_find(&table, 7); link != NULL;
	     link = weir__table_again(link))
		assert_ptr_equal(link, &links[9 - n++]);
	assert_int_equal(n, 10);
	weir__table_done(&table);
}

TEST(all_are_visited_once)
{
	struct weir__table table = { 0 };
	size_t count = 0;

	assert_null(weir__table_next(&table, NULL));
	for (uint64_t i = 0; i < MANY; i++)
		weir__table_add(&table, &links[i], weir__hash_number(i));
	for (struct weir__link *link = NULL; (link = weir__table_next(&table, link)) != NULL;)
		count++;
	assert_int_equal(count, MANY);
	weir__table_done(&table);
}

TEST(a_hash_depends_on_every_byte_and_on_the_seed)
{
	char text[40] = "the quick brown fox jumps over the dog";
	uint64_t hash = weir__hash(text, 38, 1);

	assert_int_equal(weir__hash(text, 38, 1), hash);
	assert_int_not_equal(weir__hash(text, 38, 2), hash);
	assert_int_not_equal(weir__hash(text, 37, 1), hash);
	for (int i = 0; i < 38; i++) {
		text[i] ^= 1;
		assert_int_not_equal(weir__hash(text, 38, 1), hash);
		text[i] ^= 1;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(links_are_found_until_they_are_removed),
		cmocka_unit_test(of_equal_hashes_the_newest_comes_first_also_after_growing),
		cmocka_unit_test(all_are_visited_once),
		cmocka_unit_test(a_hash_depends_on_every_byte_and_on_the_seed),
	};

	return RUN_TESTS(tests);
}
