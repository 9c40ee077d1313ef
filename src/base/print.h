/* base: text for people. */
#ifndef WEIR_BASE_PRINT_H
#define WEIR_BASE_PRINT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Leaves errno alone. */
__attribute__((format(printf, 2, 3))) void weir__print(FILE *stream, const char *format, ...);

/* Whether something could not be printed to it; what is still in its buffer is printed first. */
bool weir__print_failed(FILE *stream);

/* Into an array; what does not fit is cut off. */
__attribute__((format(printf, 3, 4))) void weir__format(char *text, size_t size, const char *format,
							...);

void weir__format_list(char *text, size_t size, const char *format, va_list arguments);

/* The text in memory of its own, for weir__free; NULL when there is none. */
__attribute__((format(printf, 1, 2))) char *weir__format_new(const char *format, ...);

/* Of a number in decimal, the last digit before `end`, where there is room for 20 characters: the
 * first of them. For numbers that are written often; weir__format takes ten times as long. */
char *weir__print_number(char *end, int64_t number);

/* A stream into memory, and its text when it is closed, to be freed with weir__text_free. NULL when
 * there is no memory. */
struct weir__text {
	FILE *stream;
	char *text;
	size_t size;
};
FILE *weir__text_open(struct weir__text *text);
const char *weir__text_close(struct weir__text *text);
void weir__text_free(struct weir__text *text);

#endif
