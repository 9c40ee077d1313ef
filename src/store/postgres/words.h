/* store/postgres: texts as others read them: the percent signs of a URL, the quotes of a shell. */
#ifndef WEIR_STORE_POSTGRES_WORDS_H
#define WEIR_STORE_POSTGRES_WORDS_H

#include <stdio.h>

/* With each %XX as the byte it stands for, for free. 0; -ENOMEM; -EINVAL: a % without two digits,
 * or for the byte that ends a text. */
int weir__pg_decode(const char *text, char **ret_decoded);

/* The other way round; what is written may be in a shell's single quotes. */
void weir__pg_encode(FILE *out, const char *text);

/* As one word of a shell. */
void weir__pg_quote_word(FILE *out, const char *text);

#endif
