/* cli: tables for people. */
#include "cli/table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define CUT "..."

enum { LEAST = 16 }; /* characters to which a column may be cut */

bool wants_colour(FILE *stream)
{
	const char *no = getenv("NO_COLOR");
	const char *terminal = getenv("TERM");

	return isatty(fileno(stream)) && !(no && *no) && terminal && strcmp(terminal, "dumb") != 0;
}

void table_add(struct table *table, const char *format, ...)
{
	va_list args;
	char *text;
	int length;

	if (table->n_cells == table->room) {
		size_t room = table->room ? 2 * table->room : 64;
		char **cells = reallocarray(table->cells, room, sizeof(*cells));

		if (!cells) {
			table->failed = true;
			return;
		}
		table->cells = cells;
		table->room = room;
	}
	va_start(args, format);
	length = vasprintf(&text, format, args);
	va_end(args);
	if (length < 0) {
		table->failed = true;
		return;
	}
	for (char *c = text; *c; c++) {
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	}
	table->cells[table->n_cells++] = text;
}

/* On a screen: characters, not bytes. */
static size_t width_of(const char *text)
{
	size_t width = 0;

	for (; *text; text++)
		width += ((unsigned char)*text & 0xc0) != 0x80;
	return width;
}

static void print_cell(FILE *stream, const char *text, size_t width, bool right, bool last)
{
	size_t wide = width_of(text);
	int pad = wide < width ? (int)(width - wide) : 0;

	if (right)
		fprintf(stream, "%*s", pad, "");
	if (wide > width) /* a name or an owner, which are ASCII */
		fprintf(stream, "%.*s" CUT, (int)(width - strlen(CUT)), text);
	else
		fputs(text, stream);
	if (!last && !right)
		fprintf(stream, "%*s", pad, "");
	fputs(last ? "" : "  ", stream);
}

/* One long name would make every line of the table two. What is not for people stays whole. */
static void fit(const struct table *table, FILE *stream, size_t *widths)
{
	size_t *width = &widths[table->gives_way];
	struct winsize size;
	size_t others = 0;

	if (!isatty(fileno(stream)) || ioctl(fileno(stream), TIOCGWINSZ, &size) < 0)
		return;
	for (size_t i = 0; i < table->n_columns; i++)
		others += (i != table->gives_way ? widths[i] : 0) + (i > 0 ? 2 : 0);
	if (size.ws_col == 0 || *width <= LEAST || others + *width <= size.ws_col)
		return;
	*width = others + LEAST < size.ws_col ? size.ws_col - others : LEAST;
}

static bool empty(struct table *table)
{
	bool whole = !table->failed;

	for (size_t i = 0; i < table->n_cells; i++)
		free(table->cells[i]);
	free(table->cells);
	table->cells = NULL;
	table->n_cells = table->room = 0;
	table->failed = false;
	return whole;
}

static void print(const struct table *table, FILE *stream, bool colour)
{
	size_t n = table->n_columns;
	size_t widths[TABLE_COLUMNS];
	bool right[TABLE_COLUMNS];

	for (size_t i = 0; i < n; i++) {
		right[i] = table->heads[i][0] == '>';
		widths[i] = width_of(table->heads[i] + right[i]);
	}
	for (size_t i = 0; i < table->n_cells; i++) {
		size_t width = width_of(table->cells[i]);

		if (width > widths[i % n])
			widths[i % n] = width;
	}
	fit(table, stream, widths);
	fputs(colour ? "\033[1m" : "", stream);
	for (size_t i = 0; i < n; i++)
		print_cell(stream, table->heads[i] + right[i], widths[i], right[i], i == n - 1);
	fputs(colour ? "\033[0m\n" : "\n", stream);
	for (size_t i = 0; i < table->n_cells; i++) {
		bool last = i % n == n - 1;

		print_cell(stream, table->cells[i], widths[i % n], right[i % n], last);
		if (last)
			putc('\n', stream);
	}
}

/* With a cell missing, all that follow would be in the wrong columns. */
bool table_print(struct table *table, FILE *stream, bool colour)
{
	if (!table->failed)
		print(table, stream, colour);
	return empty(table);
}
