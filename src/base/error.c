/* base: the meaning of every error code of the library, in one table. */
#include <errno.h>
#include <string.h>
#include <weir/base.h>

static const struct {
	int code;
	const char *text;
} errors[] = {
	{ 0, "success" },
	{ -EINVAL, "a bad argument (permits must be >= 1 and at most WEIR_SEM_MAX, handles must "
		   "not be NULL), or a call that is not allowed where it was made: see the "
		   "function's manual page" },
	{ -E2BIG, "the weight is above the semaphore's limit, so it could never be granted: ask "
		  "for less or raise the limit" },
	{ -EAGAIN, "no permit is free, or others wait: try again later, or wait" },
	{ -ETIMEDOUT, "the deadline passed before the wait was over" },
	{ -ECANCELED, "the task that waited, or the one that was waited for, was cancelled" },
	{ -EDEADLK, "every task waits and nobody is left who could wake one, or a task waits for "
		    "itself" },
	{ -EALREADY, "the future was completed before: its first result stays" },
	{ -ESHUTDOWN, "the semaphore is closed" },
	{ -EOVERFLOW, "semaphore released too many times" },
	{ -ENOMEM, "out of memory" },
	{ -EUSERS,
	  "no thread could be started: there are too many processes or threads (ulimit -u), "
	  "or there is too little memory" },
};

const char *weir_strerror(int error)
{
	const char *text;

	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
		if (errors[i].code == error)
			return errors[i].text;
	}
	/* Constant text, and NULL for a number that is no error. */
	text = error < 0 && error > -4096 ? strerrordesc_np(-error) : NULL;
	return text ? text : "unknown error";
}
