/* store: the names that a listing or a reaping looks at. See names.h. */
#include "store/names.h"

#include <stdlib.h>
#include <string.h>

#include "lease/engine.h"
#include "lease/picture.h"

bool weir__names_add(struct names *names, const char *name, size_t size)
{
	if (names->count == names->room) {
		size_t room = names->room != 0 ? 2 * names->room : 16;
		char **grown = realloc(names->name, room * sizeof(char *));

		if (grown == NULL)
			return false;
		names->name = grown;
		names->room = room;
	}
	names->name[names->count] = strndup(name, size);
	if (names->name[names->count] == NULL)
		return false;
	names->count++;
	return true;
}

static bool fill(struct names *names, struct weir__op *op)
{
	if (op->verb == WEIR__LIST) {
		op->picture = weir__picture_new();
		if (op->picture == NULL)
			return false;
	}
	names->complete = op->n_names != 0;
	for (size_t i = 0; i < op->n_names; i++)
		if (!weir__names_add(names, op->names[i], strlen(op->names[i])))
			return false;
	return true;
}

void *weir__names_new(struct weir__op *op, size_t size)
{
	struct names *names = calloc(1, size);

	if (names != NULL && !fill(names, op)) {
		weir__names_free(names);
		return NULL;
	}
	return names;
}

void weir__names_start_over(struct names *names)
{
	if (names == NULL)
		return;
	names->asked = names->heard;
	names->round++;
}

void weir__names_free(struct names *names)
{
	if (names == NULL)
		return;
	for (size_t i = 0; i < names->count; i++)
		free(names->name[i]);
	free(names->name);
	free(names);
}
