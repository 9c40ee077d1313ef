/* task: the pool of stacks. */
#include "base/pages.h"
#include "support/stress.h"
#include "support/unit.h"
#include "task/stack.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STACK = 58 * 1024, MANY = 2000 };

/* The next calls of weir__pages_map that fail. */
static int no_room;

void *__real_weir__pages_map(size_t size);
void *__wrap_weir__pages_map(size_t size);
void *__wrap_weir__pages_map(size_t size)
{
	if (no_room > 0) {
		no_room--;
		return NULL;
	}
	return __real_weir__pages_map(size);
}

/* Linux before 6.13 knows no light guards. */
enum { GUARD_INSTALL = 102 };
static bool old_kernel;

int __real_madvise(void *address, size_t length, int advice);
int __wrap_madvise(void *address, size_t length, int advice);
int __wrap_madvise(void *address, size_t length, int advice)
{
	if (old_kernel && advice == GUARD_INSTALL) {
		errno = EINVAL;
		return -1;
	}
	return __real_madvise(address, length, advice);
}

static struct weir__stacks pool(size_t size, size_t warm_most)
{
	struct weir__stacks stacks;

	assert_int_equal(weir__stacks_init(&stacks, size, warm_most), 0);
	return stacks;
}

static char *get(struct weir__stacks *stacks)
{
	assert_true(weir__stack_promise(stacks));
	return weir__stack_get(stacks);
}

/* How a child ends that runs `body`: the signal that killed it, or 0. */
static int signal_of(void (*body)(void *), void *argument)
{
	pid_t child = fork();
	int status = 0;

	assert_true(child >= 0);
	if (child == 0) {
		(void)signal(SIGSEGV, SIG_DFL); /* a sanitizer has one of its own */
		body(argument);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void write_byte(void *address)
{
	*(volatile char *)address = 1;
}

TEST(a_stack_is_as_large_as_was_asked_for)
{
	static const size_t sizes[] = { 1, 4096, 5000, STACK, 64 * 1024, 1 << 20 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct weir__stacks stacks = pool(sizes[i], 0);
		char *end = get(&stacks);
		char *top = end - stack_colour(&stacks, end);
		size_t usable = weir__stack_usable(&stacks);

		assert_true(usable >= sizes[i]);
		memset(top - usable, 0xaa, usable);
		weir__stacks_done(&stacks);
	}
}

TEST(an_absurd_size_is_refused)
{
	struct weir__stacks stacks;

	assert_int_equal(weir__stacks_init(&stacks, SIZE_MAX, 0), -EINVAL);
	assert_int_equal(weir__stacks_init(&stacks, (size_t)1 << 40, 0), -EINVAL);
}

TEST(the_lowest_page_faults_and_nothing_else_does)
{
	struct weir__stacks stacks = pool(STACK, 0);
	char *ends[3];

	for (int i = 0; i < 3; i++)
		ends[i] = get(&stacks);
	for (int i = 0; i < 3; i++) {
		char *low = ends[i] - stacks.size;

		assert_int_equal(signal_of(write_byte, low), SIGSEGV);
		assert_int_equal(signal_of(write_byte, low + weir__page_size() - 1), SIGSEGV);
		assert_int_equal(signal_of(write_byte, low + weir__page_size()), 0);
		assert_int_equal(signal_of(write_byte, ends[i] - 1), 0);
	}
	weir__stacks_done(&stacks);
}

TEST(a_guard_outlives_the_reuse_of_its_stack)
{
	struct weir__stacks stacks = pool(STACK, 0);
	char *end = get(&stacks);

	weir__stack_put(&stacks, end);
	assert_ptr_equal(get(&stacks), end);
	assert_int_equal(signal_of(write_byte, end - stacks.size), SIGSEGV);
	weir__stacks_done(&stacks);
}

static int overflow(int depth)
{
	volatile char frame[1024];

	frame[0] = (char)depth;
	return depth == 0 ? 0 : overflow(depth - 1) + frame[0];
}

static int overflowing_task(void *arg, intptr_t *value)
{
	(void)arg;
	*value = overflow(1000000);
	return 0;
}

static void run_overflowing_task(void *argument)
{
	(void)argument;
	(void)weir_run(overflowing_task, NULL, NULL);
}

TEST(a_task_that_overflows_its_stack_is_stopped)
{
	assert_int_equal(signal_of(run_overflowing_task, NULL), SIGSEGV);
}

static bool is_resident(char *end)
{
	unsigned char resident = 0;

	assert_int_equal(mincore(end - weir__page_size(), weir__page_size(), &resident), 0);
	return resident & 1;
}

TEST(the_stack_given_back_last_is_given_out_first)
{
	struct weir__stacks stacks = pool(STACK, 8);
	char *a = get(&stacks);
	char *b = get(&stacks);

	assert_ptr_not_equal(a, b);
	weir__stack_put(&stacks, a);
	weir__stack_put(&stacks, b);
	assert_ptr_equal(get(&stacks), b);
	assert_ptr_equal(get(&stacks), a);
	weir__stacks_done(&stacks);
}

TEST(warm_stacks_keep_their_memory_and_the_others_give_it_back)
{
	struct weir__stacks stacks = pool(STACK, 2);
	char *ends[3];

	for (int i = 0; i < 3; i++) {
		ends[i] = get(&stacks);
		assert_false(is_resident(ends[i]));
		memset(ends[i] - 64, 1, 64);
		assert_true(is_resident(ends[i]));
	}
	for (int i = 0; i < 3; i++)
		weir__stack_put(&stacks, ends[i]);
	assert_true(is_resident(ends[0]));
	assert_true(is_resident(ends[1]));
	assert_false(is_resident(ends[2]));

	/* The cold one is used again when no warm one is left, and is clean. */
	assert_ptr_equal(get(&stacks), ends[1]);
	assert_ptr_equal(get(&stacks), ends[0]);
	assert_ptr_equal(get(&stacks), ends[2]);
	assert_int_equal(ends[2][-1], 0);
	weir__stacks_done(&stacks);
}

static int count_mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	int lines = 0;
	int c;

	assert_non_null(maps);
	while ((c = getc(maps)) != EOF)
		lines += c == '\n';
	assert_int_equal(fclose(maps), 0);
	return lines;
}

static bool has_light_guards(void)
{
	void *page = mmap(NULL, weir__page_size(), PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool has;

	assert_ptr_not_equal(page, MAP_FAILED);
	has = madvise(page, weir__page_size(), GUARD_INSTALL) == 0;
	assert_int_equal(munmap(page, weir__page_size()), 0);
	return has;
}

TEST(many_stacks_need_few_mappings)
{
	struct weir__stacks stacks = pool(STACK, 0);
	int before = count_mappings();

	if (!has_light_guards())
		skip();
	for (int i = 0; i < MANY; i++)
		get(&stacks)[-1] = 1;
	assert_true(count_mappings() - before < MANY / 50);
	weir__stacks_done(&stacks);
	assert_true(count_mappings() - before <= 1);
}

/* Each guard costs a mapping there, and is given back with its pool. */
TEST(on_an_old_kernel_there_are_guards_too_and_they_do_not_run_out)
{
	enum { POOLS = 40, STACKS = 500 }; /* together more than there can be at once */

	old_kernel = true;
	for (int i = 0; i < POOLS; i++) {
		struct weir__stacks stacks = pool(4096, 0);
		char *end = NULL;

		for (int j = 0; j < STACKS; j++)
			end = get(&stacks);
		if (i % (POOLS - 1) == 0)
			assert_int_equal(signal_of(write_byte, end - stacks.size), SIGSEGV);
		weir__stacks_done(&stacks);
	}
	old_kernel = false;
}

TEST(beyond_what_mappings_allow_there_are_stacks_without_guards)
{
	struct weir__stacks stacks = pool(4096, 0);
	char *end = NULL;

	old_kernel = true;
	for (int i = 0; i < 20000; i++)
		end = get(&stacks);
	old_kernel = false;
	assert_int_equal(signal_of(write_byte, end - stacks.size), 0);
	end[-1] = 1;
	weir__stacks_done(&stacks);
}

TEST(stacks_never_overlap_whatever_is_done)
{
	struct weir__stacks stacks = pool(8192, 16);
	size_t usable = stacks.size - weir__page_size();
	static char *ends[MANY];
	struct rng rng = { .state = 1 };

	for (int step = 0; step < 20 * MANY; step++) {
		uint32_t i = rng_below(&rng, MANY);

		if (!ends[i]) {
			ends[i] = get(&stacks);
			memcpy(ends[i] - sizeof(i), &i, sizeof(i));
			memcpy(ends[i] - usable, &i, sizeof(i));
		} else {
			assert_memory_equal(ends[i] - sizeof(i), &i, sizeof(i));
			assert_memory_equal(ends[i] - usable, &i, sizeof(i));
			weir__stack_put(&stacks, ends[i]);
			ends[i] = NULL;
		}
	}
	weir__stacks_done(&stacks);
}

TEST(without_room_there_is_no_stack_and_later_there_is)
{
	struct weir__stacks stacks = pool(STACK, 0);

	no_room = 9; /* for a slab of 512 places, and for half as many each time down to 2 */
	assert_false(weir__stack_promise(&stacks));
	assert_int_equal(no_room, 0);
	assert_non_null(get(&stacks));
	weir__stacks_done(&stacks);
}

/* Slabs are as small as the first one had to be; the record of each takes one place. */
TEST(with_little_room_slabs_are_smaller_and_the_stacks_the_same)
{
	enum { PLACES = 8 };
	struct weir__stacks stacks = pool(STACK, 1);
	char *ends[3 * PLACES];

	no_room = 6;
	for (int i = 0; i < 3 * PLACES; i++) {
		ends[i] = get(&stacks);
		memset(ends[i] - STACK, i, STACK);
	}
	assert_int_equal(no_room, 0);
	assert_int_equal(stacks.slab_stacks, PLACES);
	for (int i = 0; i < 3 * PLACES; i++) {
		assert_int_equal(ends[i][-1], i);
		assert_int_equal(ends[i][-STACK], i);
		assert_int_equal(signal_of(write_byte, ends[i] - stacks.size), SIGSEGV);
		weir__stack_put(&stacks, ends[i]);
	}
	/* And all of them again, none twice. */
	for (int i = 0; i < 3 * PLACES; i++) {
		ends[i] = get(&stacks);
		for (int j = 0; j < i; j++)
			assert_ptr_not_equal(ends[i], ends[j]);
	}
	/* What is missing later is missing. */
	while (stacks.promised < stacks.room)
		assert_non_null(get(&stacks));
	no_room = 1;
	assert_false(weir__stack_promise(&stacks));
	assert_int_equal(stacks.slab_stacks, PLACES);
	weir__stacks_done(&stacks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stack_is_as_large_as_was_asked_for),
		cmocka_unit_test(an_absurd_size_is_refused),
		cmocka_unit_test(the_lowest_page_faults_and_nothing_else_does),
		cmocka_unit_test(a_guard_outlives_the_reuse_of_its_stack),
		cmocka_unit_test(a_task_that_overflows_its_stack_is_stopped),
		cmocka_unit_test(the_stack_given_back_last_is_given_out_first),
		cmocka_unit_test(warm_stacks_keep_their_memory_and_the_others_give_it_back),
		cmocka_unit_test(many_stacks_need_few_mappings),
		cmocka_unit_test(on_an_old_kernel_there_are_guards_too_and_they_do_not_run_out),
		cmocka_unit_test(beyond_what_mappings_allow_there_are_stacks_without_guards),
		cmocka_unit_test(stacks_never_overlap_whatever_is_done),
		cmocka_unit_test(without_room_there_is_no_stack_and_later_there_is),
		cmocka_unit_test(with_little_room_slabs_are_smaller_and_the_stacks_the_same),
	};

	return RUN_TESTS(tests);
}
