/* model: dividing the time among models and programs. */
#include "model/plan.h"

#include "model/generated.h"
#include "model/models.h"
#include "model/report.h"

#include <stdlib.h>
#include <string.h>

enum {
	MAX_ROWS = 256,
	PRIORITY_CHANGES = 4,
	/* A generated program is given up after so many schedules; then so many at random. */
	PROGRAM_SCHEDULES = 50000,
	PROGRAM_RANDOM = 20000,
};

/* The parts of the time that are kept for models with store buffers and for generated programs. */
#define FOR_BUFFERS 0.1
#define FOR_PROGRAMS 0.15

static struct {
	const struct request *request;
	struct row rows[MAX_ROWS];
	int count;
	double deadline;
	uint64_t schedules; /* all in all */
} plan;

static double time_left(void)
{
	return plan.deadline - seconds_now();
}

static bool is_generated(void)
{
	return plan.request->model && strcmp(plan.request->model, "generated") == 0;
}

static bool is_asked_for(const struct model *model)
{
	return !plan.request->model || strcmp(plan.request->model, model->name) == 0;
}

static void add_rows(unsigned environment, int *number)
{
	const struct request *request = plan.request;

	for (int l = 0; model_lists[l]; l++) {
		for (int i = 0; i < model_lists[l]->count; i++) {
			const struct model *model = &model_lists[l]->models[i];

			if (!is_asked_for(model) ||
			    ++*number % request->parts != request->part % request->parts ||
			    plan.count == MAX_ROWS)
				continue;
			plan.rows[plan.count++] = (struct row){
				.model = model,
				.environment = environment,
				.reached = REACHED_NOTHING,
			};
		}
	}
}

static void begin(const struct request *request)
{
	int number = 0;

	plan.request = request;
	plan.deadline = seconds_now() + request->seconds;
	add_rows(request->environment > 0 ? (unsigned)request->environment : 0, &number);
	if (request->environment < 0)
		add_rows(ENV_FREEZE, &number);
	if (plan.count == 0 && !is_generated()) {
		fprintf(stderr, "explorer: no such model\n");
		exit(2);
	}
}

/* Buffers make a difference only to models with stores that could wait in one. */
static void add_buffered_rows(void)
{
	for (int i = 0; i < plan.count && plan.count < MAX_ROWS; i++) {
		if (plan.rows[i].environment == 0 && plan.rows[i].stores)
			plan.rows[plan.count++] = (struct row){
				.model = plan.rows[i].model,
				.environment = ENV_TSO,
				.reached = REACHED_NOTHING,
			};
	}
}

static bool is_open(const struct row *row)
{
	return row->reached != REACHED_ALL && row->reached != REACHED_FAILURE;
}

/* Whether all was explored that the search may explore. */
static bool explore(struct row *row, struct search_config *config)
{
	static struct search_result result;

	config->environment = row->environment;
	search_run(row->model, config, &result);
	plan.schedules += result.schedules;
	row->schedules += result.schedules;
	row->steps += result.steps;
	row->states += result.states;
	row->seconds += result.seconds;
	row->stores |= result.stores;
	if (result.failed) {
		row->reached = REACHED_FAILURE;
		report_failure(&result, row, plan.schedules);
		if (plan.request->stop)
			exit(EXIT_FAILURE);
		report_trace(&result, row);
	}
	return result.exhausted;
}

static int by_seconds(const void *a, const void *b)
{
	const struct row *one = *(struct row *const *)a;
	const struct row *other = *(struct row *const *)b;

	return (one->seconds > other->seconds) - (one->seconds < other->seconds);
}

/* One pass over all rows from `first` on that are not finished. Each gets an equal part of the time
 * that is left, those first that have been quick so far, so that what they do not need goes to the
 * others. */
static void pass(int first, struct search_config *config)
{
	struct row *order[MAX_ROWS];
	int left = 0;

	for (int i = first; i < plan.count; i++) {
		if (is_open(&plan.rows[i]))
			order[left++] = &plan.rows[i];
	}
	qsort(order, (size_t)left, sizeof(*order), by_seconds);
	for (struct row **next = order; left > 0; next++) {
		config->seconds = time_left() / left--;
		if (config->seconds > 0 && explore(*next, config))
			(*next)->reached = config->preemptions == ANY_NUMBER ? REACHED_ALL :
									       config->preemptions;
	}
}

static void run_as_told(void)
{
	const struct request *request = plan.request;
	struct search_config config = {
		.kind = strcmp(request->search, "random") == 0 ? SEARCH_RANDOM : SEARCH_ALL,
		.preemptions = request->bound,
		.remember = strcmp(request->search, "states") == 0,
		.sleep_sets = strcmp(request->search, "sleep") == 0,
		.seed = request->seed,
		.changes = PRIORITY_CHANGES,
	};

	pass(0, &config);
}

static void run_rows(int first)
{
	static const int bounds[] = { 0, 1, 2, ANY_NUMBER, ANY_NUMBER, 3, 4, 5 };

	for (size_t i = 0; i < sizeof(bounds) / sizeof(*bounds); i++) {
		struct search_config config = { .preemptions = bounds[i], .remember = true };

		pass(first, &config);
	}
}

static void run_models(void)
{
	double end = plan.deadline;
	double all = plan.request->seconds;
	int plain = plan.count;

	plan.deadline = end - all * (FOR_BUFFERS + FOR_PROGRAMS);
	run_rows(0);
	plan.deadline = end - all * FOR_PROGRAMS;
	if (plan.request->environment < 0)
		add_buffered_rows();
	run_rows(plain);
	plan.deadline = end;
}

static void run_program(struct programs *programs)
{
	struct row *row = &programs->row;
	struct search_config config = {
		.preemptions = ANY_NUMBER,
		.remember = true,
		.schedules = PROGRAM_SCHEDULES,
		.changes = PRIORITY_CHANGES,
	};

	row->model = generated_model(programs->last, &row->environment);
	programs->count++;
	if (explore(row, &config)) {
		programs->exhausted++;
	} else if (is_open(row)) {
		config.kind = SEARCH_RANDOM;
		config.schedules = PROGRAM_RANDOM;
		(void)explore(row, &config);
	}
}

static void run_generated(struct programs *programs)
{
	uint64_t number = plan.request->seed + (uint64_t)plan.request->part - 1;

	while (time_left() > 0 && is_open(&programs->row)) {
		programs->last = number;
		run_program(programs);
		number += (uint64_t)plan.request->parts;
	}
}

bool plan_run(const struct request *request)
{
	struct programs programs = { .row = { .reached = REACHED_NOTHING } };

	begin(request);
	if (request->told)
		run_as_told();
	else
		run_models();
	report_rows(plan.rows, plan.count);
	if (!request->told && (!request->model || is_generated()))
		run_generated(&programs);
	return report_total(plan.rows, plan.count, &programs);
}

bool plan_replay(const struct request *request, const char *choices)
{
	static struct search_result result;
	struct search_config config = { .kind = SEARCH_REPLAY, .replay = choices };
	const struct model *model;

	begin(request);
	if (is_generated()) {
		model = generated_model(request->seed, &config.environment);
	} else {
		model = plan.rows[0].model;
		config.environment = plan.rows[0].environment;
	}
	engine.trace = stdout;
	search_run(model, &config, &result);
	printf("%s\n", result.failed ? result.failure : "no promise was broken");
	return !result.failed;
}
