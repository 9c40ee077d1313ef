/* sem: async waiters, their order and their cancel. */
#include "support/acquirer.h"
#include "support/async.h"
#include "support/unit.h"

#include <errno.h>

enum { WAITERS = 5 };

/* A semaphore of one permit, taken, and five waiters behind it. */
struct queue {
	struct weir_sem sem;
	uint32_t turns;
	struct async waiters[WAITERS];
};

static void queue_up(struct queue *queue)
{
	*queue = (struct queue){ .turns = 0 };
	assert_int_equal(weir_sem_init(&queue->sem, 1), 0);
	assert_int_equal(weir_sem_acquire(&queue->sem, 1), 0);
	for (int i = 0; i < WAITERS; i++) {
		queue->waiters[i].turns = &queue->turns;
		assert_int_equal(async_acquire(&queue->waiters[i], &queue->sem, 1), 1);
	}
}

/* Serves everyone and checks that all but `cancelled` had their turn, in order and once. */
static void serve_all_but(struct queue *queue, int cancelled)
{
	uint32_t turn = 0;

	while (stats_of(&queue->sem).waiting > 0)
		assert_int_equal(weir_sem_release(&queue->sem, 1), 0);
	for (int i = 0; i < WAITERS; i++) {
		assert_int_equal(queue->waiters[i].calls, i != cancelled);
		assert_int_equal(queue->waiters[i].turn, i != cancelled ? ++turn : 0);
		assert_int_equal(queue->waiters[i].result, 0);
	}
	assert_permits(&queue->sem, 1, 1, 0);
}

TEST(permits_at_hand_are_taken_at_once)
{
	struct weir_sem sem = WEIR_SEM_INIT(2);
	struct async waiter = { 0 };

	assert_int_equal(async_acquire(&waiter, &sem, 2), 0);
	assert_int_equal(waiter.calls, 0);
	assert_permits(&sem, 2, 2, 0);
	assert_int_equal(weir_sem_release(&sem, 2), 0);
	assert_int_equal(waiter.calls, 0);
}

TEST(waiters_are_served_in_order_P3)
{
	struct queue queue;

	queue_up(&queue);
	serve_all_but(&queue, -1);
}

TEST(cancel_of_the_first_the_middle_and_the_last_P5)
{
	for (int i = 0; i < WAITERS; i++) {
		struct queue queue;

		queue_up(&queue);
		assert_int_equal(weir_sem_cancel(&queue.sem, &queue.waiters[i].waiter), 0);
		assert_permits(&queue.sem, 1, 1, WAITERS - 1);
		assert_int_equal(stats_of(&queue.sem).cancelled, 1);
		serve_all_but(&queue, i);
	}
}

TEST(cancel_of_all_leaves_an_empty_queue)
{
	static const int order[WAITERS] = { 2, 0, 4, 1, 3 };
	struct queue queue;

	queue_up(&queue);
	for (int i = 0; i < WAITERS; i++)
		assert_int_equal(weir_sem_cancel(&queue.sem, &queue.waiters[order[i]].waiter), 0);
	assert_permits(&queue.sem, 1, 1, 0);
	assert_int_equal(weir_sem_release(&queue.sem, 1), 0);
	assert_int_equal(queue.turns, 0);
	assert_int_equal(weir_sem_try_acquire(&queue.sem, 1), 0);
}

TEST(cancel_after_the_grant_is_too_late_P5)
{
	struct queue queue;

	queue_up(&queue);
	assert_int_equal(weir_sem_release(&queue.sem, 1), 0);
	assert_int_equal(weir_sem_cancel(&queue.sem, &queue.waiters[0].waiter), 1);
	assert_int_equal(queue.waiters[0].calls, 1);
	assert_permits(&queue.sem, 1, 1, WAITERS - 1);
	assert_int_equal(stats_of(&queue.sem).cancelled, 0);
	serve_all_but(&queue, -1);
}

TEST(cancel_of_a_heavy_head_lets_the_next_in_P4_CHECKLIST_2)
{
	struct weir_sem sem = WEIR_SEM_INIT(3);
	struct async heavy = { 0 };
	struct async light[2] = { 0 };

	assert_int_equal(weir_sem_acquire(&sem, 1), 0);
	assert_int_equal(async_acquire(&heavy, &sem, 3), 1);
	assert_int_equal(async_acquire(&light[0], &sem, 1), 1);
	assert_int_equal(async_acquire(&light[1], &sem, 1), 1);
	assert_int_equal(weir_sem_cancel(&sem, &heavy.waiter), 0);
	assert_int_equal(light[0].calls, 1);
	assert_int_equal(light[1].calls, 1);
	assert_permits(&sem, 3, 3, 0);
}

TEST(cancel_of_a_heavy_head_wakes_a_thread_P4_CHECKLIST_2)
{
	struct weir_sem sem = WEIR_SEM_INIT(2);
	struct async heavy = { 0 };
	struct acquirer thread = { .sem = &sem, .n = 1, .deadline = WEIR_NEVER };

	assert_int_equal(weir_sem_acquire(&sem, 1), 0);
	assert_int_equal(async_acquire(&heavy, &sem, 2), 1);
	acquirer_queue(&thread);
	assert_int_equal(weir_sem_cancel(&sem, &heavy.waiter), 0);
	assert_int_equal(acquirer_join(&thread), 0);
	assert_permits(&sem, 2, 2, 0);
}

/* Whoever waits twice and needs only one of both gives the other one up: nothing may get stuck in
 * it. */
TEST(two_waits_of_one_owner_do_not_strand_a_permit_CHECKLIST_16)
{
	struct weir_sem sem = WEIR_SEM_INIT(1);
	struct async one = { 0 };
	struct async two = { 0 };
	struct async other = { 0 };

	assert_int_equal(weir_sem_acquire(&sem, 1), 0);
	assert_int_equal(async_acquire(&one, &sem, 1), 1);
	assert_int_equal(async_acquire(&two, &sem, 1), 1);
	assert_int_equal(async_acquire(&other, &sem, 1), 1);
	assert_int_equal(weir_sem_release(&sem, 1), 0);
	assert_int_equal(one.calls, 1);
	assert_int_equal(weir_sem_cancel(&sem, &two.waiter), 0);
	assert_int_equal(weir_sem_release(&sem, 1), 0);
	assert_int_equal(two.calls, 0);
	assert_int_equal(other.calls, 1);
	assert_permits(&sem, 1, 1, 0);
}

TEST(a_node_may_wait_again_after_each_kind_of_end)
{
	struct weir_sem sem = WEIR_SEM_INIT(1);
	struct weir_sem other = WEIR_SEM_INIT(1);
	struct async waiter = { 0 };

	assert_int_equal(async_acquire(&waiter, &sem, 1), 0);
	assert_int_equal(async_acquire(&waiter, &sem, 1), 1);
	assert_int_equal(weir_sem_release(&sem, 1), 0);
	assert_int_equal(waiter.calls, 1);
	assert_int_equal(async_acquire(&waiter, &sem, 1), 1);
	assert_int_equal(weir_sem_cancel(&sem, &waiter.waiter), 0);
	assert_int_equal(async_acquire(&waiter, &sem, 1), 1);
	weir_sem_close(&sem);
	assert_int_equal(waiter.calls, 2);
	assert_int_equal(waiter.result, -ESHUTDOWN);
	/* Refused, or had at once: there is nothing to cancel, nor is anybody about to be told. */
	assert_int_equal(async_acquire(&waiter, &other, 0), -EINVAL);
	assert_int_equal(weir_sem_cancel(&sem, &waiter.waiter), -EINVAL);
	assert_int_equal(async_acquire(&waiter, &other, 1), 0);
	assert_int_equal(weir_sem_cancel(&other, &waiter.waiter), -EINVAL);
	assert_int_equal(async_acquire(&waiter, &other, 1), 1);
	assert_int_equal(weir_sem_release(&other, 1), 0);
	assert_int_equal(waiter.calls, 3);
	assert_int_equal(weir_sem_cancel(&other, &waiter.waiter), 1);
	assert_int_equal(weir_sem_release(&other, 1), 0);
	assert_int_equal(async_acquire(&waiter, &other, 1), 0);
	assert_int_equal(weir_sem_cancel(&other, &waiter.waiter), -EINVAL);
	assert_int_equal(waiter.result, 0);
	assert_permits(&other, 1, 1, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(permits_at_hand_are_taken_at_once),
		cmocka_unit_test(waiters_are_served_in_order_P3),
		cmocka_unit_test(cancel_of_the_first_the_middle_and_the_last_P5),
		cmocka_unit_test(cancel_of_all_leaves_an_empty_queue),
		cmocka_unit_test(cancel_after_the_grant_is_too_late_P5),
		cmocka_unit_test(cancel_of_a_heavy_head_lets_the_next_in_P4_CHECKLIST_2),
		cmocka_unit_test(cancel_of_a_heavy_head_wakes_a_thread_P4_CHECKLIST_2),
		cmocka_unit_test(two_waits_of_one_owner_do_not_strand_a_permit_CHECKLIST_16),
		cmocka_unit_test(a_node_may_wait_again_after_each_kind_of_end),
	};

	return RUN_TESTS(tests);
}
