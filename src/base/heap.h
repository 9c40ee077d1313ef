/* base: a heap of nodes that live in what they time.
 *
 * A pairing heap: nothing is allocated, so a wait with a deadline cannot fail for want of memory.
 * Adding is O(1); taking out, the first or any other, is O(log n) amortised. Equal times come out
 * in the order in which they went in. Not synchronised. */
#ifndef WEIR_BASE_HEAP_H
#define WEIR_BASE_HEAP_H

#include <weir/base.h>

struct weir__heap_node {
	weir_time time;
	uint64_t order;
	struct weir__heap_node *child;    /* the first of those that come later */
	struct weir__heap_node *sibling;  /* the next child of the same parent */
	struct weir__heap_node *previous; /* the sibling before, or the parent of a first child */
};

/* All zero is an empty heap. */
struct weir__heap {
	struct weir__heap_node *first;
	uint64_t added;
};

void weir__heap_add(struct weir__heap *heap, struct weir__heap_node *node, weir_time time);

/* The node must be in the heap. */
void weir__heap_remove(struct weir__heap *heap, struct weir__heap_node *node);

#endif
