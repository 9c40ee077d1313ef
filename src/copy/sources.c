/* copy: sources that meet: two of one name, or what is in several directories that go into one.
 *
 * They are copied one after the other, in their order, so that it is certain what is there in the
 * end: what the last of them has. Where one would only take away what another has just brought, it
 * is refused, as cp does. All others are copied at the same time. */
#include "copy/engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct named {
	const char *name;
	size_t index;
};

bool weir__is_contents(const char *path)
{
	size_t n = strlen(path);
	const char *last = strrchr(path, '/');

	last = last ? last + 1 : path;
	return (n > 0 && path[n - 1] == '/') || strcmp(last, ".") == 0 || strcmp(last, "..") == 0;
}

static int by_name(const void *a, const void *b)
{
	const struct named *one = a;
	const struct named *other = b;
	int order = strcmp(one->name, other->name);

	return order ? order : (one->index > other->index) - (one->index < other->index);
}

/* Of two with the same name, when the second has its turn. */
static enum weir__turn turn_after(const char *first, const char *second, enum weir__turn turn)
{
	struct stat one;
	struct stat other;

	if (lstat(first, &one) < 0 || lstat(second, &other) < 0)
		return turn; /* what is wrong is told when it is opened */
	if (one.st_dev == other.st_dev && one.st_ino == other.st_ino)
		return turn == TURN_WITH ? TURN_NEVER : turn;
	return S_ISDIR(one.st_mode) && S_ISDIR(other.st_mode) ? TURN_AFTER : TURN_REFUSED;
}

static void compare_names(const struct weir_copy_config *config, struct named *named, size_t n,
			  enum weir__turn *turns)
{
	size_t first = 0;

	qsort(named, n, sizeof(*named), by_name);
	for (size_t i = 1; i < n; i++) {
		if (strcmp(named[i].name, named[first].name) != 0)
			first = i;
		else
			turns[named[i].index] = turn_after(config->sources[named[first].index],
							   config->sources[named[i].index],
							   turns[named[i].index]);
	}
}

int weir__sources_turns(const struct weir_copy_config *config, enum weir__turn **ret)
{
	size_t count = config->source_count;
	enum weir__turn *turns = calloc(count, sizeof(*turns));
	struct named *named = calloc(count, sizeof(*named));
	bool contents = false;
	size_t n = 0;

	if (!turns || !named) {
		free(turns);
		free(named);
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++) {
		const char *slash = strrchr(config->sources[i], '/');
		bool after_contents = contents;

		contents = weir__is_contents(config->sources[i]);
		if (after_contents || (contents && i > 0))
			turns[i] = TURN_AFTER;
		if (!contents)
			named[n++] = (struct named){ slash ? slash + 1 : config->sources[i], i };
	}
	compare_names(config, named, n, turns);
	free(named);
	*ret = turns;
	return 0;
}
