/* store: pauses between attempts. See backoff.h. */
#include "store/backoff.h"

#include <stddef.h>
#include <string.h>

#include "base/parse.h"
#include "base/random.h"

void weir__backoff_init(struct weir__backoff *backoff)
{
	*backoff = (struct weir__backoff){
		.attempts = 5, .multiplier = 2, .min = 100 * WEIR_MS, .max = 5 * WEIR_SECOND
	};
}

const char *weir__backoff_set_time(weir_time *time, const char *value)
{
	return weir__duration_parse(value, time) == 0 && *time >= WEIR_MS &&
			       *time <= 3600 * WEIR_SECOND ?
		       NULL :
		       "must be a duration from 1ms to 1h";
}

static const char *set_number(uint32_t *number, const char *value)
{
	return weir__number_parse(value, 1, 1000, number) == 0 ? NULL :
								 "must be a number from 1 to 1000";
}

bool weir__backoff_set(struct weir__backoff *backoff, const char *name, const char *value,
		       const char **ret_why)
{
	if (strcmp(name, "min_delay") == 0)
		*ret_why = weir__backoff_set_time(&backoff->min, value);
	else if (strcmp(name, "max_delay") == 0)
		*ret_why = weir__backoff_set_time(&backoff->max, value);
	else if (strcmp(name, "attempts") == 0)
		*ret_why = set_number(&backoff->attempts, value);
	else if (strcmp(name, "multiplier") == 0)
		*ret_why = set_number(&backoff->multiplier, value);
	else
		return false;
	return true;
}

weir_time weir__backoff_delay(const struct weir__backoff *backoff, uint32_t failed)
{
	weir_time most = backoff->max > backoff->min ? backoff->max : backoff->min;
	weir_time time = backoff->min;
	uint16_t random = 0;

	for (uint32_t i = 1; i < failed && time < most; i++)
		time *= backoff->multiplier;
	if (time > most)
		time = most;
	(void)weir__random(&random, sizeof(random)); /* without, it does without */
	return time / 2 + time / 2 / UINT16_MAX * random;
}
