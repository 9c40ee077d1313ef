/* task_timeouts: giving up by deadline, being cancelled, and cleaning up.
 *
 * It runs on the virtual clock: ten seconds pass in no time, and every run prints the same. */
#include <errno.h>
#include <stdio.h>
#include <weir/weir.h>

static struct weir_sem printer = WEIR_SEM_INIT(1);
static int pages;
static int flushed;

/* Prints until it is done or cancelled, and in either case leaves the printer clean. */
static int print(void *arg, intptr_t *value)
{
	int error;

	WEIR_HOLD(&printer, 1, &error) {
		for (intptr_t i = 0; i < (intptr_t)arg && error == 0; i++) {
			error = weir_sleep(WEIR_SECOND);
			if (error == 0)
				*value = ++pages;
		}
		/* Cleaning up takes a while, too, and must not be cancelled half-way. */
		weir_shield(true);
		weir_sleep(WEIR_SECOND);
		flushed++;
		weir_shield(false);
	}
	return error;
}

static int timeouts_example(void *arg, intptr_t *value)
{
	struct weir_future *endless = weir_spawn(print, (void *)1000000);
	struct weir_future *waiting = weir_spawn(print, (void *)2);
	weir_time start = weir_now();

	(void)arg;
	/* A task that does not end in time goes on: who waited decides what to do. */
	if (weir_wait(endless, weir_after(5 * WEIR_SECOND), NULL) != -ETIMEDOUT)
		return -EIO;
	printf("after %d s: %d pages, not done\n", (int)((weir_now() - start) / WEIR_SECOND),
	       pages);

	/* A wait for a permit has a deadline, too. */
	if (weir_sem_acquire_until(&printer, 1, weir_after(WEIR_SECOND)) != -ETIMEDOUT)
		return -EIO;

	weir_cancel(endless);
	if (weir_wait(endless, WEIR_NEVER, NULL) != -ECANCELED)
		return -EIO;
	/* The printer went to the next in line. */
	if (weir_wait(waiting, WEIR_NEVER, value) != 0)
		return -EIO;
	printf("after %d s: %d pages, flushed %d times\n",
	       (int)((weir_now() - start) / WEIR_SECOND), pages, flushed);
	weir_future_unref(endless);
	weir_future_unref(waiting);
	return weir_now() - start == 10 * WEIR_SECOND ? 0 : -EIO;
}

int main(void)
{
	intptr_t last_page = 0;
	struct weir_run_config config = { .clock = WEIR_CLOCK_VIRTUAL, .value = &last_page };
	int error = weir_run(timeouts_example, NULL, &config);

	return error == 0 && flushed == 2 && last_page == pages ? 0 : 1;
}
