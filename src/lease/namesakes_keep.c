/* lease: what is kept for namesakes: the end of a lease, a place in the queue. See namesakes.h. */
#include <stddef.h>
#include <string.h>

#include "lease/lease.h"
#include "lease/namesakes_state.h"

static struct weir__namesakes *of_link(struct weir__link *link)
{
	return (struct weir__namesakes *)(void *)((char *)link -
						  offsetof(struct weir__namesakes, link));
}

uint64_t weir__namesakes_hash(const struct weir_lease *lease)
{
	uint64_t name = weir__hash(lease->name, strlen(lease->name), lease->store->id_base);

	return weir__hash(lease->request_id, strlen(lease->request_id), name);
}

struct weir__namesakes *weir__namesakes_find(struct weir_store *store,
					     const struct weir_lease *lease, uint64_t hash)
{
	struct weir__link *link = weir__table_find(&store->namesakes, hash);

	for (; link != NULL; link = weir__table_again(link)) {
		struct weir__namesakes *found = of_link(link);

		if (strcmp(found->name, lease->name) == 0 &&
		    strcmp(found->request_id, lease->request_id) == 0)
			return found;
	}
	return NULL;
}

bool weir__lease_was_acquired(const struct weir_lease *lease)
{
	return lease->named && WEIR__LOAD(&lease->state, __ATOMIC_ACQUIRE) != WEIR__PENDING;
}

void weir__namesakes_keep(struct weir_lease *lease)
{
	struct weir_store *store = lease->store;
	struct weir__namesakes *namesakes;

	if (!weir__lease_was_acquired(lease) || !WEIR__PEEK(&lease->gone))
		return;
	weir__lock(&store->lock);
	namesakes = weir__namesakes_find(store, lease, weir__namesakes_hash(lease));
	if (namesakes != NULL) {
		(void)WEIR__ADD(&lease->pins, 1, __ATOMIC_RELAXED);
		lease->kept_next = namesakes->kept;
		namesakes->kept = lease;
	}
	weir__unlock(&store->lock);
}

bool weir__namesakes_keep_place(struct weir__op *op)
{
	struct weir__namesakes *namesakes = op->namesakes;
	struct weir_store *store;

	if (namesakes == NULL || op->place_stays)
		return op->place_stays;
	store = op->lease->store;
	weir__lock(&store->lock);
	op->place_stays = namesakes->waiting != 0;
	if (op->place_stays)
		namesakes->place_was_left = true;
	weir__unlock(&store->lock);
	return op->place_stays;
}
