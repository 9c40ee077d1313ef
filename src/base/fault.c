/* base: SIGSEGV and SIGBUS.
 *
 * PASSING ON. Whatever a fault would have done without us, it does after us:
 *     - a handler that was there is called, with the same arguments and the same signals blocked,
 *       for our handler is installed with its mask and its flags;
 *     - for the default, that is restored and we return: the instruction faults once more, and the
 *       core that is dumped is that of the fault itself. A signal that somebody sent does not come
 *       again by itself, so it is sent again as it was;
 *     - the system does not let a fault be ignored, but a signal that was sent.
 * The one difference: a handler without SA_ONSTACK runs on the thread's own stack otherwise, and
 * here on ours. When that stack has overflowed it could not have run at all, so it does not.
 *
 * STACKING. Others may install handlers on top of ours and take them away again, and may pass
 * faults on to ours for ever. So ours may be called at any later time, and `before` is kept. And we
 * never put ours on top of a handler that may be passing on to it already.
 */
#include "base/fault.h"

#include "base/lock.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <weir/base.h>

/* Enough for the registers of any processor and for a handler that others have written. Memory is
 * used only when it is touched. */
enum { STACK_SIZE = 64 * 1024 };

static struct {
	int signal;
	bool ours; /* our handler is installed, or may be below somebody else's */
	struct sigaction before;
} faults[] = { { .signal = SIGSEGV }, { .signal = SIGBUS } };

enum { FAULTS = sizeof(faults) / sizeof(*faults) };

static struct weir__lock lock; /* for those who install and take away; handlers do not look */
static unsigned watchers;
static weir__fault_fn *explain_fault;

/* The kernel calls a handler after it was installed, and so after `before` was written, but
 * ThreadSanitizer does not know that. */
#define HANDLER static __attribute__((no_sanitize("thread")))

static bool was_sent(const siginfo_t *info)
{
	return info->si_code <= 0;
}

static void die_of(int signal, siginfo_t *info)
{
	struct sigaction dfl = { .sa_handler = SIG_DFL };

	(void)sigaction(signal, &dfl, NULL);
	if (was_sent(info))
		(void)syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), signal, info);
}

HANDLER void pass_on(int signal, siginfo_t *info, void *context, bool lost)
{
	const struct sigaction *before = signal == faults[0].signal ? &faults[0].before :
								      &faults[1].before;

	if (before->sa_handler == SIG_IGN && was_sent(info))
		return;
	if (before->sa_handler == SIG_DFL || before->sa_handler == SIG_IGN ||
	    (lost && !(before->sa_flags & SA_ONSTACK))) {
		die_of(signal, info);
		return;
	}
	if (before->sa_flags & (int)SA_RESETHAND) {
		struct sigaction dfl = { .sa_handler = SIG_DFL };

		(void)sigaction(signal, &dfl, NULL);
	}
	if (before->sa_flags & SA_SIGINFO)
		before->sa_sigaction(signal, info, context);
	else
		before->sa_handler(signal);
}

HANDLER void on_fault(int signal, siginfo_t *info, void *context)
{
	int saved = errno;
	bool lost = !was_sent(info) && WEIR__PEEK(&explain_fault)(info->si_addr);

	errno = saved;
	pass_on(signal, info, context, lost);
}

static bool is_ours(const struct sigaction *action)
{
	return (action->sa_flags & SA_SIGINFO) && action->sa_sigaction == on_fault;
}

static void install(int i)
{
	struct sigaction now;
	struct sigaction ours = { .sa_sigaction = on_fault };

	if (sigaction(faults[i].signal, NULL, &now) < 0 || is_ours(&now))
		return;
	/* A handler on top of ours may pass on to it; ours on top of that one, they would pass on
	 * to each other. */
	if (faults[i].ours && now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN)
		return;
	/* Known before a fault can need it. */
	faults[i].before = now;
	faults[i].ours = true;
	ours.sa_mask = now.sa_mask;
	ours.sa_flags = SA_SIGINFO | SA_ONSTACK | (now.sa_flags & (int)(SA_NODEFER | SA_RESTART));
	if (sigaction(faults[i].signal, &ours, NULL) < 0)
		faults[i].ours = false;
}

static void take_away(int i)
{
	struct sigaction now;

	if (faults[i].ours && sigaction(faults[i].signal, NULL, &now) == 0 && is_ours(&now) &&
	    sigaction(faults[i].signal, &faults[i].before, NULL) == 0)
		faults[i].ours = false;
}

/* A thread that has a stack for its handlers keeps it. */
static void *give_stack(void)
{
	stack_t now;
	stack_t own = { .ss_size = STACK_SIZE };

	if (sigaltstack(NULL, &now) < 0 || !(now.ss_flags & SS_DISABLE))
		return NULL;
	own.ss_sp = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
	if (own.ss_sp == MAP_FAILED)
		return NULL;
	if (sigaltstack(&own, NULL) == 0)
		return own.ss_sp;
	(void)munmap(own.ss_sp, STACK_SIZE);
	return NULL;
}

static void take_stack(void *stack)
{
	stack_t none = { .ss_flags = SS_DISABLE };
	stack_t now;

	if (sigaltstack(NULL, &now) == 0 && now.ss_sp == stack)
		(void)sigaltstack(&none, NULL);
	(void)munmap(stack, STACK_SIZE);
}

void weir__faults_watch(struct weir__fault_watch *watch, weir__fault_fn *explain)
{
	int saved = errno;

	weir__lock(&lock);
	WEIR__POKE(&explain_fault, explain);
	if (watchers++ == 0) {
		for (int i = 0; i < FAULTS; i++)
			install(i);
	}
	weir__unlock(&lock);
	watch->stack = give_stack();
	watch->on = true;
	errno = saved;
}

void weir__faults_unwatch(struct weir__fault_watch *watch)
{
	int saved = errno;

	if (!watch->on)
		return;
	watch->on = false;
	weir__lock(&lock);
	if (--watchers == 0) {
		for (int i = 0; i < FAULTS; i++)
			take_away(i);
	}
	weir__unlock(&lock);
	if (watch->stack)
		take_stack(watch->stack);
	errno = saved;
}
