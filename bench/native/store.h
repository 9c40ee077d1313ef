/* bench: what the benchmarks of the stores have in common. Each question is asked beside a bare
 * peer, in turns, and prints lines of `key value`. */
#ifndef BENCH_STORE_H
#define BENCH_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <weir/lease.h>

enum { BENCH_ROUNDS_MAX = 1000 };

struct bench {
	char url[400];
	size_t rounds;
	const char *only; /* a question; NULL: all */
};

/* Ends the program unless all is well. */
void need(bool good, const char *what);

/* Reads `rounds=N`, or `seconds=S`, of which each is a hundred rounds, and the name of a question.
 */
void bench_read(struct bench *bench, char **arguments);
bool bench_asks(const struct bench *bench, const char *question);
/* Puts an option behind a URL. */
void bench_option(struct bench *bench, const char *option);

/* The value that a part of all are below: 0.5 is the median. */
double part_of(double *values, size_t n, double part);
/* The medians of two, and how many times the second the first is. */
void print_ratio(const char *question, const char *ours, double *our, const char *theirs,
		 double *their, size_t n);

struct weir_store *open_store(const struct bench *bench);
struct weir_lease *take(struct weir_store *store, const char *name, uint32_t limit);
void give(struct weir_lease *lease);
double microseconds_since(weir_time start);
/* Microseconds of each, of some pairs. */
double pairs(struct weir_store *store, const char *name, uint32_t limit);
enum { PAIRS = 200 };

/* What something bare takes, in microseconds. */
typedef double bench_bare(void *argument);

/* pair      an acquire and a release by one thread, beside something bare */
void bench_pair(const struct bench *bench, const char *peer, bench_bare *bare, void *argument);
/* threads   pairs in a second by 64 threads of one process, beside one thread */
void bench_threads(const struct bench *bench);
double bench_rate(struct weir_store *store, size_t threads);
/* live      a pair while 9,999 leases live, beside one while 10 live */
void bench_live(const struct bench *bench);
/* wake      from a release in one process until another one holds, beside something bare: many in a
 *           row; and after some milliseconds of rest, when processors sleep and caches are cold.
 *           What comes before the bare one and is not timed, if anything does, is `prepare`. */
void bench_wake(const struct bench *bench, const char *peer, void (*prepare)(void *argument),
		bench_bare *bare, void *argument);
/* kill      from kill -9 of a holder until the next process holds */
void bench_kill(const struct bench *bench);

/* Another process, which is told times and tells some. It ends when nobody tells it any more. */
struct other {
	pid_t pid;
	int to, from;
};

struct other start(const struct bench *bench,
		   void (*run)(const struct bench *bench, int from, int to));
void end(struct other *other);
void say(int fd, weir_time time);
weir_time hear(int fd);

#endif
