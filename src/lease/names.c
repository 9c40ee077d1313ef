/* lease: what may be a name, an owner, a request id, a TTL. */
#include "lease/names.h"

#include <errno.h>

#include "lease/say.h"

static bool is_name_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '_' || c == ':' || c == '/' || c == '.';
}

bool weir_name_valid(const char *name)
{
	size_t length = 0;

	if (name == NULL)
		return false;
	for (; name[length] != '\0'; length++) {
		if (length == WEIR_NAME_MAX || !is_name_byte(name[length]))
			return false;
	}
	return length > 0;
}

/* The name itself is not repeated: it may be anything. */
int weir__check_name(const char *name)
{
	if (weir_name_valid(name))
		return 0;
	return weir__fail(-EINVAL, "a name has 1 to %d bytes of A-Z a-z 0-9 - _ : / .",
			  WEIR_NAME_MAX);
}

int weir__check_words(const char *words, const char *what)
{
	bool blank = true;
	size_t length = 0;

	for (; length <= WEIR_NAME_MAX && words[length] >= ' ' && words[length] <= '~'; length++)
		blank = blank && words[length] == ' ';
	if (length <= WEIR_NAME_MAX && words[length] == '\0' && !blank)
		return 0;
	return weir__fail(-EINVAL, "the %s has 1 to %d printable ASCII bytes, and not only blanks",
			  what, WEIR_NAME_MAX);
}

int weir__check_ttl(const struct weir__bounds *bounds, weir_time ttl)
{
	if (ttl == 0 || (ttl >= bounds->min_ttl && ttl <= bounds->max_ttl))
		return 0;
	return weir__fail(-EINVAL, "the TTL is not within %lld ms and %lld ms",
			  (long long)(bounds->min_ttl / WEIR_MS),
			  (long long)(bounds->max_ttl / WEIR_MS));
}
