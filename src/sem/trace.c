/* sem: who holds the permits. A slot: who in the upper 35 bits, permits in the lower 29; 0: free.
 */
#include "sem/trace.h"

_Static_assert(WEIR_SEM_HOLDERS <= WEIR__HOLDINGS, "a report has room for all");

enum { PERMIT_BITS = 29 };

static uint64_t slot_who(uint64_t slot)
{
	return slot >> PERMIT_BITS;
}

static uint32_t slot_permits(uint64_t slot)
{
	return (uint32_t)slot & WEIR_SEM_MAX;
}

static uint64_t permits_recorded(const uint64_t *slots)
{
	uint64_t sum = 0;

	for (int i = 0; i < WEIR_SEM_HOLDERS; i++)
		sum += slot_permits(WEIR__LOAD(&slots[i], __ATOMIC_RELAXED));
	return sum;
}

/* Adds n permits to a slot of `owner`: 0 for a free one. Whether there was one. */
static bool add(uint64_t *slots, uint64_t owner, uint64_t who, uint32_t n)
{
	for (int i = 0; i < WEIR_SEM_HOLDERS; i++) {
		uint64_t slot = WEIR__LOAD(&slots[i], __ATOMIC_RELAXED);

		while (slot_who(slot) == owner && slot_permits(slot) <= WEIR_SEM_MAX - n) {
			uint64_t next = who << PERMIT_BITS | (slot_permits(slot) + n);

			if (WEIR__CAS(&slots[i], &slot, next, __ATOMIC_RELAXED))
				return true;
		}
	}
	return false;
}

/* Strikes out up to n permits of `owner`, or of anybody if it is 0; how many. */
static uint32_t strike(uint64_t *slots, uint64_t owner, uint32_t n)
{
	uint32_t struck = 0;

	for (int i = 0; i < WEIR_SEM_HOLDERS && struck < n; i++) {
		uint64_t slot = WEIR__LOAD(&slots[i], __ATOMIC_RELAXED);

		while (slot != 0 && (owner == 0 || slot_who(slot) == owner)) {
			uint32_t permits = slot_permits(slot);
			uint32_t less = permits < n - struck ? permits : n - struck;

			if (WEIR__CAS(&slots[i], &slot, permits > less ? slot - less : 0,
				      __ATOMIC_RELAXED)) {
				struck += less;
				break;
			}
		}
	}
	return struck;
}

void weir__trace_take(uint64_t *slots, uint32_t n)
{
	uint64_t who = weir__park_who();

	if (!add(slots, who, who, n))
		(void)add(slots, 0, who, n);
}

void weir__trace_give(uint64_t *slots, uint32_t n, uint64_t held)
{
	uint32_t struck = strike(slots, weir__park_who(), n);
	uint64_t left = held > n ? held - n : 0;
	uint64_t recorded = permits_recorded(slots);

	/* The caller gives back what another has taken. That may be one who is not recorded, so a
	 * name is struck out only if there would be more of them than permits. */
	if (struck < n && recorded > left)
		(void)strike(slots, 0,
			     recorded - left < n - struck ? (uint32_t)(recorded - left) :
							    n - struck);
}

int weir__trace_holders(const void *object, struct weir__holding *ret, uint32_t *unknown)
{
	const struct weir_sem *sem = object;
	const uint64_t *slots = slots_of((struct weir_sem *)(uintptr_t)sem,
					 WEIR__PEEK(&sem->setup));
	uint64_t held = word_held(WEIR__LOAD(&sem->word, __ATOMIC_RELAXED));
	uint64_t recorded = 0;
	int count = 0;

	if (!slots)
		return -1;
	for (int i = 0; i < WEIR_SEM_HOLDERS; i++) {
		uint64_t slot = WEIR__LOAD(&slots[i], __ATOMIC_RELAXED);

		if (slot == 0)
			continue;
		ret[count].who = slot_who(slot);
		ret[count].permits = slot_permits(slot);
		recorded += ret[count++].permits;
	}
	*unknown = held > recorded ? (uint32_t)(held - recorded) : 0;
	return count;
}
