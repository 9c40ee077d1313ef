/* chaos: a history that many processes write, in memory that they share, so that it survives them.
 *
 * Whoever is killed in the middle of a call leaves it with an unknown outcome. */
#ifndef TESTS_CHAOS_RECORDER_H
#define TESTS_CHAOS_RECORDER_H

#include "chaos/history.h"

#include <weir/lease.h>

struct recorder {
	size_t n, room;
	struct history_op ops[];
};

/* Shared by this process and all that it forks later. Ends the program on failure. */
struct recorder *recorder_new(size_t room);
void recorder_free(struct recorder *recorder);

/* A call is about to be made; NULL when there is no more room. */
struct history_op *recorder_begin(struct recorder *recorder, enum history_kind kind, uint32_t name,
				  uint32_t client);

/* It has returned. */
void recorder_end(struct history_op *op, int result);

/* The first 63 bits of a token. */
uint64_t recorder_token(const uint8_t token[WEIR_TOKEN_SIZE]);

/* What has been written, to be freed: history->ops. */
void recorder_history(const struct recorder *recorder, struct history *history);

/* Checks and prints, if it has a name; keeps the history in a file if it is wrong. `excused` has a
 * bit for each check that may find something. Returns whether it was right. ret_tries: how many
 * tries could be judged; or NULL. */
bool recorder_check(const char *what, const struct history *history, unsigned excused,
		    size_t *ret_tries);

#endif
