/* lease: what may be a name, an owner, a request id, a TTL. */
#include "lease/names.h"

#include <errno.h>

#include "base/print.h"
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

struct brief {
	char text[32];
};

/* In the largest unit in which it is a whole number: what is refused is said as it was given. */
static struct brief brief(weir_time time)
{
	static const struct {
		weir_time length;
		const char *name;
	} units[] = {
		{ 3600 * WEIR_SECOND, "h" }, { 60 * WEIR_SECOND, "m" }, { WEIR_SECOND, "s" },
		{ WEIR_MS, "ms" },           { WEIR_US, "us" },
	};
	struct brief brief = { "" };

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (time != 0 && time % units[i].length == 0) {
			weir__format(brief.text, sizeof(brief.text), "%lld%s",
				     (long long)(time / units[i].length), units[i].name);
			return brief;
		}
	}
	weir__format(brief.text, sizeof(brief.text), "%lldns", (long long)time);
	return brief;
}

int weir__check_ttl(const struct weir__bounds *bounds, weir_time ttl)
{
	if (ttl == 0 || (ttl >= bounds->min_ttl && ttl <= bounds->max_ttl))
		return 0;
	return weir__fail(-EINVAL, "a TTL (--ttl) is from %s to %s here, not %s",
			  brief(bounds->min_ttl).text, brief(bounds->max_ttl).text,
			  brief(ttl).text);
}
