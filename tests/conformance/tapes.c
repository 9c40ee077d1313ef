/* conformance: the steps of tapes, and playing them. See tape.h. */
#include "conformance/tape.h"

#include <stdlib.h>

/* ---- steps --------------------------------------------------------------------------------------
 */

TASK(ask)
{
	struct player *player = arg;

	return weir_acquire(player->in, &player->request, &player->lease);
}

static void note_brief(struct tape *tape, weir_time asked)
{
	if (tape->brief_until == 0)
		tape->brief_until = asked + BRIEF;
	tape->brief_gone = weir_now() + BRIEF;
}

static struct player *new_player(struct tape *tape)
{
	for (size_t i = 0; i < MOST_LIVE; i++) {
		struct player *player = &tape->players[i];

		if (player->used)
			continue;
		player->used = true;
		player->number = ++tape->next;
		player->in = tape_either(tape);
		(void)snprintf(player->request_id, sizeof(player->request_id), "r%u",
			       player->number);
		memcpy(player->token, &player->number, sizeof(player->number));
		player->request = (struct weir_request){
			.name = tape->name,
			.request_id = player->request_id,
			.weight = 1 + rng_below(&tape->rng, 3),
			.ttl = rng_one_in(&tape->rng, 3) ? BRIEF : LONG,
		};
		return player;
	}
	return NULL;
}

/* In the queue, or answered. */
static void until_asked(struct tape *tape, struct player *player)
{
	struct seen seen;

	while (!weir_future_done(player->task)) {
		(void)weir_sleep(100 * WEIR_US);
		look(store, tape->name, &seen);
		for (uint32_t i = 0; i < seen.n_waiters; i++)
			if (strcmp(seen.waiters[i].request_id, player->request_id) == 0)
				return;
	}
}

static void request(struct tape *tape)
{
	struct player *player = new_player(tape);
	struct weir__claim *claim = little_room(&tape->book), *got = NULL;
	weir_time asked = weir_now();
	bool wait = !rng_one_in(&tape->rng, 3);
	int expected;

	if (player == NULL || claim == NULL) {
		if (player != NULL)
			player_drop(player);
		return;
	}
	claim->weight = player->request.weight;
	claim->ttl = player_is_brief(player) ? MODEL_BRIEF : MODEL_LONG;
	claim->request_id = player->request_id;
	memcpy(claim->token, player->token, WEIR_TOKEN_SIZE);
	expected = weir__rules_request(&tape->book.rec, tape->now, claim, wait, SILENCE, &got);
	player->request.deadline = wait ? WEIR_NEVER : 0;
	player->task = spawn(ask, player);
	if (expected == 1) {
		player->waits = true;
		until_asked(tape, player);
		agree(tape, weir_future_done(player->task), false);
	} else if (tape_is_answered(tape, player, expected)) {
		if (expected == 0)
			tape_compare_grant(tape, player, got);
		else
			player_drop(player);
	}
	if (expected == 0 && player_is_brief(player))
		note_brief(tape, asked);
}

static void withdraw(struct tape *tape, struct player *player)
{
	struct weir__claim *got;

	agree(tape, weir__rules_withdraw(&tape->book.rec, tape->now, player->token, false, &got),
	      0);
	(void)weir_cancel(player->task);
	agree(tape, weir_wait(player->task, WEIR_NEVER, NULL), -ECANCELED);
	player_drop(player);
}

static void renew(struct tape *tape, struct player *player)
{
	struct weir__claim *got;
	int expected = weir__rules_renew(&tape->book.rec, tape->now, player->token,
					 player_is_brief(player) ? MODEL_BRIEF : MODEL_LONG, &got);

	agree(tape, weir_renew(player->lease, 0), expected);
	if (player_is_brief(player))
		note_brief(tape, tape->brief_until - BRIEF); /* the earliest is as early as ever */
}

static void release(struct tape *tape, struct player *player)
{
	int expected = weir__rules_release(&tape->book.rec, tape->now, player->token);

	agree(tape, weir_release(player->lease), expected);
	if (rng_one_in(&tape->rng, 2))
		agree(tape, weir_release(player->lease), -ESTALE);
	player_drop(player);
}

static void evict(struct tape *tape, struct player *player)
{
	struct weir_lease_info info = info_of(player->lease);
	int expected = weir__rules_evict(&tape->book.rec, tape->now, player->token);

	agree(tape, weir_evict(tape_either(tape), tape->name, info.token), expected);
	while (weir_lease_held(player->lease))
		(void)weir_sleep(100 * WEIR_US);
	player_drop(player);
}

/* The same request id again, from anywhere, finds the lease or, as a try, nothing. */
static void retry(struct tape *tape, struct player *player)
{
	struct weir_request again = player->request;
	struct weir__claim claim = { .weight = player->request.weight,
				     .ttl = MODEL_LONG,
				     .request_id = player->request_id };
	struct weir__claim *got = NULL;
	struct weir_lease *found = NULL;
	int expected;

	if (player->again != NULL || tape_claim_of(tape, player) == NULL ||
	    (!player->waits && tape_claim_of(tape, player)->expires <= tape->now))
		return; /* it would be a new request, by nobody */
	again.deadline = 0;
	expected = weir__rules_request(&tape->book.rec, tape->now, &claim, false, SILENCE, &got);
	agree(tape, weir_acquire(tape_either(tape), &again, &found), expected);
	if (found == NULL)
		return;
	player->again = found;
	if (player->lease == NULL)
		return; /* granted too late for the book */
	agree(tape, memcmp(info_of(found).token, info_of(player->lease).token, WEIR_TOKEN_SIZE), 0);
	agree(tape, info_of(found).fence, info_of(player->lease).fence);
}

static void resize(struct tape *tape, uint32_t limit)
{
	agree(tape, weir__rules_resize(&tape->book.rec, tape->now, limit), 0);
	agree(tape, weir_set_limit(tape_either(tape), tape->name, limit), 0);
}

/* How many brief ones are held, and when the last of them expires in the book. */
static uint32_t brief_ones(const struct tape *tape, weir_time *ret_last)
{
	uint32_t count = 0;

	*ret_last = 0;
	for (size_t i = 0; i < LITTLE_CLAIMS; i++) {
		const struct weir__claim *claim = &tape->book.claims[i];

		if (claim->state != WEIR__HOLDING || claim->ttl != MODEL_BRIEF)
			continue;
		count++;
		if (claim->expires > *ret_last)
			*ret_last = claim->expires;
	}
	return count;
}

/* Whoever was granted with a brief life, since a time at the earliest. */
static void note_grants(struct tape *tape, weir_time since)
{
	for (uint32_t i = 0; i < tape->book.n_told; i++) {
		const struct little_told *told = &tape->book.told[i];
		const struct weir__claim *claim = little_by_token(&tape->book.rec, told->token);

		if (told->event == WEIR__GRANTED && claim != NULL && claim->ttl == MODEL_BRIEF)
			note_brief(tape, since);
	}
}

/* Several may expire in one step of the store or one after the other, as its agent has time, and
 * whoever is granted then has one slot or another. So where there are several the semaphore is
 * paused meanwhile, and all are granted in one step. Likewise where it is not known well when the
 * one was granted, for then it is not known how long the next one has. */
static void expire(struct tape *tape)
{
	weir_time first = tape->brief_until, last;
	uint32_t limit = tape->book.rec.limit, count = brief_ones(tape, &last);
	bool pause = limit != 0 && (count > 1 || tape->brief_gone - first > BRIEF / 4);
	struct weir__claim *claim;

	if (first == 0)
		return;
	if (pause)
		resize(tape, 0);
	tape->too_slow = tape->too_slow || tape_is_late(tape);
	if (tape_is_over(tape))
		return;
	(void)weir_sleep_until(tape->brief_gone + 20 * WEIR_MS);
	while ((claim = little_first_to_expire(&tape->book.rec)) != NULL &&
	       claim->expires <= last) {
		tape->now = claim->expires;
		(void)weir__rules_expire(&tape->book.rec, tape->now, UINT32_MAX);
	}
	tape->brief_until = 0;
	if (pause) {
		first = weir_now();
		resize(tape, limit);
	}
	note_grants(tape, first);
}

static void step(struct tape *tape)
{
	struct player *player = &tape->players[rng_below(&tape->rng, MOST_LIVE)];
	uint32_t what = rng_below(&tape->rng, 16);

	tape->now++;
	tape->step_began = weir_now();
	if (rng_one_in(&tape->rng, 40)) {
		expire(tape);
	} else if (rng_one_in(&tape->rng, 12)) {
		resize(tape, rng_below(&tape->rng, 6));
	} else if (!player->used) {
		request(tape);
	} else if (what < 4) {
		retry(tape, player);
	} else if (player->waits) {
		if (what < 8)
			withdraw(tape, player);
	} else if (what < 7) {
		renew(tape, player);
	} else if (what < 9) {
		evict(tape, player);
	} else if (what < 13) {
		release(tape, player);
	}
}

static void clear(struct tape *tape)
{
	(void)weir__rules_resize(&tape->book.rec, tape->now, 10000);
	(void)weir_set_limit(store, tape->name, 10000);
	for (size_t i = 0; i < MOST_LIVE; i++) {
		struct player *player = &tape->players[i];

		if (!player->used)
			continue;
		if (player->task != NULL)
			(void)weir_wait(player->task, WEIR_NEVER, NULL);
		if (player->lease != NULL)
			(void)weir_release(player->lease);
		player_drop(player);
	}
	weir__slots_done(&tape->book.rec.slots);
}

TASK(play)
{
	struct tape *tape = arg;

	agree(tape, weir_ensure(store, tape->name, 3), 1);
	agree(tape, weir__rules_resize(&tape->book.rec, tape->now, 3), 0);
	for (int i = 0; i < STEPS && !tape_is_over(tape); i++) {
		step(tape);
		if (tape->brief_until != 0 && weir_now() > tape->brief_until - BRIEF / 2) {
			/* Before they expire, let them; if it is too late for that, give up. */
			if (tape_is_late(tape)) {
				tape->too_slow = true;
				break;
			}
			note_grants(tape, tape->step_began);
			tape_deliver(tape);
			expire(tape);
		}
		note_grants(tape, tape->step_began);
		tape_deliver(tape);
		tape_compare_picture(tape);
	}
	clear(tape);
	return 0;
}

static int seeds = 12;

TEST(tapes_agree_with_the_rule_book_L1_L2_L3_L4_L7_L8_L9)
{
	int played = 0, given_up = 0;
	bool wrong = false;

	for (uint64_t seed = first_tape; !wrong && played < seeds && given_up < 4 * seeds; seed++) {
		struct tape *tape = calloc(1, sizeof(*tape));

		assert_non_null(tape);
		tape->rng.state = tape->seed = seed;
		tape->name = fresh_name();
		little_init(&tape->book);
		run_deep(WEIR_CLOCK_REAL, TASK_STACK, play, tape);
		given_up += tape->too_slow;
		played += !tape->too_slow;
		wrong = tape->wrong;
		free(tape);
	}
	(void)printf("%d tapes of %d steps, %d given up because the machine was slow\n", played,
		     STEPS, given_up);
	assert_false(wrong);
	if (played == 0)
		skip(); /* brief ones have no chance here now */
}

static const struct CMUnitTest tests[] = {
	CONFORMANCE(tapes_agree_with_the_rule_book_L1_L2_L3_L4_L7_L8_L9),
};
GROUP(tapes, tests);
