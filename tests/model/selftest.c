/* model: the test of the explorer itself: what it must find, what it must not, and that its short
 * cuts leave nothing out. */
#include "model/fault.h"
#include "model/generated.h"
#include "model/models.h"
#include "model/search.h"
#include "model/toys.h"

#include <stdlib.h>
#include <string.h>

static struct search_result result;
static int failures;

static void check(bool right, const char *model, const char *what)
{
	printf("%s %s: %s\n", right ? "ok    " : "FAILED", model, what);
	failures += !right;
}

static bool find(const struct model *model, int preemptions, unsigned environment)
{
	struct search_config config = {
		.preemptions = preemptions,
		.remember = true,
		.environment = environment,
	};

	search_run(model, &config, &result);
	return result.failed;
}

/* Each mistake is found, and called by its name. */
static void test_mistakes(void)
{
	static const struct {
		const struct model *model;
		const char *name;
	} mistakes[] = {
		{ &toy_check_then_act, "two are inside" },
		{ &toy_lost_wake, "deadlock" },
		{ &toy_use_after_free, "freed memory" },
		{ &toy_write_after_free, "memory that had been freed" },
		{ &toy_double_free, "not in use" },
		{ &toy_use_after_return, "a function that has returned" },
#if defined(__x86_64__) /* elsewhere a switch leaves a large frame, right on top of the place */
		{ &toy_write_after_return, "where a function had returned" },
#endif
		{ &toy_crash, "crashed" },
		{ &toy_endless, "endless loop" },
		{ &toy_livelock, "livelock" },
		{ &toy_held_twice, "P2" },
		{ &toy_bad_count, "stats" },
	};

	for (size_t i = 0; i < sizeof(mistakes) / sizeof(*mistakes); i++) {
		bool found = find(mistakes[i].model, ANY_NUMBER, 0) &&
			     strstr(result.failure, mistakes[i].name);

		check(found, mistakes[i].model->name, found ? "found" : result.failure);
	}
}

/* Looking and acting in two steps takes two preemptions to fail; random runs find it, too; and a
 * string of choices leads to the same failure again. */
static void test_searches(void)
{
	static char choices[MAX_CHOICES + 1];
	const struct model *model = &toy_check_then_act;
	struct search_config random = {
		.kind = SEARCH_RANDOM, .seed = 1, .changes = 2, .schedules = 10000
	};
	struct search_config again = { .kind = SEARCH_REPLAY, .replay = choices };
	uint64_t schedules;

	check(!find(model, 1, 0) && result.exhausted, model->name, "right with one preemption");
	check(find(model, 2, 0), model->name, "wrong with two");
	memcpy(choices, result.choices, sizeof(choices));
	search_run(model, &again, &result);
	check(result.failed && strcmp(result.choices, choices) == 0, model->name, "replayed");
	search_run(model, &random, &result);
	schedules = result.schedules;
	check(result.failed, model->name, "found at random");
	search_run(model, &random, &result);
	check(result.schedules == schedules, model->name,
	      "found after as many runs with that seed");
}

/* The results that a litmus test can have, one bit for each pair of R0 and R1. */
static unsigned outcomes;

static void note_outcome(void)
{
	outcomes |= 1u << (*m_word(TOY_R0) * 2 + *m_word(TOY_R1));
}

static unsigned outcomes_of(const struct model *model, unsigned environment)
{
	struct search_config config = {
		.preemptions = ANY_NUMBER,
		.environment = environment,
		.ended = note_outcome,
	};

	outcomes = 0;
	search_run(model, &config, &result);
	return result.failed ? 0 : outcomes;
}

static void test_outcomes(void)
{
	enum { R00 = 1, R01 = 2, R10 = 4, R11 = 8, SIGNAL_AT_0 = R01, SIGNAL_AT_1 = R11 };

	check(outcomes_of(&toy_store_buffering, 0) == (R01 | R10 | R11), "store buffering",
	      "in order without buffers");
	check(outcomes_of(&toy_store_buffering, ENV_TSO) == (R00 | R01 | R10 | R11),
	      "store buffering", "both may miss the other with buffers");
	check(outcomes_of(&toy_store_buffering_ordered, ENV_TSO) == (R01 | R10 | R11),
	      "store buffering", "ordered stores leave the buffer at once");
	check(outcomes_of(&toy_message_passing, ENV_TSO) == (R00 | R01 | R11), "message passing",
	      "buffers keep the order of stores");
	check(outcomes_of(&toy_wake_any, 0) == (R00 | R10), "futex", "any sleeper may be woken");
	check((outcomes_of(&toy_signal, 0) & (SIGNAL_AT_0 | SIGNAL_AT_1)) ==
		      (SIGNAL_AT_0 | SIGNAL_AT_1),
	      "signal", "the handler comes anywhere");
	check(outcomes_of(&toy_timeout, 0) == (R00 | R10), "futex",
	      "a deadline may pass, never early");
}

/* The states in which a program can end. */
enum { MAX_ENDS = 1 << 14, MOST_SCHEDULES = 400000, GENERATED_SCHEDULES = 60000, GENERATED = 40 };

static struct ends {
	uint64_t hashes[MAX_ENDS];
	int count;
} * noting;

static void note_end(void)
{
	uint64_t hash = state_hash(0);

	for (int i = 0; i < noting->count; i++) {
		if (noting->hashes[i] == hash)
			return;
	}
	if (noting->count < MAX_ENDS)
		noting->hashes[noting->count++] = hash;
}

static int compare(const void *a, const void *b)
{
	uint64_t one = *(const uint64_t *)a;
	uint64_t other = *(const uint64_t *)b;

	return (one > other) - (one < other);
}

/* Zero when it failed or there were too many schedules. */
static uint64_t ends_of(const struct model *model, unsigned environment, struct ends *ends,
			uint64_t most, bool remember, bool sleep_sets)
{
	struct search_config config = {
		.environment = environment,
		.preemptions = ANY_NUMBER,
		.schedules = most,
		.remember = remember,
		.sleep_sets = sleep_sets,
		.ended = note_end,
	};

	ends->count = 0;
	noting = ends;
	search_run(model, &config, &result);
	qsort(ends->hashes, (size_t)ends->count, sizeof(*ends->hashes), compare);
	return result.failed || !result.exhausted ? 0 : result.schedules;
}

static bool same(const struct ends *a, const struct ends *b)
{
	return a->count == b->count &&
	       memcmp(a->hashes, b->hashes, (size_t)a->count * sizeof(*a->hashes)) == 0;
}

static void pass(void)
{
	m_pass(1);
}

static void release(void)
{
	(void)m_release(1);
}

static void wait_a_while(void)
{
	if (m_acquire_until(1, 10) == 0)
		release();
}

TASK(task_pass)
{
	m_pass(1);
	return 0;
}

RUN(run, task_pass)

/* Neither remembered states nor sleep sets leave out an end that the full search reaches. */
static void test_short_cuts(void)
{
	static struct ends full, fewer;
	static const struct model models[] = {
		{ .name = "pass", .permits = 1, .threads = { pass, pass } },
		{ .name = "hand-off", .permits = 1, .held = 1, .threads = { release, pass } },
		{ .name = "deadline", .permits = 1, .held = 1, .threads = { wait_a_while } },
		{ .name = "three threads",
		  .permits = 3,
		  .held = 3,
		  .threads = { release, release, release } },
		{ .name = "task", .permits = 2, .held = 1, .threads = { run, release } },
	};

	for (size_t i = 0; i < sizeof(models) / sizeof(*models); i++) {
		const struct model *model = &models[i];
		uint64_t schedules = ends_of(model, 0, &full, MOST_SCHEDULES, false, false);
		uint64_t with_sleep = ends_of(model, 0, &fewer, MOST_SCHEDULES, false, true);
		bool sleep_same = same(&full, &fewer);
		uint64_t with_states = ends_of(model, 0, &fewer, MOST_SCHEDULES, true, false);

		printf("       %s: %d ends; %llu schedules, %llu with sleep sets, %llu with "
		       "states\n",
		       model->name, full.count, (unsigned long long)schedules,
		       (unsigned long long)with_sleep, (unsigned long long)with_states);
		check(schedules > 0 && full.count > 0, model->name, "searched in full");
		check(sleep_same && with_sleep > 0 && with_sleep <= schedules, model->name,
		      "the same ends with sleep sets");
		check(same(&full, &fewer) && with_states > 0 && with_states <= schedules,
		      model->name, "the same ends with remembered states");
	}
}

/* Both again, against each other, on programs that nobody thought of. */
static void test_generated(void)
{
	static struct ends by_states, by_sleep;
	int compared = 0;
	int different = 0;

	for (uint64_t number = 1; number <= GENERATED; number++) {
		unsigned environment;
		const struct model *model = generated_model(number, &environment);

		/* More threads have too many schedules for sleep sets alone. */
		if (model->threads[2] ||
		    ends_of(model, environment, &by_sleep, GENERATED_SCHEDULES, false, true) == 0 ||
		    ends_of(model, environment, &by_states, GENERATED_SCHEDULES, true, false) == 0)
			continue;
		compared++;
		different += !same(&by_sleep, &by_states);
	}
	printf("       %d generated programs compared\n", compared);
	check(compared > 0 && different == 0, "generated", "the same ends by both short cuts");
}

int main(void)
{
	setlinebuf(stdout);
	engine_init();
	fault_init();
	test_mistakes();
	test_searches();
	test_outcomes();
	test_short_cuts();
	test_generated();
	return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
