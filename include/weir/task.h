/* weir/task.h - tasks: waiting without blocking the thread.
 *
 * WHAT IT IS
 *     A task is a function with a stack of its own, run by a scheduler that lives in one thread.
 *     Where a thread would sleep, a task lets the next one run. Everything of this library that
 *     waits may be called from a task as from a thread: tasks and threads queue up for the very
 *     same semaphores, in one order.
 *
 *         static int worker(void *arg, intptr_t *value)
 *         {
 *                 int error;
 *
 *                 WEIR_HOLD(&slots, 1, &error) {
 *                         error = weir_sleep(100 * WEIR_MS);
 *                         *value = (intptr_t)arg * 2;
 *                 }
 *                 return error;
 *         }
 *
 *         static int root(void *arg, intptr_t *value)
 *         {
 *                 struct weir_future *tasks[10];
 *                 intptr_t results[10];
 *                 int error;
 *
 *                 for (intptr_t i = 0; i < 10; i++)
 *                         tasks[i] = weir_spawn(worker, (void *)i);
 *                 error = weir_gather(tasks, 10, WEIR_NEVER, results);
 *                 for (int i = 0; i < 10; i++)
 *                         weir_future_unref(tasks[i]);
 *                 return error;
 *         }
 *
 *         int main(void)
 *         {
 *                 return weir_run(root, NULL, NULL) == 0 ? 0 : 1;
 *         }
 *
 * ORDER
 *     Tasks run one at a time, in the order in which they became ready; those that other threads
 *     make ready for different reasons at the same moment, in any order. A spawner goes on and the
 *     child is queued; a release, a completion or a cancel never switches. Only a call that waits
 *     does, and weir_yield.
 *
 * WHO MAY CALL
 *     Each function says so. "A task" means: from a function that weir_run or weir_spawn started.
 *     Nothing here may be called from a signal handler. A task never moves to another thread, nor
 *     to another process: the child of a fork() in a task may exec or _exit, and no more. No
 *     call is a cancellation point of pthread_cancel, but weir_sched_dump where it prints; at one
 *     of a task's own, a read() say, the thread ends with its scheduler and all its tasks.
 *
 * CANCELLATION
 *     is delivered into the task: the call in which it waits, or the next one that would wait,
 *     returns -ECANCELED, once. The task cleans up and returns. A permit it was handed in that very
 *     moment goes to the next in line. Between weir_shield(true) and weir_shield(false) it is held
 *     back. A task's children are not cancelled with it, nor do they end with it. When the root has
 *     returned, what is left is cancelled, and every call that waits returns -ECANCELED from then
 *     on: a loop that ignores it would never end, and weir_run with it. A cancel from another
 *     thread reaches the task when its scheduler next looks at what others left, at the latest
 *     after some hundred turns of its tasks.
 *
 * STACKS
 *     do not grow. Below each lies a page that nobody may touch, so that a task that needs more
 *     ends the process by SIGSEGV, and does not run into its neighbour (unless a single frame is
 *     larger than a page: compile with -fstack-clash-protection). Before Linux 6.13 such a page
 *     costs the process one of its 65,530 mappings: there 16,384 stacks at a time have one, and
 *     more than that have none. While weir_run runs, a handler of SIGSEGV and SIGBUS says on the
 *     standard error which task that was. Every fault, this one too, then goes its old way: to the
 *     handler that was there, or to the system. The handler runs on the thread's sigaltstack; a
 *     thread that has none gets one for the length of the run. Both are put back when weir_run
 *     returns. The message is the only thing that this library ever prints by itself;
 *     config.no_fault_handler keeps it, and the handler, away.
 *
 * C++
 *     Which exceptions are being handled is known of a thread, not of a task: do not wait within a
 *     catch block, lest a bare throw there rethrows what another task has caught. An exception that
 *     leaves a task's function ends the process by std::terminate. longjmp goes no further than the
 *     task it is called in.
 *
 * ERRORS
 *     -EINVAL     a bad argument, or a call outside a task that needs one
 *     -ETIMEDOUT  the deadline passed
 *     -ECANCELED  the calling task was cancelled, or the task waited for was
 *     -EDEADLK    every task waits and nobody is left who could end that; or waiting for oneself.
 *                 Whoever waits for a task of the same scheduler hears from that one, and is told
 *                 only if nobody else can be
 *     -EALREADY   the future was completed before
 *     -ENOMEM     no memory for a stack
 */
#ifndef WEIR_TASK_H
#define WEIR_TASK_H

#include <stdio.h>
#include <weir/base.h>

#ifdef __cplusplus
extern "C" {
#endif

struct weir_future;

/* What a task does. Returns 0 and leaves its value in *value (0 until it does), or fails with a
 * negative error. A positive result is passed on as it is, and fails, too: there is no value. */
typedef int weir_task_fn(void *arg, intptr_t *value);

enum weir_clock {
	WEIR_CLOCK_REAL,
	/* For tests: time stands still while any task can run, and then jumps to the next deadline.
	 * Hours pass in no time and every run is the same. Other threads do not see this time. A
	 * task that computes until weir_now() says something else would do so for ever. */
	WEIR_CLOCK_VIRTUAL,
};

/* Where events come from that are not this library's: io_uring, epoll, somebody's event loop. The
 * scheduler calls it in its own thread, with no task running; what it calls may release
 * semaphores and complete promises, which is how a task that waits for an event is woken.
 *
 * wait(self, wake_fd, deadline) sleeps until an event was handled, until wake_fd is readable (it is
 * not to be read) or until the deadline, whichever is first. With a wake_fd of -1 it handles what
 * has happened already and does not sleep; a scheduler that is busy calls it so now and then.
 *
 * pending is how many events are awaited. While it is not 0, somebody is left who could wake a
 * task, and there is no deadlock. */
struct weir_poller {
	void (*wait)(struct weir_poller *self, int wake_fd, weir_time deadline);
	size_t pending;
};

/* What weir_run may be told; all zero is the default. */
struct weir_run_config {
	enum weir_clock clock;
	size_t stack_size;  /* bytes for each task at least, 1 GiB at most; 0: 58 KiB */
	size_t stack_cache; /* how many stacks of ended tasks to keep warm; 0: 1024 */
	/* Receives the report of a deadlock, a text of several lines, before the waits fail; NULL:
	 * none. It is not in a task, and with a virtual clock it must not wait. */
	void (*deadlock)(const char *report, void *arg);
	void *deadlock_arg;
	/* Receives such a text when no task has run for `stall_after` while one at least waits for
	 * something other than its time and other tasks: a reply that is late, a thread that holds
	 * a permit for long. Once, until a task has run again; the waits go on. It is not in a
	 * task. Both or neither, and not with a virtual clock. */
	void (*stalled)(const char *report, void *arg);
	void *stalled_arg;
	weir_time stall_after;
	/* Nobody outside wakes these tasks, though the process has other threads: see -EDEADLK. */
	bool alone;
	/* Leaves SIGSEGV and SIGBUS alone: see STACKS above. */
	bool no_fault_handler;
	/* Looks how deep each stack went, for weir_stack_uses and weir_sched_dump. When it is off
	 * it costs nothing; when on, some microseconds for each task that ends. */
	bool measure_stacks;
	/* Sleeps for the scheduler; NULL: it sleeps by itself. Not with a virtual clock. */
	struct weir_poller *poller;
	intptr_t *value;  /* receives the root's value, if not NULL */
	size_t *leftover; /* receives how many tasks were left when the root had returned, if not
			     NULL */
};

/* Runs root(arg) as the first task, and everything it spawns, in the calling thread until the root
 * has returned. What is left then is cancelled and run until it has unwound. May be called in
 * several threads at once, each with its own tasks; not from a task. The root's result: 0 or its
 * error. Also -EINVAL for a bad config or from within a task, -ENOMEM, and -EMFILE or -ENFILE when
 * there is no descriptor left for its eventfd. */
WEIR_API int weir_run(weir_task_fn *root, void *arg, const struct weir_run_config *config);

/* Starts a task; it runs when the caller waits. The handle must be dropped with weir_future_unref.
 * From a task. NULL when there is no memory, when the caller is no task or fn is NULL. */
WEIR_API struct weir_future *weir_spawn(weir_task_fn *fn, void *arg);

/* The calling task's own future, the root's too; NULL outside a task. It is lent: it is good until
 * the task returns, and whoever gets it from the task takes weir_future_ref(weir_self()). */
WEIR_API struct weir_future *weir_self(void);

/* A future that somebody completes. From anywhere. NULL when there is no memory. */
WEIR_API struct weir_future *weir_promise(void);

/* Ends a promise with a value or with a negative error, and wakes all who wait for it. From any
 * thread. Whoever sees it ended may drop the last handle at once, the call still running. 0;
 * -EALREADY when it was ended before, and the first result stays; -EINVAL for a task's future or
 * for an error that is not negative. */
WEIR_API int weir_complete(struct weir_future *future, intptr_t value);
WEIR_API int weir_fail(struct weir_future *future, int error);

/* Handles are counted. A result lives until its last handle goes; whoever waits has one of its own
 * meanwhile. From any thread; NULL is fine, and weir_future_ref returns it. Dropping a task's
 * handle does not end the task. */
WEIR_API struct weir_future *weir_future_ref(struct weir_future *future);
WEIR_API void weir_future_unref(struct weir_future *future);

/* Whether the future has ended, without waiting; NULL never has. From any thread. */
WEIR_API bool weir_future_done(const struct weir_future *future);

/* Waits for the future's end. From a task or a thread. A task lets others run before a deadline
 * that has passed ends the wait. Its result: 0 and the value in *value (which may be NULL), or its
 * error. -ETIMEDOUT; in a task -ECANCELED, -EDEADLK; -EINVAL for NULL. Whether an error is the
 * future's or the wait's, weir_future_done and weir_cancelled tell. */
WEIR_API int weir_wait(struct weir_future *future, weir_time deadline, intptr_t *value);

/* Waits for all n: 0 and their values in their order, or the error of the first that failed, as
 * soon as it did; the others go on. Which one that was, weir_future_done and weir_wait of each
 * tell. values may be NULL. From a task or a thread. As weir_wait; gathering nothing succeeds at
 * once; -EINVAL also for one that is NULL; -ENOMEM. */
WEIR_API int weir_gather(struct weir_future **futures, size_t n, weir_time deadline,
			 intptr_t *values);

/* Waits for the first of n to end, by value or by error, and returns its result and in *winner
 * which one it was (both may be NULL); the others go on. If several have ended, the one that ended
 * first. As weir_wait; -EINVAL also when n is 0 or one is NULL; -ENOMEM. In both, who is waited for
 * is what the array holds when the call begins. */
WEIR_API int weir_race(struct weir_future **futures, size_t n, weir_time deadline, size_t *winner,
		       intptr_t *value);

/* Cancels a task, from any thread: see CANCELLATION above. One that has not started when that
 * reaches it never will, and ends with -ECANCELED. A promise ends with -ECANCELED. Cancelling what
 * has ended, or a second time before the first was delivered, does nothing; a task may cancel
 * itself. 0; -EINVAL for NULL. */
WEIR_API int weir_cancel(struct weir_future *future);

/* Whether the calling task has ever been cancelled, told or not, be it by the end of the root;
 * false outside a task. */
WEIR_API bool weir_cancelled(void);

/* Holds cancellation back from the calling task (true) or lets it through again (false). Nests.
 * 0; -EINVAL outside a task or when there is nothing to let through. */
WEIR_API int weir_shield(bool on);

/* Waits until a time, or for a time; a past one only lets others run. From a task or a thread.
 * 0; -ECANCELED; -EINVAL for a negative duration; -EDEADLK for one without end. */
WEIR_API int weir_sleep_until(weir_time time);
WEIR_API int weir_sleep(weir_time duration);

/* Lets all others that are ready run first. From a task. 0; -ECANCELED; -EINVAL outside a task. */
WEIR_API int weir_yield(void);

/* Names the calling task, in reports. Of the first 23 bytes, whole characters are kept (UTF-8),
 * with a ? for each control character and quotation mark. 0; -EINVAL outside a task or for NULL. */
WEIR_API int weir_task_name(const char *name);

/* Prints every task of the calling thread's scheduler: its name, where it was spawned, what it
 * waits for and, on the real clock, for how long; then what they wait for, with all who wait for it
 * and who holds it (of a semaphore: if weir_sem_init_traced made it). From a task. 0; -EINVAL; -EIO
 * when the stream has had an error; what it buffers is written. */
WEIR_API int weir_sched_dump(FILE *stream);

/* How deep the stacks of the tasks that were spawned at one place went, if config.measure_stacks is
 * set: the figure to choose config.stack_size by. It is the lowest word that was left other than
 * zero, so a little more may have been used; and pages that were swapped out count as unused. */
struct weir_stack_use {
	const void *site; /* where weir_spawn, or weir_run, returns to */
	size_t size;      /* what each stack has at least */
	size_t deepest;   /* what one of them used at most, so far */
	uint64_t ended;   /* how many of the tasks have ended */
};

/* Fills in up to n of them. From a task. How many places there are, which may be more than n;
 * -EINVAL outside a scheduler and when stacks are not measured. */
WEIR_API int weir_stack_uses(struct weir_stack_use *uses, size_t n);

#ifdef __cplusplus
}
#endif

#endif
