/* lease: the URL of a store, taken apart.
 *
 * SCHEME:REST?OPTION=VALUE&... The rest is the engine's, byte by byte: a path may have anything in
 * it but a question mark, and nothing is decoded. Sentences name an option, never its value or the
 * rest, where a password may be; nor an option that may be the second half of one. */
#include "lease/url.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/parse.h"
#include "base/print.h"
#include "lease/say.h"

enum kind { DURATION, NUMBER };

static const struct {
	const char *name;
	size_t at; /* in struct weir__bounds */
	enum kind kind;
	weir_time least;
	weir_time most;
} options[] = {
	{ "min_ttl", offsetof(struct weir__bounds, min_ttl), DURATION, WEIR_MS,
	  366 * 24 * 3600 * WEIR_SECOND },
	{ "max_ttl", offsetof(struct weir__bounds, max_ttl), DURATION, WEIR_MS,
	  366 * 24 * 3600 * WEIR_SECOND },
	{ "default_ttl", offsetof(struct weir__bounds, default_ttl), DURATION, WEIR_MS,
	  366 * 24 * 3600 * WEIR_SECOND },
	{ "heartbeat", offsetof(struct weir__bounds, heartbeat), DURATION, WEIR_MS,
	  3600 * WEIR_SECOND },
	{ "guard", offsetof(struct weir__bounds, guard), DURATION, 1, 3600 * WEIR_SECOND },
	{ "max_limit", offsetof(struct weir__bounds, max_limit), NUMBER, 1, 1000000 },
	{ "max_waiting", offsetof(struct weir__bounds, max_waiting), NUMBER, 1, 100000000 },
};

enum { OPTIONS = sizeof(options) / sizeof(*options) };

static int take_duration(size_t i, const char *value, struct weir__bounds *bounds)
{
	weir_time duration = 0;

	if (weir__duration_parse(value, &duration) < 0)
		return weir__fail(-EINVAL,
				  "the store's option %s is not a duration such as 30, 250ms or 5m",
				  options[i].name);
	if (duration < options[i].least || duration > options[i].most)
		return weir__fail(-EINVAL, "the store's option %s is out of range",
				  options[i].name);
	memcpy((char *)bounds + options[i].at, &duration, sizeof(duration));
	return 0;
}

static int take_number(size_t i, const char *value, struct weir__bounds *bounds)
{
	uint32_t number = 0;

	if (weir__number_parse(value, (uint32_t)options[i].least, (uint32_t)options[i].most,
			       &number) < 0)
		return weir__fail(
			-EINVAL, "the store's option %s is not a number from %lld to %lld",
			options[i].name, (long long)options[i].least, (long long)options[i].most);
	memcpy((char *)bounds + options[i].at, &number, sizeof(number));
	return 0;
}

static int given_twice(const char *name)
{
	return weir__fail(-EINVAL, "the store's option %s is given twice", name);
}

/* A name that is known to nobody, or that is no name. Where there is a @ behind the question mark,
 * that may have been a part of a password. */
static int no_such_option(const struct weir__url *url, const char *name, const char *why)
{
	if (url->unclear)
		return weir__fail(-EINVAL,
				  "the store's URL has an option that %s; in a name or a "
				  "password a ? is %%3F",
				  why);
	return weir__fail(-EINVAL, "the store's option %.40s %s", name, why);
}

/* One that may be an engine's own. */
static int take_extra(const char *name, const char *value, struct weir__url *url)
{
	if (value == NULL)
		return no_such_option(url, name, "has no value: NAME=VALUE, with & between two");
	if (url->n_extra == sizeof(url->extra) / sizeof(*url->extra))
		return weir__fail(-EINVAL, "the store's URL has too many options");
	for (size_t i = 0; i < url->n_extra; i++) {
		if (strcmp(url->extra[i].name, name) == 0)
			return no_such_option(url, name, "is given twice");
	}
	url->extra[url->n_extra].name = name;
	url->extra[url->n_extra++].value = value;
	return 0;
}

/* One NAME=VALUE. *seen has a bit for each option, for none may come twice. */
static int take_option(char *text, struct weir__url *url, uint32_t *seen)
{
	char *value = strchr(text, '=');

	if (value != NULL)
		*value++ = '\0';
	for (size_t i = 0; i < OPTIONS; i++) {
		if (value == NULL || strcmp(options[i].name, text) != 0)
			continue;
		if ((*seen >> i & 1) != 0)
			return given_twice(options[i].name);
		*seen |= UINT32_C(1) << i;
		return options[i].kind == DURATION ? take_duration(i, value, &url->bounds) :
						     take_number(i, value, &url->bounds);
	}
	return take_extra(text, value, url);
}

static bool was_given(uint32_t seen, const weir_time *bound, const struct weir__bounds *bounds)
{
	size_t at = (size_t)((const char *)bound - (const char *)bounds);

	for (size_t i = 0; i < OPTIONS; i++) {
		if (options[i].at == at)
			return (seen >> i & 1) != 0;
	}
	return false;
}

/* What was not given follows what was. */
static int reconcile(struct weir__bounds *bounds, uint32_t seen)
{
	if (bounds->min_ttl > bounds->max_ttl) {
		if (!was_given(seen, &bounds->max_ttl, bounds))
			bounds->max_ttl = bounds->min_ttl;
		else if (!was_given(seen, &bounds->min_ttl, bounds))
			bounds->min_ttl = bounds->max_ttl;
		else
			return weir__fail(-EINVAL, "the store's min_ttl is above its max_ttl");
	}
	if (!was_given(seen, &bounds->default_ttl, bounds)) {
		if (bounds->default_ttl > bounds->max_ttl)
			bounds->default_ttl = bounds->max_ttl;
		if (bounds->default_ttl < bounds->min_ttl)
			bounds->default_ttl = bounds->min_ttl;
	} else if (bounds->default_ttl > bounds->max_ttl || bounds->default_ttl < bounds->min_ttl) {
		return weir__fail(-EINVAL,
				  "the store's default_ttl is not within min_ttl and max_ttl");
	}
	if (bounds->guard >= bounds->min_ttl)
		return weir__fail(-EINVAL, "the store's guard is not below its min_ttl");
	return 0;
}

static int take_options(char *text, struct weir__url *url)
{
	uint32_t seen = 0;

	while (text != NULL) {
		char *next = strchr(text, '&');
		int error;

		if (next != NULL)
			*next++ = '\0';
		error = take_option(text, url, &seen);
		if (error < 0)
			return error;
		text = next;
	}
	return reconcile(&url->bounds, seen);
}

int weir__url_parse(const char *text, struct weir__url *ret_url, char **ret_text)
{
	struct weir__url url = { .bounds = {
					 .min_ttl = WEIR_SECOND,
					 .max_ttl = 3600 * WEIR_SECOND,
					 .default_ttl = 30 * WEIR_SECOND,
					 .heartbeat = WEIR_SECOND,
					 .max_limit = 10000,
					 .max_waiting = 100000,
				 } };
	char *copy;
	char *rest;
	char *found;
	int error;

	if (text == NULL || strchr(text, ':') == NULL || text[0] == ':')
		return weir__fail(-EINVAL, "a store is named by a URL, as sqlite:PATH, "
					   "redis://HOST or postgres://HOST/DATABASE");
	copy = weir__format_new("%s", text);
	if (copy == NULL)
		return weir__fail_plainly(-ENOMEM);
	rest = strchr(copy, ':');
	*rest++ = '\0';
	found = strchr(rest, '?');
	if (found != NULL)
		*found++ = '\0';
	url.unclear = found != NULL && strchr(found, '@') != NULL;
	error = take_options(found, &url);
	if (error < 0) {
		weir__free(copy);
		return error;
	}
	url.scheme = copy;
	url.rest = rest;
	*ret_url = url;
	*ret_text = copy;
	return 0;
}

static bool is_known(const struct weir__engine *engine, const char *name)
{
	const char *const *known = engine->options;

	while (known != NULL && *known != NULL && strcmp(*known, name) != 0)
		known++;
	return known != NULL && *known != NULL;
}

/* Not known to this engine, whose options are said. */
static int unknown_option(const struct weir__url *url, const struct weir__engine *engine,
			  const char *name)
{
	struct weir__text text;
	FILE *out = weir__text_open(&text);
	const char *why;
	int error;

	if (out == NULL)
		return weir__fail_plainly(-ENOMEM);
	weir__print(out, "is not one that %s: has, which are", url->scheme);
	for (size_t i = 0; i < OPTIONS; i++)
		weir__print(out, " %s", options[i].name);
	for (const char *const *own = engine->options; own != NULL && *own != NULL; own++)
		weir__print(out, " %s", *own);
	why = weir__text_close(&text);
	error = why != NULL ? no_such_option(url, name, why) : weir__fail_plainly(-ENOMEM);
	weir__text_free(&text);
	return error;
}

int weir__url_check(const struct weir__url *url, const struct weir__engine *engine)
{
	for (size_t i = 0; i < url->n_extra; i++) {
		if (!is_known(engine, url->extra[i].name))
			return unknown_option(url, engine, url->extra[i].name);
	}
	return 0;
}
