/* support: a library to be preloaded into a server, whose wall clock then is as far off as a file
 * says: WEIR_TEST_CLOCK names it, and it has one number of nanoseconds in it, 8 bytes. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *offset;

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("WEIR_TEST_CLOCK");
	int fd = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *map = fd >= 0 ? mmap(NULL, sizeof(*offset), PROT_READ, MAP_SHARED, fd, 0) :
			      MAP_FAILED;

	if (map != MAP_FAILED)
		offset = map;
	if (fd >= 0)
		(void)close(fd);
}

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *time)
{
	int result = (int)syscall(SYS_clock_gettime, clock, time);

	if (result == 0 && offset != NULL &&
	    (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
		int64_t now = time->tv_sec * INT64_C(1000000000) + time->tv_nsec + *offset;

		time->tv_sec = now / 1000000000;
		time->tv_nsec = now % 1000000000;
	}
	return result;
}

__attribute__((visibility("default"))) int gettimeofday(struct timeval *restrict time,
							void *restrict zone)
{
	struct timespec now;

	(void)zone;
	if (clock_gettime(CLOCK_REALTIME, &now) < 0)
		return -1;
	*time = (struct timeval){ now.tv_sec, now.tv_nsec / 1000 };
	return 0;
}

__attribute__((visibility("default"))) time_t time(time_t *ret_time)
{
	struct timespec now;

	if (clock_gettime(CLOCK_REALTIME, &now) < 0)
		return -1;
	if (ret_time != NULL)
		*ret_time = now.tv_sec;
	return now.tv_sec;
}
