/* cli: values as they are written: times, numbers, signals. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/cli.h"

/* Digits, perhaps a point and more digits, perhaps a unit. No sign, no exponent, no blanks. The
 * sum is kept in nanoseconds of the unit, so 0.1 is exactly what it says. */
int parse_duration(const char *text, weir_time *ret_time)
{
	static const struct {
		const char *unit;
		weir_time size;
	} units[] = {
		{ "", WEIR_SECOND },
		{ "s", WEIR_SECOND },
		{ "ms", WEIR_MS },
		{ "us", WEIR_US },
		{ "m", 60 * WEIR_SECOND },
		{ "h", 3600 * WEIR_SECOND },
		{ "d", 86400 * WEIR_SECOND },
	};
	size_t whole = strspn(text, "0123456789");
	size_t places = text[whole] == '.' ? strspn(text + whole + 1, "0123456789") : 0;
	const char *unit = text + whole + (text[whole] == '.' ? 1 + places : 0);
	weir_time size = 0;
	weir_time sum = 0;
	weir_time part;

	if (whole + places == 0)
		return -EINVAL;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(unit, units[i].unit) == 0)
			size = units[i].size;
	}
	if (size == 0)
		return -EINVAL;
	for (size_t i = 0; i < whole; i++) {
		if (__builtin_mul_overflow(sum, 10, &sum) ||
		    __builtin_add_overflow(sum, text[i] - '0', &sum))
			return -EINVAL;
	}
	if (__builtin_mul_overflow(sum, size, &sum))
		return -EINVAL;
	part = size;
	for (size_t i = 0; i < places && part > 0; i++) {
		part /= 10;
		if (__builtin_add_overflow(sum, (text[whole + 1 + i] - '0') * part, &sum))
			return -EINVAL;
	}
	*ret_time = sum;
	return 0;
}

int parse_number(const char *text, uint32_t least, uint32_t most, uint32_t *ret_number)
{
	uint64_t number = 0;

	if (!*text)
		return -EINVAL;
	for (const char *digit = text; *digit; digit++) {
		if (*digit < '0' || *digit > '9')
			return -EINVAL;
		number = number * 10 + (uint64_t)(*digit - '0');
		if (number > most)
			return -EINVAL;
	}
	if (number < least)
		return -EINVAL;
	*ret_number = (uint32_t)number;
	return 0;
}

int parse_signal(const char *text, int *ret_signal)
{
	uint32_t number;

	if (parse_number(text, 1, (uint32_t)SIGRTMAX, &number) == 0) {
		*ret_signal = (int)number;
		return 0;
	}
	if (strncasecmp(text, "SIG", 3) == 0)
		text += 3;
	for (int i = 1; i < SIGRTMIN; i++) {
		const char *name = sigabbrev_np(i);

		if (name && strcasecmp(name, text) == 0) {
			*ret_signal = i;
			return 0;
		}
	}
	return -EINVAL;
}

struct short_time time_text(weir_time time)
{
	struct short_time result = { "" };
	long long seconds = time / WEIR_SECOND;
	char *text = result.text;
	size_t size = sizeof(result.text);

	if (time < 0)
		time = 0;
	if (time < WEIR_MS)
		snprintf(text, size, "%lldus", (long long)(time / WEIR_US));
	else if (seconds < 1)
		snprintf(text, size, "%lldms", (long long)(time / WEIR_MS));
	else if (seconds < 60)
		snprintf(text, size, "%llds", seconds);
	else if (seconds < 3600)
		snprintf(text, size, "%lldm%02llds", seconds / 60, seconds % 60);
	else if (seconds < 100 * 3600)
		snprintf(text, size, "%lldh%02lldm", seconds / 3600, seconds / 60 % 60);
	else
		snprintf(text, size, "%lldd", seconds / 86400);
	return result;
}

void token_print(const uint8_t token[WEIR_TOKEN_SIZE], char text[TOKEN_TEXT + 1])
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < WEIR_TOKEN_SIZE; i++) {
		text[2 * i] = digits[token[i] >> 4];
		text[2 * i + 1] = digits[token[i] & 15];
	}
	text[TOKEN_TEXT] = '\0';
}

static int digit_value(char digit)
{
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	if (digit >= 'a' && digit <= 'f')
		return digit - 'a' + 10;
	return -1;
}

bool token_parse(const char *text, uint8_t token[WEIR_TOKEN_SIZE])
{
	if (strlen(text) != TOKEN_TEXT)
		return false;
	for (size_t i = 0; i < WEIR_TOKEN_SIZE; i++) {
		int high = digit_value(text[2 * i]);
		int low = digit_value(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		token[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}
