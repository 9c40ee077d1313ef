/* store/postgres: texts in a URL: the percent signs of a URL. */
#ifndef WEIR_STORE_POSTGRES_WORDS_H
#define WEIR_STORE_POSTGRES_WORDS_H

/* With %XX as the bytes they stand for, for free. 0; -ENOMEM; -EINVAL: a % without two digits, or
 * for the byte that ends a text. */
int weir__pg_decode(const char *text, char **ret_decoded);

#endif
