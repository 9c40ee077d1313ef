/* sem: telling waiters. Uses nothing of the semaphore.
 *
 * A parked waiter is unparked on the spot. The functions of async waiters are called one after the
 * other from a single loop at the bottom of the thread's stack: one that releases permits, and so
 * ends another wait, only leaves a note for that loop. A chain of a million hand-offs needs no more
 * stack than one.
 */
#include "sem/batch.h"

/* Nodes that this thread has still to tell, the newest first, and whether the loop runs. A signal
 * handler that releases may come between any two steps here, hence the atomic ones. */
static WEIR__TLS struct {
	struct weir_waiter *notes;
	bool running;
} telling;

static void leave_note(struct weir_waiter *waiter)
{
	struct weir_waiter *newest = WEIR__PEEK(&telling.notes);

	do {
		waiter->next = newest;
	} while (!__atomic_compare_exchange_n(&telling.notes, &newest, waiter, false,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

/* All notes, the oldest first. */
static struct weir_waiter *take_notes(void)
{
	struct weir_waiter *note = __atomic_exchange_n(&telling.notes, NULL, __ATOMIC_RELAXED);
	struct weir_waiter *oldest = NULL;

	while (note) {
		struct weir_waiter *next = note->next;

		note->next = oldest;
		oldest = note;
		note = next;
	}
	return oldest;
}

static void tell(struct weir_waiter *waiter)
{
	weir_wake_fn *wake = waiter->wake;
	int result = waiter->result;

	WEIR__STORE(&waiter->state, WAITER_DONE, __ATOMIC_RELEASE);
	wake(waiter, result);
}

static void tell_noted(void)
{
	if (WEIR__PEEK(&telling.running))
		return;

	/* Looked at once more after `running` is off: a handler may have left a note just before.
	 */
	while (WEIR__PEEK(&telling.notes)) {
		struct weir_waiter *note;

		WEIR__POKE(&telling.running, true);
		while ((note = take_notes()) != NULL) {
			while (note) {
				struct weir_waiter *next = note->next;

				tell(note);
				note = next;
			}
		}
		WEIR__POKE(&telling.running, false);
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
	}
}

bool weir__batch_tell(struct weir__batch batch, const struct weir_waiter *own)
{
	struct weir_waiter *waiter = batch.first;
	bool own_seen = false;
	bool noted = false;

	while (waiter) {
		/* Read before it is told: afterwards the node may be gone. */
		struct weir_waiter *next = waiter == batch.last ? NULL : waiter->next;

		if (waiter == own) {
			own_seen = true;
		} else if (!waiter->wake) {
			(void)weir__unpark(&((struct weir__parked *)(void *)waiter)->parking);
		} else {
			leave_note(waiter);
			noted = true;
		}
		waiter = next;
	}
	if (noted)
		tell_noted();
	return own_seen;
}
