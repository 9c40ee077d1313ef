/* store: hosts. See here.h. */
#include "store/here.h"

#include <string.h>

static bool is_one_here(const char *host, size_t size)
{
	static const char *const names[] = { "localhost", "127.", "::1" };

	if (size == 0 || host[0] == '/' || host[0] == '@')
		return true;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size_t length = strlen(names[i]);

		if (strncmp(host, names[i], length) == 0 &&
		    (size == length || names[i][length - 1] == '.'))
			return true;
	}
	return false;
}

bool weir__hosts_are_here(const char *hosts)
{
	while (true) {
		size_t size = strcspn(hosts, ",");

		if (!is_one_here(hosts, size))
			return false;
		if (hosts[size] == '\0')
			return true;
		hosts += size + 1;
	}
}
