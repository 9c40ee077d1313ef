/* copy: which entries are left out. */
#include "copy/engine.h"

#include <stdlib.h>
#include <string.h>

/* A set [a-z] or [!a-z] at *pattern matched with c; moves *pattern behind it. */
static bool in_set(const char **pattern, char c)
{
	const char *at = *pattern + 1;
	bool negated = *at == '!' || *at == '^';
	bool found = false;
	const char *first;

	at += negated;
	for (first = at; *at && (*at != ']' || at == first); at++) {
		if (at[1] == '-' && at[2] && at[2] != ']') {
			found |= at[0] <= c && c <= at[2];
			at += 2;
		} else {
			found |= *at == c;
		}
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

/* The path below the source, with a slash at its beginning: a string to be freed, or NULL. */
static char *path_below(const struct dir *dir, const char *name)
{
	size_t size = strlen(name) + 2;
	char *path;
	char *at;

	for (const struct dir *up = dir; up->parent; up = up->parent)
		size += strlen(up->dst_name) + 1;
	path = malloc(size);
	if (!path)
		return NULL;
	at = path + size - strlen(name) - 1;
	memcpy(at, name, strlen(name) + 1);
	*--at = '/';
	for (const struct dir *up = dir; up->parent; up = up->parent) {
		size_t length = strlen(up->dst_name);

		at -= length;
		memcpy(at, up->dst_name, length);
		*--at = '/';
	}
	return path;
}

static bool rule_matches(const char *pattern, const char *path, bool is_dir)
{
	size_t length = strlen(pattern);
	const char *tail;
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
	if (*own == '/') {
		found = matches(own, path);
	} else if (strchr(own, '/') || strstr(own, "**")) {
		found = false;
		for (tail = path; tail && !found; tail = strchr(tail + 1, '/'))
			found = matches(own, tail + 1);
	} else {
		found = matches(own, strrchr(path, '/') + 1);
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
