/* demo: threads through one semaphore, with everything that happens printed. `make demo` runs it.
 *
 * Four acts and the statistics, all on the same three permits. The program checks what it shows and
 * exits with 1 when something is wrong. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <weir/weir.h>

enum { PERMITS = 3, WORKERS = 8 };

/* Counted, so that the statistics at the end also know the peak. */
static struct weir_sem_counted counted;
static struct weir_sem *const gate = &counted.sem;

/* A mutex is a semaphore of one permit. It guards the screen and what is noted down below. */
static struct weir_sem screen = WEIR_SEM_INIT(1);
static char inside[PERMITS];
static int queued;
static char order[WORKERS + 1];
static weir_time start;
static int mistakes;

static void nap(int ms)
{
	struct timespec time = { .tv_nsec = ms * 1000000L };

	nanosleep(&time, NULL);
}

static int since_start(void)
{
	return (int)((weir_now() - start) / WEIR_MS);
}

static void expect(bool right, const char *what)
{
	if (!right) {
		printf("WRONG: %s\n", what);
		mistakes++;
	}
}

static void run(pthread_t *thread, void *(*function)(void *), const char *name)
{
	if (pthread_create(thread, NULL, function, (void *)(uintptr_t)name) != 0) {
		perror("pthread_create");
		exit(1);
	}
}

/* Returns when `n` requests are in the queue. */
static void await_queue(uint32_t n)
{
	struct weir_sem_stats stats;

	do {
		nap(1);
		weir_sem_stats(gate, &stats);
	} while (stats.waiting != n);
}

static void act(int number, const char *title)
{
	printf("\n%d. %s\n\n", number, title);
	memset(order, 0, sizeof(order));
	start = weir_now();
}

static void note(char name)
{
	order[strlen(order)] = name;
}

/* 1. Who is inside, at every moment. */

static void show(char name, const char *does)
{
	printf("%6d ms   %c %-8s   inside [", since_start(), name, does);
	for (int i = 0; i < PERMITS; i++)
		printf("%s%c", i > 0 ? " " : "", inside[i] ? inside[i] : '.');
	printf("]   waiting %d\n", queued);
}

/* Puts `name` where `old` is. */
static void swap(char old, char name)
{
	char *slot = memchr(inside, old, sizeof(inside));

	expect(slot != NULL, "P1: more workers inside than permits");
	if (slot)
		*slot = name;
}

static void *visitor(void *arg)
{
	char name = *(const char *)arg;

	WEIR_HOLD(&screen, 1) {
		queued++;
		show(name, "arrives");
	}
	WEIR_HOLD(gate, 1) {
		WEIR_HOLD(&screen, 1) {
			queued--;
			swap('\0', name);
			show(name, "enters");
		}
		nap(200);
		WEIR_HOLD(&screen, 1) {
			swap(name, '\0');
			show(name, "leaves");
			note(name);
		}
	}
	return NULL;
}

static void act_count(void)
{
	pthread_t threads[WORKERS];

	act(1, "Eight workers, three permits: never more than three inside");
	for (int i = 0; i < WORKERS; i++) {
		run(&threads[i], visitor, &"ABCDEFGH"[i]);
		nap(25);
	}
	for (int i = 0; i < WORKERS; i++)
		pthread_join(threads[i], NULL);
	expect(strlen(order) == WORKERS, "P4: somebody was never let in");
}

/* 2. The order in which they are let in. */

static void *in_line(void *arg)
{
	WEIR_HOLD(gate, 1) {
		/* The only permit is ours, so nobody else writes now. */
		note(*(const char *)arg);
	}
	return NULL;
}

static void act_order(void)
{
	static const char arrival[] = "DBHACFEG";
	pthread_t threads[WORKERS];

	act(2, "The limit lowered to one: first come, first served");
	weir_sem_resize(gate, 1);
	weir_sem_acquire(gate, 1);
	for (uint32_t i = 0; i < WORKERS; i++) {
		run(&threads[i], in_line, &arrival[i]);
		await_queue(i + 1);
	}
	weir_sem_release(gate, 1);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(threads[i], NULL);
	weir_sem_resize(gate, PERMITS);

	printf("           came in line   let in\n");
	for (int i = 0; i < WORKERS; i++)
		printf("     %d.         %c            %c\n", i + 1, arrival[i], order[i]);
	expect(strcmp(order, arrival) == 0, "P3: not in the order of arrival");
}

/* 3. A heavy request among light ones. */

static void *heavy(void *arg)
{
	(void)arg;
	WEIR_HOLD(gate, PERMITS) {
		note('H');
		printf("%6d ms   H has all %d permits\n", since_start(), PERMITS);
		nap(50);
		printf("%6d ms   H leaves\n", since_start());
	}
	return NULL;
}

static void *light(void *arg)
{
	WEIR_HOLD(gate, 1) {
		WEIR_HOLD(&screen, 1) {
			note(*(const char *)arg);
			printf("%6d ms   a light one enters\n", since_start());
		}
	}
	return NULL;
}

static void act_heavy(void)
{
	pthread_t threads[4];
	int error;

	act(3, "A heavy request is not starved by light ones");
	weir_sem_acquire(gate, 2);
	printf("%6d ms   two permits are taken, one is free\n", since_start());
	run(&threads[0], heavy, "H");
	await_queue(1);
	printf("%6d ms   H asks for all %d and waits\n", since_start(), PERMITS);
	for (uint32_t i = 1; i < 4; i++) {
		run(&threads[i], light, "l");
		await_queue(1 + i);
	}
	printf("%6d ms   three light ones ask for 1 each and wait behind H\n", since_start());
	error = weir_sem_try_acquire(gate, 1);
	printf("%6d ms   a try for the free one: %s\n", since_start(), weir_strerror(error));
	expect(error == -EAGAIN, "P3: a try overtook those who wait");
	weir_sem_release(gate, 2);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	expect(strcmp(order, "Hlll") == 0, "P3: the heavy request was overtaken");
}

/* 4. Giving up. */

static void act_timeout(void)
{
	weir_time deadline;
	weir_time late;
	int error;

	act(4, "A deadline of 100 ms");
	weir_sem_acquire(gate, PERMITS);
	deadline = weir_after(100 * WEIR_MS);
	error = weir_sem_acquire_until(gate, 1, deadline);
	late = weir_now() - deadline;
	printf("%6d ms   %s\n", since_start(), weir_strerror(error));
	expect(error == -ETIMEDOUT, "P5: a permit from nowhere");
	expect(late >= 0, "P9: a timeout came early");
	weir_sem_release(gate, PERMITS);
}

static void row(const char *name, uint64_t value)
{
	printf("   %-22s %6llu\n", name, (unsigned long long)value);
}

static void print_statistics(void)
{
	struct weir_sem_stats stats;

	weir_sem_stats(gate, &stats);
	printf("\nThe semaphore's own statistics\n\n");
	row("limit", stats.limit);
	row("free", stats.free);
	row("held", stats.held);
	row("waiting", stats.waiting);
	row("most ever held", stats.peak_held);
	row("granted at once", stats.granted_at_once);
	row("granted after a wait", stats.granted_after_wait);
	row("timed out", stats.timed_out);
	row("longest wait, ms", (uint64_t)(stats.wait_longest / WEIR_MS));
	row("all waits together, ms", (uint64_t)(stats.wait_total / WEIR_MS));
	expect(stats.free == PERMITS && stats.held == 0 && stats.waiting == 0, "P2: not at rest");
	expect(stats.peak_held <= PERMITS, "P1: more permits out than there are");
	expect(stats.timed_out == 1, "P5: one request timed out");
}

int main(void)
{
	if (weir_sem_init_counted(&counted, PERMITS) < 0)
		return 1;
	printf("weir %s: a semaphore of %d permits\n", weir_version(), PERMITS);
	act_count();
	act_order();
	act_heavy();
	act_timeout();
	print_statistics();
	printf("\n%s\n", mistakes ? "Something is wrong, see above." : "All as promised.");
	return mistakes ? 1 : 0;
}
