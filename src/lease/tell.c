/* lease: telling threads that sleep. See agent.h.
 *
 * TOGETHER. A server's replies come in batches. To wake up each asker by a call of its own costs
 * that call, and mostly the processor, too: whoever was woken up runs at once, and the one that
 * tells goes on when that one sleeps again. So threads sleep in a few rooms, each room a word and
 * each place in it a bit of the kernel's wake-up mask, and one call for each room wakes up all whom
 * a batch has answered, and nobody else. Who comes when all places are taken sleeps for itself, at
 * its operation's own word.
 *
 * NEWS. Whoever tells changes the room's word after the operation's, and a sleeper reads them in
 * the other order: so it sees the answer, or the kernel sees that the word has changed, or it is
 * asleep and is woken up.
 */
#include "base/futex.h"
#include "lease/agent_state.h"
#include "lease/op.h"

enum { PLACES = 32, NOWHERE = WEIR__ROOMS * PLACES };

static uint32_t bit_of(uint32_t place)
{
	return UINT32_C(1) << place % PLACES;
}

/* ---- those who sleep ------------------------------------------------------------------------- */

uint32_t weir__agent_lie_down(struct weir__agent *agent)
{
	for (uint32_t room = 0; room < WEIR__ROOMS; room++) {
		uint32_t taken = WEIR__LOAD(&agent->rooms[room].taken, __ATOMIC_RELAXED);

		while (taken != UINT32_MAX) {
			uint32_t place = (uint32_t)__builtin_ctz(~taken);

			if (WEIR__CAS(&agent->rooms[room].taken, &taken, taken | bit_of(place),
				      __ATOMIC_RELAXED))
				return room * PLACES + place;
		}
	}
	return NOWHERE;
}

int weir__agent_sleep(struct weir__agent *agent, const struct weir__op *op, uint32_t place,
		      weir_time deadline)
{
	const uint32_t *word;
	uint32_t news;

	if (place == NOWHERE)
		return weir__futex_wait(&op->progress, WEIR__SLEPT_FOR | place << WEIR__PLACE_SHIFT,
					deadline);
	word = &agent->rooms[place / PLACES].news;
	news = WEIR__LOAD(word, __ATOMIC_ACQUIRE);
	if (weir__op_is_answered(op))
		return 0;
	return weir__futex_wait_bits(word, news, deadline, bit_of(place));
}

void weir__agent_get_up(struct weir__agent *agent, uint32_t place)
{
	if (place != NOWHERE)
		(void)WEIR__SUB(&agent->rooms[place / PLACES].taken, bit_of(place),
				__ATOMIC_RELAXED);
}

/* ---- those who tell -------------------------------------------------------------------------- */

/* The agent for which this thread has the role, and whose sleepers it tells later. */
static WEIR__TLS const struct weir__agent *holding_back;

static void tell_room(struct weir__agent *agent, uint32_t room, uint32_t bits)
{
	(void)WEIR__ADD(&agent->rooms[room].news, 1, __ATOMIC_RELEASE);
	weir__futex_wake_bits(&agent->rooms[room].news, bits);
}

void weir__agent_tell(struct weir__agent *agent, uint32_t place, const uint32_t *progress)
{
	if (place == NOWHERE) {
		weir__futex_wake(progress, 1);
	} else if (holding_back == agent) {
		agent->rooms[place / PLACES].tell |= bit_of(place);
		agent->any_to_tell = true;
	} else {
		tell_room(agent, place / PLACES, bit_of(place));
	}
}

void weir__agent_hold_back(struct weir__agent *agent)
{
	holding_back = agent;
}

void weir__agent_tell_all(struct weir__agent *agent)
{
	holding_back = NULL;
	if (!agent->any_to_tell)
		return;
	agent->any_to_tell = false;
	for (uint32_t room = 0; room < WEIR__ROOMS; room++) {
		uint32_t bits = agent->rooms[room].tell;

		agent->rooms[room].tell = 0;
		if (bits != 0)
			tell_room(agent, room, bits);
	}
}
