/* model: the search. */
#include "model/search.h"

#include "model/random.h"

#include <string.h>
#include <time.h>

static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/* A point where there was a choice. */
struct choice {
	uint8_t count;
	uint8_t taken;
	uint8_t preemptions; /* before it */
	uint8_t asleep;      /* threads whose step need not be taken from here, one bit each ... */
	bool inside;         /* a choice inside a step */
	uint32_t costly;
	struct move moves[MAX_MOVES];
	struct footprint footprints[MAX_THREADS]; /* ... and what their steps touch */
};

static struct {
	struct search_config config;
	struct choice choices[MAX_CHOICES];
	int made;     /* choices in this execution so far */
	int repeated; /* as many are the same as in the last one */
	int preemptions;
	bool cut;
	uint64_t salt;
	uint64_t states;
	struct choice *running; /* the one that chose the step under way */
	uint8_t asleep;
	struct footprint footprints[MAX_THREADS];
	int longest; /* choices in an execution so far */
} search;

double seconds_now(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* The first move from `from` on that is to be explored; -1 when there is none. */
static int next_move(const struct choice *choice, int from)
{
	for (int i = from; i < choice->count; i++) {
		int cost = choice->costly >> i & 1;

		if (choice->inside)
			return i;
		if (search.config.preemptions != ANY_NUMBER &&
		    choice->preemptions + cost > search.config.preemptions)
			continue;
		if (choice->moves[i].kind == MOVE_RUN &&
		    (choice->asleep >> choice->moves[i].thread & 1))
			continue;
		return i;
	}
	return -1;
}

static bool seen_before(void)
{
	uint64_t seed = search.salt;

	if (!search.config.remember)
		return false;
	if (search.config.preemptions != ANY_NUMBER)
		seed ^= (uint64_t)search.preemptions << 8 |
			(uint64_t)(engine.last ? thread_index(engine.last) + 1 : 0);
	if (!state_is_new(state_hash(seed)))
		return true;
	search.states++;
	return false;
}

static int cut(void)
{
	search.cut = true;
	return -1;
}

/* The choice is the last execution's, or a new one. */
static int decide(struct choice *choice)
{
	int taken;

	if (search.made < search.repeated) {
		taken = choice->taken;
	} else if (search.config.kind == SEARCH_ALL) {
		taken = next_move(choice, 0);
	} else if (search.config.kind == SEARCH_RANDOM) {
		taken = choice->inside ? (int)random_below(choice->count) :
					 random_move(choice->moves, choice->count, search.made);
	} else {
		taken = 0;
	}
	if (taken >= choice->count) {
		fail("this string of choices does not belong to this program");
		return cut();
	}
	if (taken < 0)
		return cut();
	choice->taken = (uint8_t)taken;
	search.made++;
	return taken;
}

static struct choice *new_choice(int count)
{
	struct choice *choice = &search.choices[search.made];

	if (search.made == MAX_CHOICES) {
		fail("no end after %d choices", MAX_CHOICES);
		return NULL;
	}
	choice->count = (uint8_t)count;
	return choice;
}

int search_choose(const struct move *moves, int count, uint32_t costly)
{
	struct choice *choice;
	int taken;

	search.running = NULL;
	if (count == 1) {
		if (moves[0].kind != MOVE_RUN)
			search.asleep = 0;
		return search.asleep >> moves[0].thread & 1 ? cut() : 0;
	}
	choice = new_choice(count);
	if (!choice)
		return -1;
	if (search.made >= search.repeated) {
		if (seen_before())
			return cut();
		choice->inside = false;
		choice->preemptions = (uint8_t)search.preemptions;
		choice->costly = costly;
		choice->asleep = search.asleep;
		memcpy(choice->moves, moves, (size_t)count * sizeof(*moves));
		memcpy(choice->footprints, search.footprints, sizeof(choice->footprints));
	}
	taken = decide(choice);
	if (taken < 0)
		return -1;
	search.preemptions += (int)(costly >> taken & 1);
	if (search.config.sleep_sets) {
		search.running = choice;
		search.asleep = moves[taken].kind == MOVE_RUN ? choice->asleep : 0;
		memcpy(search.footprints, choice->footprints, sizeof(search.footprints));
	}
	return taken;
}

int search_pick(int count)
{
	struct choice *choice;
	int taken;

	engine.footprint.everything = true;
	if (count == 1)
		return 0;
	choice = new_choice(count);
	if (!choice)
		return 0;
	choice->inside = true;
	taken = decide(choice);
	return taken < 0 ? 0 : taken;
}

void search_stepped(int thread, const struct footprint *footprint)
{
	if (!search.config.sleep_sets)
		return;
	if (search.running)
		search.running->footprints[thread] = *footprint;
	for (int i = 0; i < engine.threads; i++) {
		if ((search.asleep >> i & 1) &&
		    (i == thread || !footprints_commute(&search.footprints[i], footprint)))
			search.asleep &= (uint8_t) ~(1u << i);
	}
}

/* Turns to the next execution: the last choice that can be made otherwise is. */
static bool backtrack(void)
{
	for (int i = search.made - 1; i >= 0; i--) {
		struct choice *choice = &search.choices[i];
		const struct move *taken = &choice->moves[choice->taken];
		int next;

		if (search.config.sleep_sets && !choice->inside && taken->kind == MOVE_RUN)
			choice->asleep |= (uint8_t)(1u << taken->thread);
		next = next_move(choice, choice->taken + 1);
		if (next >= 0) {
			choice->taken = (uint8_t)next;
			search.repeated = i + 1;
			return true;
		}
	}
	return false;
}

static void load_replay(const char *string)
{
	for (; *string && search.repeated < MAX_CHOICES; string++) {
		const char *digit = strchr(digits, *string);

		search.choices[search.repeated++].taken = (uint8_t)(digit ? digit - digits :
									    MAX_MOVES);
	}
}

static void report(struct search_result *ret)
{
	ret->failed = true;
	memcpy(ret->failure, engine.failure, sizeof(ret->failure));
	for (int i = 0; i < search.made; i++)
		ret->choices[i] = digits[search.choices[i].taken];
	ret->choices[search.made] = '\0';
}

static bool out_of_budget(const struct search_config *config, const struct search_result *result,
			  double start)
{
	if (config->schedules > 0 && result->schedules >= config->schedules)
		return true;
	return config->seconds > 0 && result->schedules % 64 == 0 &&
	       seconds_now() - start > config->seconds;
}

void search_run(const struct model *model, const struct search_config *config,
		struct search_result *ret)
{
	static uint64_t runs;
	double start = seconds_now();
	uint64_t steps = engine.all_steps;

	memset(ret, 0, sizeof(*ret));
	search.config = *config;
	search.repeated = 0;
	search.states = 0;
	search.longest = 0;
	search.salt = ++runs << 32;
	engine.stores = false;
	if (config->kind == SEARCH_REPLAY)
		load_replay(config->replay);
	do {
		search.made = 0;
		search.preemptions = 0;
		search.cut = false;
		search.asleep = 0;
		if (config->kind == SEARCH_RANDOM)
			random_begin(config->seed + ret->schedules, config->changes,
				     search.longest);
		engine_execute(model, config->environment);
		ret->schedules++;
		if (engine.failed) {
			report(ret);
			break;
		}
		if (!search.cut && config->ended)
			config->ended();
		if (search.made > search.longest)
			search.longest = search.made;
		if (config->kind == SEARCH_REPLAY)
			break;
		if (config->kind == SEARCH_ALL && !backtrack()) {
			ret->exhausted = true;
			break;
		}
	} while (!out_of_budget(config, ret, start));
	ret->stores = engine.stores;
	ret->states = search.states;
	ret->steps = engine.all_steps - steps;
	ret->seconds = seconds_now() - start;
}
