/* base: errno and gettid. */
#include "base/thread.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

int *weir__thread_errno(void)
{
	return &errno;
}

uint32_t weir__thread_id(void)
{
	return (uint32_t)syscall(SYS_gettid);
}
