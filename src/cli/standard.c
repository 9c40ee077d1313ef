/* cli: the standard descriptors of a process that was started without them. */
#include "cli/standard.h"

#include <fcntl.h>

/* If a standard descriptor is closed, the next file to be opened would take its place: the
 * database, or a copy, and then a message to standard error would go there. So the place is taken,
 * and left by exec as it was found. Reading or writing it fails as it would on a closed one. */
int take_closed_descriptors(void)
{
	for (int fd = 0; fd <= 2; fd++) {
		int taken;

		if (fcntl(fd, F_GETFD) >= 0)
			continue;
		taken = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (taken != fd)
			return -1;
	}
	return 0;
}
