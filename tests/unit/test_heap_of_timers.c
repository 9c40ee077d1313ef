/* base: the heap of timers, by itself. */
#include "base/heap.h"
#include "support/stress.h"
#include "support/unit.h"

#include <stdlib.h>

enum { NODES = 300 };

static struct weir__heap_node *take_first(struct weir__heap *heap)
{
	struct weir__heap_node *first = heap->first;

	weir__heap_remove(heap, first);
	return first;
}

TEST(an_empty_heap_has_no_first)
{
	struct weir__heap heap = { 0 };
	struct weir__heap_node node;

	assert_null(heap.first);
	weir__heap_add(&heap, &node, 7);
	assert_ptr_equal(heap.first, &node);
	assert_int_equal(node.time, 7);
	weir__heap_remove(&heap, &node);
	assert_null(heap.first);
}

TEST(times_come_out_in_order)
{
	static const weir_time times[] = { 50, 10, 40, -20, 30, WEIR_NEVER, 0 };
	static const weir_time sorted[] = { -20, 0, 10, 30, 40, 50, WEIR_NEVER };
	enum { COUNT = sizeof(times) / sizeof(*times) };
	struct weir__heap heap = { 0 };
	struct weir__heap_node nodes[COUNT];

	for (int i = 0; i < COUNT; i++)
		weir__heap_add(&heap, &nodes[i], times[i]);
	for (int i = 0; i < COUNT; i++)
		assert_int_equal(take_first(&heap)->time, sorted[i]);
	assert_null(heap.first);
}

TEST(equal_times_come_out_in_the_order_they_went_in)
{
	struct weir__heap heap = { 0 };
	struct weir__heap_node nodes[NODES];
	struct weir__heap_node *first;

	/* Two times, in turn: the even ones come first, and each half in its order. */
	for (int i = 0; i < NODES; i++)
		weir__heap_add(&heap, &nodes[i], i % 2);
	for (int half = 0; half < 2; half++) {
		for (int i = half; i < NODES; i += 2) {
			first = take_first(&heap);
			assert_ptr_equal(first, &nodes[i]);
		}
	}
	assert_null(heap.first);
}

TEST(a_node_that_is_added_again_goes_behind_its_equals)
{
	struct weir__heap heap = { 0 };
	struct weir__heap_node a, b;

	weir__heap_add(&heap, &a, 5);
	weir__heap_add(&heap, &b, 5);
	weir__heap_remove(&heap, &a);
	weir__heap_add(&heap, &a, 5);
	assert_ptr_equal(take_first(&heap), &b);
	assert_ptr_equal(take_first(&heap), &a);
}

TEST(any_node_can_be_taken_out)
{
	for (int victim = 0; victim < NODES; victim++) {
		struct weir__heap heap = { 0 };
		struct weir__heap_node nodes[NODES];

		for (int i = 0; i < NODES; i++)
			weir__heap_add(&heap, &nodes[i], (i * 7) % NODES);
		/* The first removal gives the heap its shape, the second looks for any place. */
		assert_ptr_equal(take_first(&heap), &nodes[0]);
		if (victim > 0)
			weir__heap_remove(&heap, &nodes[victim]);
		for (int time = 1; time < NODES; time++) {
			if (victim == 0 || time != (victim * 7) % NODES)
				assert_int_equal(take_first(&heap)->time, time);
		}
		assert_null(heap.first);
	}
}

struct model {
	struct weir__heap heap;
	struct weir__heap_node nodes[NODES];
	bool inside[NODES];
};

/* The one that a sorted list would have first. */
static struct weir__heap_node *expected_first(struct model *model)
{
	struct weir__heap_node *first = NULL;

	for (int i = 0; i < NODES; i++) {
		struct weir__heap_node *node = &model->nodes[i];

		if (model->inside[i] && (!first || node->time < first->time ||
					 (node->time == first->time && node->order < first->order)))
			first = node;
	}
	return first;
}

TEST(whatever_is_done_the_first_is_the_first)
{
	struct model model = { .heap = { 0 } };
	struct rng rng = { .state = 1 };

	for (int step = 0; step < 20000; step++) {
		uint32_t i = rng_below(&rng, NODES);

		if (!model.inside[i]) {
			weir__heap_add(&model.heap, &model.nodes[i], rng_below(&rng, 50));
			model.inside[i] = true;
		} else {
			if (rng_one_in(&rng, 2))
				i = (uint32_t)(model.heap.first - model.nodes);
			weir__heap_remove(&model.heap, &model.nodes[i]);
			model.inside[i] = false;
		}
		assert_ptr_equal(model.heap.first, expected_first(&model));
	}
}

TEST(a_million_nodes_in_descending_and_ascending_order_need_no_stack)
{
	enum { MANY = 1000000 };
	struct weir__heap heap = { 0 };
	struct weir__heap_node *nodes = calloc(MANY, sizeof(*nodes));
	weir_time last = -1;

	assert_non_null(nodes);
	for (int i = 0; i < MANY; i++)
		weir__heap_add(&heap, &nodes[i], i % 2 ? i : MANY - i);
	for (int i = 0; i < MANY; i++) {
		weir_time time = take_first(&heap)->time;

		assert_true(time >= last);
		last = time;
	}
	assert_null(heap.first);
	free(nodes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_heap_has_no_first),
		cmocka_unit_test(times_come_out_in_order),
		cmocka_unit_test(equal_times_come_out_in_the_order_they_went_in),
		cmocka_unit_test(a_node_that_is_added_again_goes_behind_its_equals),
		cmocka_unit_test(any_node_can_be_taken_out),
		cmocka_unit_test(whatever_is_done_the_first_is_the_first),
		cmocka_unit_test(a_million_nodes_in_descending_and_ascending_order_need_no_stack),
	};

	return RUN_TESTS(tests);
}
