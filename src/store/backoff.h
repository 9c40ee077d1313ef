/* store: how often a server is tried that cannot be reached, and how long to wait between.
 *
 * Pauses grow by a factor from `min` to `max`. Each is drawn between one half and the whole of
 * that, so that clients who were cut off together do not come back together. */
#ifndef WEIR_STORE_BACKOFF_H
#define WEIR_STORE_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

#include <weir/base.h>

struct weir__backoff {
	uint32_t attempts;
	uint32_t multiplier;
	weir_time min, max;
};

void weir__backoff_init(struct weir__backoff *backoff);

/* Takes one of the options attempts, multiplier, min_delay, max_delay of a store's URL. Whether it
 * is one; if so, what its value must be in *ret_why, or NULL: it is. */
bool weir__backoff_set(struct weir__backoff *backoff, const char *name, const char *value,
		       const char **ret_why);

/* A time of such an option, or of one like it. What it must be, or NULL: it is. */
const char *weir__backoff_set_time(weir_time *time, const char *value);

/* How long to wait after so many failures in a row, one at least. */
weir_time weir__backoff_delay(const struct weir__backoff *backoff, uint32_t failed);

#endif
