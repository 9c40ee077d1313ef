/* store/postgres: texts as others read them. See words.h. */
#include "store/postgres/words.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* -1: it is none. */
static int digit(char letter)
{
	static const char digits[] = "0123456789abcdef0123456789ABCDEF";
	const char *at = letter != '\0' ? strchr(digits, letter) : NULL;

	return at == NULL ? -1 : (int)(at - digits) % 16;
}

int weir__pg_decode(const char *text, char **ret_decoded)
{
	char *decoded = strdup(text);
	char *to = decoded;

	if (decoded == NULL)
		return -ENOMEM;
	for (const char *from = decoded; *from != '\0'; to++) {
		int high = 0, low = 0;

		if (*from != '%') {
			*to = *from++;
			continue;
		}
		high = digit(from[1]);
		low = high < 0 ? -1 : digit(from[2]);
		if (low < 0 || high + low == 0) {
			free(decoded);
			return -EINVAL;
		}
		*to = (char)(unsigned char)(high * 16 + low);
		from += 3;
	}
	*to = '\0';
	*ret_decoded = decoded;
	return 0;
}

void weir__pg_encode(FILE *out, const char *text)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				    "0123456789-._~/:";

	for (; *text != '\0'; text++) {
		if (strchr(plain, *text) != NULL)
			(void)fputc(*text, out);
		else
			(void)fprintf(out, "%%%02X", (unsigned char)*text);
	}
}

void weir__pg_quote_word(FILE *out, const char *text)
{
	(void)fputc('\'', out);
	for (; *text != '\0'; text++) {
		if (*text == '\'')
			(void)fputs("'\\''", out);
		else
			(void)fputc(*text, out);
	}
	(void)fputc('\'', out);
}
