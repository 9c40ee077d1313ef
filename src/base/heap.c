/* base: the pairing heap. */
#include "base/heap.h"

static bool is_before(const struct weir__heap_node *a, const struct weir__heap_node *b)
{
	return a->time != b->time ? a->time < b->time : a->order < b->order;
}

/* Makes one tree of two, either of which may be NULL. Both are roots: no siblings. */
static struct weir__heap_node *meld(struct weir__heap_node *a, struct weir__heap_node *b)
{
	if (!a || !b)
		return a ? a : b;
	if (is_before(b, a)) {
		struct weir__heap_node *swap = a;

		a = b;
		b = swap;
	}
	b->sibling = a->child;
	if (a->child)
		a->child->previous = b;
	b->previous = a;
	a->child = b;
	return a;
}

/* Makes one tree of a list of siblings: pair by pair from the left, then all pairs from the right,
 * which is what gives the heap its bound. */
static struct weir__heap_node *meld_siblings(struct weir__heap_node *list)
{
	struct weir__heap_node *pairs = NULL;
	struct weir__heap_node *tree = NULL;

	while (list) {
		struct weir__heap_node *a = list;
		struct weir__heap_node *b = a->sibling;

		list = b ? b->sibling : NULL;
		a->sibling = NULL;
		if (b)
			b->sibling = NULL;
		a = meld(a, b);
		a->sibling = pairs;
		pairs = a;
	}
	while (pairs) {
		struct weir__heap_node *next = pairs->sibling;

		pairs->sibling = NULL;
		tree = meld(tree, pairs);
		pairs = next;
	}
	return tree;
}

void weir__heap_add(struct weir__heap *heap, struct weir__heap_node *node, weir_time time)
{
	*node = (struct weir__heap_node){ .time = time, .order = heap->added++ };
	heap->first = meld(heap->first, node);
}

void weir__heap_remove(struct weir__heap *heap, struct weir__heap_node *node)
{
	struct weir__heap_node *rest = meld_siblings(node->child);

	if (node == heap->first) {
		heap->first = rest;
	} else {
		if (node->previous->child == node)
			node->previous->child = node->sibling;
		else
			node->previous->sibling = node->sibling;
		if (node->sibling)
			node->sibling->previous = node->previous;
		heap->first = meld(heap->first, rest);
	}
	if (heap->first)
		heap->first->previous = NULL;
}
