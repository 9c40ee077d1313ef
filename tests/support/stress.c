/* support: options, seed and checks of the stress programs. */
#include "support/stress.h"

#include "base/random.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

static struct {
	const char *program;
	uint64_t seed;
	weir_time end;
	uint64_t most_rounds;
	uint64_t rounds;
} run;

/* SplitMix64: every seed is a good one, and neighbours are unrelated. */
uint64_t rng_next(struct rng *rng)
{
	uint64_t z = (rng->state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

uint32_t rng_below(struct rng *rng, uint32_t bound)
{
	return (uint32_t)((rng_next(rng) >> 32) * bound >> 32);
}

uint32_t rng_between(struct rng *rng, uint32_t low, uint32_t high)
{
	return low + rng_below(rng, high - low + 1);
}

bool rng_one_in(struct rng *rng, uint32_t n)
{
	return rng_below(rng, n) == 0;
}

static _Noreturn void usage(void)
{
	(void)fprintf(stderr, "usage: %s [--seconds S] [--rounds N] [--seed X]\n", run.program);
	exit(2);
}

static uint64_t whole_number(const char *text)
{
	char *end;
	uint64_t value = strtoull(text, &end, 0);

	if (end == text || *end)
		usage();
	return value;
}

static double decimal(const char *text)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || !(value >= 0 && value < 1e9))
		usage();
	return value;
}

void stress_begin(int argc, char **argv, double seconds)
{
	static const struct option options[] = {
		{ "seconds", required_argument, NULL, 's' },
		{ "rounds", required_argument, NULL, 'r' },
		{ "seed", required_argument, NULL, 'x' },
		{ NULL, 0, NULL, 0 },
	};
	bool seconds_given = false;
	bool rounds_given = false;
	int option;

	run.program = argv[0];
	run.most_rounds = UINT64_MAX;
	if (weir__random(&run.seed, sizeof(run.seed)) < 0)
		run.seed = (uint64_t)weir_now();
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 's') {
			seconds = decimal(optarg);
			seconds_given = true;
		} else if (option == 'r') {
			run.most_rounds = whole_number(optarg);
			rounds_given = true;
		} else if (option == 'x') {
			run.seed = whole_number(optarg);
		} else {
			usage();
		}
	}
	if (optind < argc)
		usage();
	run.end = WEIR_NEVER;
	if (seconds_given || !rounds_given)
		run.end = weir_after((weir_time)(seconds * (double)WEIR_SECOND));
	(void)printf("%s --seed 0x%016" PRIx64 "\n", run.program, run.seed);
	(void)fflush(stdout);
}

bool stress_round(void)
{
	if (run.rounds == run.most_rounds || (run.rounds > 0 && weir_now() >= run.end))
		return false;
	run.rounds++;
	return true;
}

uint64_t stress_rounds(void)
{
	return run.rounds;
}

struct rng stress_rng(uint64_t salt)
{
	struct rng rng = { run.seed ^ run.rounds << 32 };

	rng.state = rng_next(&rng) + salt;
	rng.state = rng_next(&rng);
	return rng;
}

static void lose_the_processor(int signal)
{
	int saved = errno;

	(void)signal;
	(void)sched_yield();
	errno = saved;
}

void stress_shake(void)
{
	struct sigaction action = { .sa_handler = lose_the_processor };
	struct itimerval often = { .it_interval = { .tv_usec = 100 },
				   .it_value = { .tv_usec = 1 } };
	sigset_t alarm;

	(void)sigemptyset(&alarm);
	(void)sigaddset(&alarm, SIGALRM);
	/* The kernel prefers the main thread, which is not the interesting one. */
	CHECK_EQ(pthread_sigmask(SIG_BLOCK, &alarm, NULL), 0);
	CHECK_EQ(sigaction(SIGALRM, &action, NULL), 0);
	CHECK_EQ(setitimer(ITIMER_REAL, &often, NULL), 0);
}

_Noreturn void stress_fail(const char *file, int line, const char *what, long long left,
			   long long right)
{
	(void)fprintf(stderr,
		      "%s:%d: %s does not hold (%lld, %lld)\nround %" PRIu64
		      " of %s --seed 0x%016" PRIx64 "\n",
		      file, line, what, left, right, run.rounds, run.program, run.seed);
	_exit(1);
}
