/* conformance: a tape of random operations, run on the store and on the rule book.
 *
 * Every answer and, after each step, the whole picture is compared: who holds which slot, who waits
 * at which place, fences by their order, the counters. Those who wait are tasks, so that they can
 * be withdrawn at any time. Steps go through one handle or the other.
 *
 * Time. A lease lives long or briefly. The rule book's clock counts the steps, and jumps in those
 * that sleep until all brief ones have expired. If the machine was so slow that a brief one may
 * have expired before, the tape is given up, and the next one is played. That a brief one cannot
 * have expired yet is known only from when the step that granted it began.
 *
 * What is wrong is noted, the tape ends, and the test fails outside of the tasks: cmocka leaves by
 * longjmp, which no scheduler survives. */
#ifndef TESTS_CONFORMANCE_TAPE_H
#define TESTS_CONFORMANCE_TAPE_H

#define LITTLE_CLAIMS 48
#include "conformance/suite.h"
#include "support/little_book.h"
#include "support/stress.h"
#include "support/tasks.h"

enum {
	MOST_LIVE = 10,
	STEPS = 120,
	MODEL_LONG = 10000000,
	MODEL_BRIEF = 1000,
	SILENCE = 100000000
};

struct player {
	bool used, waits;
	uint32_t number; /* names the request and the token in the book */
	char request_id[24];
	struct weir_request request;
	struct weir_store *in;
	struct weir_lease *lease;
	struct weir_lease *again; /* what a retry found: to drop it would be to give it back */
	struct weir_future *task;
	uint8_t token[WEIR_TOKEN_SIZE]; /* in the book */
	uint64_t model_fence;
};

struct tape {
	struct rng rng;
	const char *name;
	struct little_book book;
	weir_time now;         /* the book's */
	weir_time step_began;  /* the real one, as the next two */
	weir_time brief_until; /* by when the first brief one may expire; 0: there is none */
	weir_time brief_gone;  /* by when the last one has */
	bool too_slow;
	bool wrong;
	uint32_t next;
	struct player players[MOST_LIVE];
	struct {
		uint64_t model, real;
	} fences[STEPS];
	size_t n_fences;
	uint64_t seed;
};

/* One of the two handles. */
struct weir_store *tape_either(struct tape *tape);

/* What the book has of it; NULL: nothing any more. */
struct weir__claim *tape_claim_of(struct tape *tape, const struct player *player);
void player_drop(struct player *player);
bool player_is_brief(const struct player *player);

/* Time has run away: a brief one may have expired. */
bool tape_is_late(const struct tape *tape);
bool tape_is_over(const struct tape *tape);

/* What the store said is what the rule book says, unless time has run away. */
void tape_agree_at(struct tape *tape, const char *file, int line, int64_t said, int64_t expected);
#define agree(tape, said, expected) \
	tape_agree_at(tape, __FILE__, __LINE__, (int64_t)(said), (int64_t)(expected))

void tape_compare_grant(struct tape *tape, struct player *player, const struct weir__claim *claim);
/* False: the store has not answered, and its task still has the player. */
bool tape_is_answered(struct tape *tape, struct player *player, int expected);
void tape_deliver(struct tape *tape);
void tape_compare_picture(struct tape *tape);

#endif
