/* cli: weir store init. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

/* The role is told by an option of the store's URL, so that only the store need know of roles. To
 * be freed; NULL: there is no memory. */
static char *url_with_role(const char *url, const char *role)
{
	char *all = NULL;
	size_t size;
	FILE *out = open_memstream(&all, &size);

	if (!out)
		return NULL;
	fprintf(out, "%s%cgrant=", url, strchr(url, '?') ? '&' : '?');
	/* Some of its bytes would be a part of the URL otherwise. */
	for (; *role; role++)
		fprintf(out, "%%%02x", (unsigned char)*role);
	if (fclose(out) == 0)
		return all;
	free(all);
	return NULL;
}

int command_store(const struct options *options)
{
	const char *url = options->store ? options->store : getenv("WEIR_STORE");
	struct options changed = *options;
	struct weir_store *store;
	char *with_role = NULL;
	int code;

	if (options->n_args != 1 || strcmp(options->args[0], "init") != 0)
		return fail(EXIT_USAGE, "usage: weir store init [--grant ROLE] [--store URL]");
	if (options->grant && (!url || strncmp(url, "postgres", 8) != 0))
		return fail(EXIT_USAGE, "--grant is for a store in PostgreSQL: say --store "
					"postgres://HOST/DATABASE");
	if (options->grant) {
		with_role = url_with_role(url, options->grant);
		if (!with_role)
			return fail(EXIT_FAILED, "out of memory");
		changed.store = with_role;
	}
	code = open_store(&changed, &store);
	free(with_role);
	if (code != 0)
		return code;
	weir_store_close(store);
	note(options, "the store is there, and of this version");
	return 0;
}
