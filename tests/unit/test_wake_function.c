/* sem: what the wake function of an async waiter may do. */
#include "support/acquirer.h"
#include "support/async.h"
#include "support/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { CHAIN = 1000000 };

/* A waiter whose wake function releases what it got, so that the next one's runs because of it. */
struct link {
	struct weir_waiter waiter;
	struct weir_sem *sem;
};

/* Where the chain has got to, and the stack it needed: of the wake functions, from the first one
 * on. */
static struct {
	uint32_t calls;
	uint32_t depth;
	uint32_t deepest;
	uintptr_t stack_low;
	uintptr_t stack_high;
} chain;

static void note_the_stack(void)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);

	if (chain.calls++ == 0)
		chain.stack_low = chain.stack_high = here;
	if (here < chain.stack_low)
		chain.stack_low = here;
	if (here > chain.stack_high)
		chain.stack_high = here;
}

static void release_in_turn(struct weir_waiter *waiter, int result)
{
	struct link *link = (struct link *)(void *)waiter;

	assert_int_equal(result, 0);
	note_the_stack();
	if (++chain.depth > chain.deepest)
		chain.deepest = chain.depth;
	assert_int_equal(weir_sem_release(link->sem, 1), 0);
	chain.depth--;
}

static struct link *queue_chain(struct weir_sem *sem)
{
	struct link *links = calloc(CHAIN, sizeof(*links));

	assert_non_null(links);
	memset(&chain, 0, sizeof(chain));
	for (int i = 0; i < CHAIN; i++) {
		links[i].sem = sem;
		assert_int_equal(weir_sem_acquire_async(sem, 1, &links[i].waiter, release_in_turn),
				 1);
	}
	return links;
}

TEST(a_chain_of_a_million_releases_needs_no_stack_CHECKLIST_13)
{
	struct weir_sem sem = WEIR_SEM_INIT(1);
	struct link *links;

	assert_int_equal(weir_sem_acquire(&sem, 1), 0);
	links = queue_chain(&sem);
	assert_int_equal(weir_sem_release(&sem, 1), 0);
	assert_int_equal(chain.calls, CHAIN);
	assert_int_equal(chain.deepest, 1);
	assert_true(chain.stack_high - chain.stack_low < 4096);
	assert_permits(&sem, 1, 0, 0);
	free(links);
}

TEST(a_million_closed_out_at_once_need_no_stack)
{
	struct weir_sem sem = WEIR_SEM_INIT(1);
	struct async *waiters = calloc(CHAIN, sizeof(*waiters));

	assert_non_null(waiters);
	assert_int_equal(weir_sem_acquire(&sem, 1), 0);
	for (int i = 0; i < CHAIN; i++)
		assert_int_equal(async_acquire(&waiters[i], &sem, 1), 1);
	weir_sem_close(&sem);
	for (int i = 0; i < CHAIN; i++) {
		assert_int_equal(waiters[i].calls, 1);
		assert_int_equal(waiters[i].result, -ESHUTDOWN);
	}
	free(waiters);
}

struct rearmed {
	struct weir_waiter waiter;
	struct weir_sem *sem;
	uint32_t turns_left;
};

static void wait_again(struct weir_waiter *waiter, int result)
{
	struct rearmed *self = (struct rearmed *)(void *)waiter;

	assert_int_equal(result, 0);
	if (--self->turns_left > 0)
		assert_int_equal(weir_sem_acquire_async(self->sem, 1, &self->waiter, wait_again),
				 1);
}

TEST(it_may_wait_again_with_the_same_node)
{
	struct weir_sem sem = WEIR_SEM_INIT(1);
	struct rearmed self = { .sem = &sem, .turns_left = 1000 };

	assert_int_equal(weir_sem_acquire(&sem, 1), 0);
	assert_int_equal(weir_sem_acquire_async(&sem, 1, &self.waiter, wait_again), 1);
	for (uint32_t left = 1000; left > 0; left--) {
		assert_int_equal(self.turns_left, left);
		assert_permits(&sem, 1, 1, 1);
		assert_int_equal(weir_sem_release(&sem, 1), 0);
	}
	assert_int_equal(self.turns_left, 0);
	assert_permits(&sem, 1, 1, 0);
}

/* Releases, and at once queues again behind whoever waits: two of them take turns for ever. */
static void release_and_wait_again(struct weir_waiter *waiter, int result)
{
	struct rearmed *self = (struct rearmed *)(void *)waiter;

	assert_int_equal(result, 0);
	while (self->turns_left > 0) {
		self->turns_left--;
		assert_int_equal(weir_sem_release(self->sem, 1), 0);
		if (weir_sem_acquire_async(self->sem, 1, &self->waiter, release_and_wait_again))
			return;
	}
	assert_int_equal(weir_sem_release(self->sem, 1), 0);
}

TEST(two_may_take_turns_inside_one_release_CHECKLIST_13)
{
	struct weir_sem sem = WEIR_SEM_INIT(1);
	struct rearmed one = { .sem = &sem, .turns_left = 100000 };
	struct rearmed two = { .sem = &sem, .turns_left = 100000 };

	assert_int_equal(weir_sem_acquire(&sem, 1), 0);
	assert_int_equal(weir_sem_acquire_async(&sem, 1, &one.waiter, release_and_wait_again), 1);
	assert_int_equal(weir_sem_acquire_async(&sem, 1, &two.waiter, release_and_wait_again), 1);
	assert_int_equal(weir_sem_release(&sem, 1), 0);
	assert_int_equal(one.turns_left + two.turns_left, 0);
	assert_permits(&sem, 1, 0, 0);
}

static uint32_t nodes_freed;

static void free_the_node(struct weir_waiter *waiter, int result)
{
	assert_int_equal(result, 0);
	free(waiter);
	nodes_freed++;
}

TEST(it_may_free_its_node_P6)
{
	enum { NODES = 100 };
	struct weir_sem sem = WEIR_SEM_INIT(NODES);

	nodes_freed = 0;
	assert_int_equal(weir_sem_acquire(&sem, NODES), 0);
	for (int i = 0; i < NODES; i++) {
		struct weir_waiter *waiter = calloc(1, sizeof(*waiter));

		assert_non_null(waiter);
		assert_int_equal(weir_sem_acquire_async(&sem, 1, waiter, free_the_node), 1);
	}
	/* One by one, then many by the same release. */
	assert_int_equal(weir_sem_release(&sem, 1), 0);
	assert_int_equal(weir_sem_release(&sem, 1), 0);
	assert_int_equal(nodes_freed, 2);
	assert_int_equal(weir_sem_release(&sem, NODES - 2), 0);
	assert_int_equal(nodes_freed, NODES);
	assert_permits(&sem, NODES, NODES, 0);
}

struct user {
	struct weir_waiter waiter;
	struct weir_sem *sem;
	bool used;
};

static void use_every_function(struct weir_waiter *waiter, int result)
{
	struct user *user = (struct user *)(void *)waiter;
	struct async other = { 0 };

	assert_int_equal(result, 0);
	assert_permits(user->sem, 1, 1, 0);
	assert_int_equal(weir_sem_try_acquire(user->sem, 1), -EAGAIN);
	assert_int_equal(async_acquire(&other, user->sem, 1), 1);
	assert_int_equal(weir_sem_cancel(user->sem, &other.waiter), 0);
	assert_int_equal(weir_sem_resize(user->sem, 2), 0);
	assert_int_equal(weir_sem_acquire(user->sem, 1), 0);
	assert_int_equal(weir_sem_release(user->sem, 2), 0);
	weir_sem_close(user->sem);
	user->used = true;
}

TEST(it_may_use_the_semaphore_CHECKLIST_13)
{
	struct weir_sem sem = WEIR_SEM_INIT(1);
	struct user user = { .sem = &sem };

	assert_int_equal(weir_sem_acquire(&sem, 1), 0);
	assert_int_equal(weir_sem_acquire_async(&sem, 1, &user.waiter, use_every_function), 1);
	assert_int_equal(weir_sem_release(&sem, 1), 0);
	assert_true(user.used);
	assert_permits(&sem, 2, 0, 0);
}

/* Told by its own release, the thread must be awake although the wake function has not returned. */
static void release_and_join(struct weir_waiter *waiter, int result)
{
	struct user *user = (struct user *)(void *)waiter;
	struct acquirer thread = { .sem = user->sem, .n = 1, .deadline = WEIR_NEVER };

	assert_int_equal(result, 0);
	acquirer_queue(&thread);
	assert_int_equal(weir_sem_release(user->sem, 1), 0);
	assert_int_equal(acquirer_join(&thread), 0);
	user->used = true;
}

TEST(a_thread_behind_it_does_not_wait_for_its_return)
{
	struct weir_sem sem = WEIR_SEM_INIT(1);
	struct user user = { .sem = &sem };

	assert_int_equal(weir_sem_acquire(&sem, 1), 0);
	assert_int_equal(weir_sem_acquire_async(&sem, 1, &user.waiter, release_and_join), 1);
	assert_int_equal(weir_sem_release(&sem, 1), 0);
	assert_true(user.used);
	assert_permits(&sem, 1, 1, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_chain_of_a_million_releases_needs_no_stack_CHECKLIST_13),
		cmocka_unit_test(a_million_closed_out_at_once_need_no_stack),
		cmocka_unit_test(it_may_wait_again_with_the_same_node),
		cmocka_unit_test(two_may_take_turns_inside_one_release_CHECKLIST_13),
		cmocka_unit_test(it_may_free_its_node_P6),
		cmocka_unit_test(it_may_use_the_semaphore_CHECKLIST_13),
		cmocka_unit_test(a_thread_behind_it_does_not_wait_for_its_return),
	};

	return RUN_TESTS(tests);
}
