/* base: the words of a signal handler. */
#include "base/fault.h"
#include "base/place.h"

#include <errno.h>
#include <unistd.h>

static void add(struct weir__cry *cry, char c)
{
	if (cry->length < sizeof(cry->text))
		cry->text[cry->length++] = c;
}

void weir__cry_text(struct weir__cry *cry, const char *text)
{
	while (*text)
		add(cry, *text++);
}

static void add_digits(struct weir__cry *cry, uint64_t number, unsigned base)
{
	char digits[24];
	size_t count = 0;

	do {
		digits[count++] = "0123456789abcdef"[number % base];
		number /= base;
	} while (number > 0);
	while (count > 0)
		add(cry, digits[--count]);
}

void weir__cry_number(struct weir__cry *cry, uint64_t number)
{
	add_digits(cry, number, 10);
}

void weir__cry_place(struct weir__cry *cry, const void *place)
{
	const char *file;
	uintptr_t offset = weir__place_in_file(place, &file);

	if (file) {
		weir__cry_text(cry, file);
		weir__cry_text(cry, "+");
	}
	weir__cry_text(cry, "0x");
	add_digits(cry, offset, 16);
}

void weir__cry_out(const struct weir__cry *cry)
{
	int saved = errno;
	size_t written = 0;

	while (written < cry->length) {
		ssize_t count = write(STDERR_FILENO, cry->text + written, cry->length - written);

		if (count > 0)
			written += (size_t)count;
		else if (count == 0 || errno != EINTR)
			break;
	}
	errno = saved;
}
