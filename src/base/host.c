/* base: gethostname(2) and getpid(2). */
#include "base/host.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

void weir__host_name(char *text, size_t size)
{
	int saved = errno;

	text[0] = '\0';
	if (gethostname(text, size) < 0 && errno != ENAMETOOLONG)
		strncpy(text, "localhost", size);
	text[size - 1] = '\0';
	errno = saved;
}

int64_t weir__process(void)
{
	return getpid();
}
