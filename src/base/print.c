/* base: stdio. Nothing is printed but where a caller asked for it. */
#include "base/print.h"

#include "base/alloc.h"

#include <errno.h>
#include <stdlib.h>

void weir__print(FILE *stream, const char *format, ...)
{
	int its_errno = errno;
	va_list arguments;

	va_start(arguments, format);
	(void)vfprintf(stream, format, arguments);
	va_end(arguments);
	errno = its_errno;
}

bool weir__print_failed(FILE *stream)
{
	int its_errno = errno;
	bool failed = fflush(stream) != 0 || ferror(stream) != 0;

	errno = its_errno;
	return failed;
}

void weir__format(char *text, size_t size, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(text, size, format, arguments);
	va_end(arguments);
}

void weir__format_list(char *text, size_t size, const char *format, va_list arguments)
{
	(void)vsnprintf(text, size, format, arguments);
}

char *weir__format_new(const char *format, ...)
{
	va_list arguments;
	char *text;
	int length;

	va_start(arguments, format);
	length = vsnprintf(NULL, 0, format, arguments);
	va_end(arguments);
	text = length >= 0 ? weir__alloc((size_t)length + 1) : NULL;
	if (text) {
		va_start(arguments, format);
		(void)vsnprintf(text, (size_t)length + 1, format, arguments);
		va_end(arguments);
	}
	return text;
}

char *weir__print_number(char *end, int64_t number)
{
	uint64_t left = number < 0 ? -(uint64_t)number : (uint64_t)number;

	do {
		*--end = (char)('0' + left % 10);
		left /= 10;
	} while (left != 0);
	if (number < 0)
		*--end = '-';
	return end;
}

FILE *weir__text_open(struct weir__text *text)
{
	*text = (struct weir__text){ 0 };
	text->stream = open_memstream(&text->text, &text->size);
	return text->stream;
}

const char *weir__text_close(struct weir__text *text)
{
	return fclose(text->stream) == 0 ? text->text : NULL;
}

void weir__text_free(struct weir__text *text)
{
	free(text->text);
}
