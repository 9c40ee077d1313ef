/* copy: which entries are left out. */
#include "copy/engine.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* A class like [:alpha:] at `at`, matched with c: its length, or 0 when there is none. */
static size_t in_class(const char *at, char c, bool *found)
{
	static const struct {
		const char *name;
		int (*has)(int c);
	} classes[] = {
		{ "alnum", isalnum }, { "alpha", isalpha }, { "blank", isblank },
		{ "cntrl", iscntrl }, { "digit", isdigit }, { "graph", isgraph },
		{ "lower", islower }, { "print", isprint }, { "punct", ispunct },
		{ "space", isspace }, { "upper", isupper }, { "xdigit", isxdigit },
	};

	for (size_t i = 0; at[0] == '[' && at[1] == ':' && i < sizeof(classes) / sizeof(*classes);
	     i++) {
		size_t length = strlen(classes[i].name);

		if (strncmp(at + 2, classes[i].name, length) != 0 ||
		    strncmp(at + 2 + length, ":]", 2) != 0)
			continue;
		*found |= classes[i].has((unsigned char)c) != 0;
		return length + 4;
	}
	return 0;
}

/* A set [a-z] or [!a-z] at *pattern matched with c; moves *pattern behind it. */
static bool in_set(const char **pattern, char c)
{
	const char *at = *pattern + 1;
	bool negated = *at == '!' || *at == '^';
	bool found = false;
	const char *first;

	at += negated;
	for (first = at; *at && (*at != ']' || at == first); at++) {
		size_t length = in_class(at, c, &found);
		unsigned char low, high;

		if (length) {
			at += length - 1;
			continue;
		}
		at += *at == '\\' && at[1];
		low = high = (unsigned char)*at;
		if (at[1] == '-' && at[2] && at[2] != ']') {
			at += 2;
			at += *at == '\\' && at[1];
			high = (unsigned char)*at;
		}
		found |= low <= (unsigned char)c && (unsigned char)c <= high;
	}
	*pattern = *at ? at + 1 : at;
	return found != negated && c != '/';
}

/* Going back to the last star is enough for one kind of star; a `**` opens a new level. */
static bool matches(const char *pattern, const char *text)
{
	const char *star = NULL;
	const char *from = NULL;

	while (*text || *pattern) {
		if (pattern[0] == '*' && pattern[1] == '*') {
			while (*pattern == '*')
				pattern++;
			for (; !matches(pattern, text); text++) {
				if (!*text)
					return false;
			}
			return true;
		}
		if (*pattern == '*') {
			star = ++pattern;
			from = text;
			continue;
		}
		if (*text && *pattern == '[') {
			if (in_set(&pattern, *text)) {
				text++;
				continue;
			}
		} else if (*text && pattern[0] == '\\') {
			if (pattern[1] == *text) {
				pattern += 2;
				text++;
				continue;
			}
		} else if (*text && (*pattern == *text || (*pattern == '?' && *text != '/'))) {
			pattern++;
			text++;
			continue;
		}
		if (!star || !*from || *from == '/')
			return false;
		pattern = star;
		text = ++from;
	}
	return true;
}

/* The path below a source that stands for what is in it; else it begins with the name of the
 * source, whatever its copy is called. A string to be freed, or NULL. */
static char *path_below(const struct dir *dir, const char *name)
{
	size_t size = strlen(name) + 2;
	char *path;
	char *at;

	for (const struct dir *up = dir; up && up->parent; up = up->parent)
		size += strlen(up->name) + 1;
	path = malloc(size);
	if (!path)
		return NULL;
	at = path + size - strlen(name) - 1;
	memcpy(at, name, strlen(name) + 1);
	*--at = '/';
	for (const struct dir *up = dir; up && up->parent; up = up->parent) {
		size_t length = strlen(up->name);

		at -= length;
		memcpy(at, up->name, length);
		*--at = '/';
	}
	return path;
}

/* A backslash is one, unless there is something that it might take the meaning of. */
static bool matches_whole(const char *pattern, const char *text, bool wild)
{
	return wild ? matches(pattern, text) : strcmp(pattern, text) == 0;
}

static bool matches_path(const char *pattern, const char *path, bool wild)
{
	if (*pattern == '/')
		return matches_whole(pattern, path, wild);
	if (!strchr(pattern, '/') && !strstr(pattern, "**"))
		return matches_whole(pattern, strrchr(path, '/') + 1, wild);
	for (const char *tail = path; tail; tail = strchr(tail + 1, '/')) {
		if (matches_whole(pattern, tail + 1, wild))
			return true;
	}
	return false;
}

static bool rule_matches(const char *pattern, const char *path, bool is_dir)
{
	static const char all_below[] = "/***"; /* and the directory itself */
	size_t suffix = sizeof(all_below) - 1;
	size_t length = strlen(pattern);
	bool wild = strpbrk(pattern, "*?[");
	char *own;
	bool found;

	if (length > 0 && pattern[length - 1] == '/') {
		if (!is_dir)
			return false;
		length--;
	}
	own = strndup(pattern, length);
	if (!own)
		return false;
	found = matches_path(own, path, wild);
	if (!found && is_dir && length > suffix && strcmp(own + length - suffix, all_below) == 0) {
		own[length - suffix] = '\0';
		found = matches_path(own, path, wild);
	}
	free(own);
	return found;
}

bool weir__filtered(const struct weir_copy_config *config, const struct dir *dir, const char *name,
		    bool is_dir)
{
	bool out = false;
	char *path;

	if (config->rule_count == 0)
		return false;
	path = path_below(dir, name);
	for (size_t i = 0; path && i < config->rule_count; i++) {
		if (rule_matches(config->rules[i].pattern, path, is_dir)) {
			out = !config->rules[i].include;
			break;
		}
	}
	free(path);
	return out;
}
