/* base: getrandom(2). */
#include "base/random.h"

#include <errno.h>
#include <sys/random.h>

int weir__random(void *bytes, size_t size)
{
	unsigned char *at = bytes;
	int saved = errno;

	while (size > 0) {
		ssize_t got = getrandom(at, size, 0);

		if (got < 0 && errno != EINTR) {
			int error = -errno;

			errno = saved;
			return error;
		}
		if (got > 0) {
			at += got;
			size -= (size_t)got;
		}
	}
	errno = saved;
	return 0;
}
