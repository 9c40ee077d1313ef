/* base: close(2). */
#include "base/descriptor.h"

#include <errno.h>
#include <unistd.h>

void weir__descriptor_close(int fd)
{
	int saved = errno;

	if (fd >= 0)
		(void)close(fd);
	errno = saved;
}
