/* base: numbers and durations as people write them. Reads no locale, takes no blanks, and knows
 * every overflow. */
#include "base/parse.h"

#include <errno.h>
#include <string.h>

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static const struct {
	const char *name;
	weir_time length;
} units[] = {
	{ "", WEIR_SECOND },       { "s", WEIR_SECOND },        { "ms", WEIR_MS },
	{ "m", 60 * WEIR_SECOND }, { "h", 3600 * WEIR_SECOND },
};

static weir_time unit_of(const char *name)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (strcmp(units[i].name, name) == 0)
			return units[i].length;
	}
	return 0;
}

int weir__duration_parse(const char *text, weir_time *ret_duration)
{
	const char *whole = text;
	const char *fraction;
	const char *end;
	weir_time duration = 0;
	weir_time part = 0;
	weir_time unit;

	while (is_digit(*text))
		text++;
	fraction = *text == '.' ? text + 1 : text;
	for (end = fraction; *text == '.' && is_digit(*end);)
		end++;
	unit = unit_of(end);
	if (text == whole || unit == 0 || (*text == '.' && end == fraction))
		return -EINVAL;

	for (const char *digit = whole; digit < text; digit++) {
		if (__builtin_mul_overflow(duration, 10, &duration) ||
		    __builtin_add_overflow(duration, *digit - '0', &duration))
			return -ERANGE;
	}
	/* From its last digit on, so that each division loses less than a nanosecond. */
	for (const char *digit = end; digit > fraction;) {
		digit--;
		part = (part + (*digit - '0') * unit) / 10;
	}
	if (__builtin_mul_overflow(duration, unit, &duration) ||
	    __builtin_add_overflow(duration, part, &duration))
		return -ERANGE;
	*ret_duration = duration;
	return 0;
}

int weir__number_parse(const char *text, uint32_t least, uint32_t most, uint32_t *ret_number)
{
	uint64_t number = 0;

	if (*text == '\0')
		return -EINVAL;
	for (; is_digit(*text); text++) {
		number = number * 10 + (uint64_t)(*text - '0');
		if (number > UINT32_MAX)
			number = (uint64_t)UINT32_MAX + 1; /* too many, however many follow */
	}
	if (*text != '\0')
		return -EINVAL;
	if (number < least || number > most)
		return -ERANGE;
	*ret_number = (uint32_t)number;
	return 0;
}
