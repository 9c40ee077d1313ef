/* lease: the gate of a store, and its memory. See store.h. */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/random.h"
#include "lease/op.h"
#include "lease/say.h"
#include "lease/store.h"

#include <weir/task.h>

#define GATE_SHUT (UINT32_C(1) << 31)

/* By comparison, not by adding and looking: whoever finds the gate shut has not been inside, so the
 * count reaches nothing only once after that. */
int weir__gate_enter(struct weir_store *store)
{
	uint32_t gate;

	if (!weir__store_is_here(store))
		return weir__fail(
			-ESHUTDOWN,
			"the store was opened before a fork, by the parent: open it again");
	gate = WEIR__LOAD(&store->gate, __ATOMIC_RELAXED);
	do {
		if ((gate & GATE_SHUT) != 0)
			return weir__fail(-ESHUTDOWN, "the store is closed");
	} while (!WEIR__CAS(&store->gate, &gate, gate + 1, __ATOMIC_ACQUIRE));
	return 0;
}

void weir__gate_leave(struct weir_store *store)
{
	if (WEIR__SUB(&store->gate, 1, __ATOMIC_ACQ_REL) == GATE_SHUT)
		(void)weir_sem_release(&store->empty, 1);
}

/* The closer is inside until it waits. */
void weir__gate_shut(struct weir_store *store)
{
	(void)weir_sem_init(&store->empty, 1);
	(void)weir_sem_try_acquire(&store->empty, 1);
	(void)WEIR__ADD(&store->gate, GATE_SHUT + 1, __ATOMIC_ACQ_REL);
}

bool weir__gate_is_shut(const struct weir_store *store)
{
	return (WEIR__LOAD(&store->gate, __ATOMIC_ACQUIRE) & GATE_SHUT) != 0;
}

void weir__gate_wait(struct weir_store *store)
{
	bool shielded = weir_shield(true) == 0;

	weir__gate_leave(store);
	while (weir_sem_acquire_until(&store->empty, 1, weir_after(WEIR_SECOND)) < 0)
		;
	if (shielded)
		(void)weir_shield(false);
}

void weir__store_ref(struct weir_store *store)
{
	(void)WEIR__ADD(&store->refs, 1, __ATOMIC_RELAXED);
}

void weir__store_unref(struct weir_store *store)
{
	if (WEIR__SUB(&store->refs, 1, __ATOMIC_ACQ_REL) != 0)
		return;
	weir__table_done(&store->namesakes);
	weir__ledger_done(&store->ledger);
	weir__free(store);
}

int weir__store_ask(struct weir_store *store, struct weir__op *op)
{
	op->done = weir__op_wake;
	op->agent = store->engine->immediate ? NULL : store->agent;
	store->engine->submit(store, op);
	weir__op_wait(op);
	return weir__fail_op(op);
}

int weir__store_draw(struct weir_store *store, uint8_t *ret_token)
{
	uint64_t drawn = WEIR__ADD(&store->drawn, 1, __ATOMIC_RELAXED);
	uint64_t low;

	if (!store->engine->immediate) {
		int error = weir__random(ret_token, WEIR_TOKEN_SIZE);

		return error < 0 ? weir__fail(error, "no random numbers for a token: %s",
					      weir_strerror(error)) :
				   0;
	}
	/* Nobody but this process sees these: to be different is enough. */
	memcpy(ret_token, store->token_base, WEIR_TOKEN_SIZE);
	memcpy(&low, ret_token, sizeof(low));
	low += drawn;
	memcpy(ret_token, &low, sizeof(low));
	return 0;
}
