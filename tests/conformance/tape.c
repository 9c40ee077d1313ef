/* conformance: a tape, and whether the store and the rule book agree. See tape.h. */
#include "conformance/tape.h"

struct weir_store *tape_either(struct tape *tape)
{
	return rng_one_in(&tape->rng, 2) ? store : other;
}

struct weir__claim *tape_claim_of(struct tape *tape, const struct player *player)
{
	return little_by_token(&tape->book.rec, player->token);
}

void player_drop(struct player *player)
{
	weir_lease_unref(player->lease);
	weir_lease_unref(player->again);
	weir_future_unref(player->task);
	*player = (struct player){ 0 };
}

bool player_is_brief(const struct player *player)
{
	return player->request.ttl == BRIEF;
}

bool tape_is_late(const struct tape *tape)
{
	return tape->brief_until != 0 && weir_now() > tape->brief_until - 5 * WEIR_MS;
}

bool tape_is_over(const struct tape *tape)
{
	return tape->too_slow || tape->wrong;
}

void tape_agree_at(struct tape *tape, const char *file, int line, int64_t said, int64_t expected)
{
	if (said == expected || tape_is_over(tape))
		return;
	if (tape_is_late(tape)) {
		tape->too_slow = true;
		return;
	}
	(void)fprintf(stderr, "%s:%d: %lld, not %lld, in tape %llu\n", file, line, (long long)said,
		      (long long)expected, (unsigned long long)tape->seed);
	tape->wrong = true;
}

/* ---- grants -------------------------------------------------------------------------------------
 */

void tape_compare_grant(struct tape *tape, struct player *player, const struct weir__claim *claim)
{
	struct weir_lease_info info;

	if (tape_is_over(tape) || player->lease == NULL)
		return;
	info = info_of(player->lease);
	agree(tape, info.slot, claim->slot);
	agree(tape, info.weight, claim->weight);
	agree(tape, strcmp(info.request_id, player->request_id), 0);
	for (size_t i = 0; i < tape->n_fences; i++)
		agree(tape, tape->fences[i].model < claim->fence,
		      tape->fences[i].real < info.fence);
	tape->fences[tape->n_fences].model = claim->fence;
	tape->fences[tape->n_fences++].real = info.fence;
	player->waits = false;
	player->model_fence = claim->fence;
	/* Where somebody expired first, the grant may have come a good while after the step. */
	if (player_is_brief(player))
		tape->brief_gone = weir_now() + BRIEF;
}

/* What the store says to a request that the rule book has answered. One that is not answered is
 * left alone, for its task still writes into the player. */
bool tape_is_answered(struct tape *tape, struct player *player, int expected)
{
	weir_time patience = weir_after(60 * WEIR_SECOND);

	while (!weir_future_done(player->task) && weir_now() < patience && !tape_is_late(tape))
		(void)weir_wait(player->task, weir_after(50 * WEIR_MS), NULL);
	agree(tape, weir_future_done(player->task), true);
	if (!weir_future_done(player->task))
		return false;
	agree(tape, weir_wait(player->task, WEIR_NEVER, NULL), expected);
	return true;
}

/* What the last step did to those who wait: the store must have told them the same. */
void tape_deliver(struct tape *tape)
{
	for (size_t i = 0; i < MOST_LIVE; i++) {
		struct player *player = &tape->players[i];
		struct weir__claim *claim;

		if (!player->used || !player->waits)
			continue;
		claim = tape_claim_of(tape, player);
		if (claim != NULL && claim->state == WEIR__WAITING)
			continue;
		if (!tape_is_answered(tape, player, claim != NULL ? 0 : -E2BIG))
			continue;
		if (claim != NULL)
			tape_compare_grant(tape, player, claim);
		else
			player_drop(player);
	}
	little_forget(&tape->book);
}

/* ---- the picture --------------------------------------------------------------------------------
 */

static const struct player *by_request_id(const struct tape *tape, const char *request_id)
{
	for (size_t i = 0; i < MOST_LIVE; i++)
		if (tape->players[i].used && strcmp(tape->players[i].request_id, request_id) == 0)
			return &tape->players[i];
	return NULL;
}

void tape_compare_picture(struct tape *tape)
{
	struct weir__rec *rec = &tape->book.rec;
	struct seen seen;
	uint32_t position = 0;

	look(tape_either(tape), tape->name, &seen);
	agree(tape, seen.found, true);
	agree(tape, seen.info.limit, rec->limit);
	agree(tape, seen.info.held, rec->held);
	agree(tape, seen.n_holders, rec->holders);
	agree(tape, seen.n_waiters, rec->waiting);
	agree(tape, seen.info.granted_at_once, rec->counters.at_once);
	agree(tape, seen.info.granted_after_wait, rec->counters.after_wait);
	agree(tape, seen.info.refused, rec->counters.refused);
	agree(tape, seen.info.expired, rec->counters.expired);
	for (struct weir__claim *claim = little_head(rec); claim != NULL;
	     claim = little_after(rec, claim), position++) {
		agree(tape, strcmp(seen.waiters[position].request_id, claim->request_id), 0);
		agree(tape, seen.waiters[position].position, position + 1);
		agree(tape, seen.waiters[position].weight, claim->weight);
	}
	for (uint32_t i = 0; i < seen.n_holders; i++) {
		const struct player *player = by_request_id(tape, seen.holders[i].request_id);
		const struct weir__claim *claim = player != NULL ? tape_claim_of(tape, player) :
								   NULL;

		agree(tape, claim != NULL, true);
		if (claim == NULL)
			return;
		agree(tape, claim->state, WEIR__HOLDING);
		agree(tape, seen.holders[i].slot, claim->slot);
		agree(tape, i == 0 || seen.holders[i].slot > seen.holders[i - 1].slot, true);
	}
}
