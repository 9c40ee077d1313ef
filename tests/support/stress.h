/* support: what every stress program has: options, a printed seed, checks.
 *
 *     --seconds S   how long, decimals allowed
 *     --rounds N    how many rounds, instead or as well: whichever ends first
 *     --seed X      the seed of an earlier run; without it, a new one
 *
 * The seed fixes what each thread asks for, not how the kernel interleaves them: a failure is
 * likely, not certain, to come back. */
#ifndef TESTS_SUPPORT_STRESS_H
#define TESTS_SUPPORT_STRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <weir/base.h>

struct rng {
	uint64_t state;
};

uint64_t rng_next(struct rng *rng);

/* A number from 0 to `bound` - 1. */
uint32_t rng_below(struct rng *rng, uint32_t bound);

/* A number from `low` to `high`, both included. */
uint32_t rng_between(struct rng *rng, uint32_t low, uint32_t high);

/* True once in `n` times. */
bool rng_one_in(struct rng *rng, uint32_t n);

/* Reads the options and prints the seed; ends the program when an option is wrong. `seconds` is how
 * long it runs when no option says otherwise. */
void stress_begin(int argc, char **argv, double seconds);

/* Whether another round is due. Counts the rounds. */
bool stress_round(void);

/* The number of the round, from 1. */
uint64_t stress_rounds(void);

/* A generator of its own for each thread of each round: `salt` tells the threads apart. */
struct rng stress_rng(uint64_t salt);

/* From now on the other threads lose the processor thousands of times a second, at any instruction:
 * what needs a preemption in the right place then happens within seconds. */
void stress_shake(void);

/* Prints the failure with the seed and ends the program. */
_Noreturn void stress_fail(const char *file, int line, const char *what, long long left,
			   long long right);

#define CHECK(condition)                                                   \
	do {                                                               \
		if (!(condition))                                          \
			stress_fail(__FILE__, __LINE__, #condition, 0, 0); \
	} while (0)

#define CHECK_EQ(left, right)                                                                \
	do {                                                                                 \
		long long left_ = (long long)(left), right_ = (long long)(right);            \
		if (left_ != right_)                                                         \
			stress_fail(__FILE__, __LINE__, #left " == " #right, left_, right_); \
	} while (0)

#endif
