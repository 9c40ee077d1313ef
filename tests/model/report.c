/* model: tables and failures. */
#include "model/report.h"

#include "model/generated.h"
#include "model/models.h"

#include <inttypes.h>
#include <string.h>

static const char *environment_name(unsigned environment)
{
	static const char *const names[] = {
		[0] = "-",
		[ENV_TSO] = "tso",
		[ENV_FREEZE] = "freeze",
		[ENV_TSO | ENV_FREEZE] = "tso+freeze",
	};

	return names[environment];
}

void report_models(void)
{
	for (int l = 0; model_lists[l]; l++) {
		for (int i = 0; i < model_lists[l]->count; i++) {
			const struct model *model = &model_lists[l]->models[i];

			printf("%-32s %s\n", model->name, model->promise);
		}
	}
}

void report_rows(const struct row *rows, int count)
{
	printf("%-32s %-7s %-18s %11s %10s %12s %8s\n", "model", "env", "explored", "schedules",
	       "states", "steps", "seconds");
	for (int i = 0; i < count; i++) {
		const struct row *row = &rows[i];
		char reached[24] = "every schedule";

		if (row->reached == REACHED_FAILURE)
			(void)snprintf(reached, sizeof(reached), "FAILED");
		else if (row->reached == REACHED_NOTHING)
			(void)snprintf(reached, sizeof(reached), "a part");
		else if (row->reached != REACHED_ALL)
			(void)snprintf(reached, sizeof(reached), "%d preemptions", row->reached);
		printf("%-32s %-7s %-18s %11" PRIu64 " %10" PRIu64 " %12" PRIu64 " %8.2f\n",
		       row->model->name, environment_name(row->environment), reached,
		       row->schedules, row->states, row->steps, row->seconds);
	}
}

static void report_programs(const struct programs *programs)
{
	if (programs->count > 0)
		printf("%" PRIu64 " generated programs, up to number %" PRIu64
		       ": every schedule of %" PRIu64 ", a part of the others\n",
		       programs->count, programs->last, programs->exhausted);
}

bool report_total(const struct row *rows, int count, const struct programs *programs)
{
	struct row sum = programs->row;
	int failed = sum.reached == REACHED_FAILURE;
	int exhausted = 0;

	for (int i = 0; i < count; i++) {
		sum.schedules += rows[i].schedules;
		sum.states += rows[i].states;
		sum.steps += rows[i].steps;
		sum.seconds += rows[i].seconds;
		exhausted += rows[i].reached == REACHED_ALL;
		failed += rows[i].reached == REACHED_FAILURE;
	}
	report_programs(programs);
	printf("total: %" PRIu64 " schedules run, %" PRIu64 " states, %" PRIu64
	       " steps in %.1f s (%.0f schedules a second); every schedule of %d rows of %d; %d "
	       "failed\n",
	       sum.schedules, sum.states, sum.steps, sum.seconds,
	       sum.seconds > 0 ? (double)sum.schedules / sum.seconds : 0, exhausted, count, failed);
	return failed == 0;
}

void report_failure(const struct search_result *result, const struct row *row, uint64_t schedules)
{
	bool generated = strcmp(row->model->name, "generated") == 0;

	printf("FAILED %s, env %s: %s\n", row->model->name, environment_name(row->environment),
	       result->failure);
	printf("found after %" PRIu64 " schedules\n", schedules);
	printf("replay with: --model %s", row->model->name);
	if (generated)
		printf(" --seed %" PRIu64, generated_number());
	else
		printf(" --env %s", environment_name(row->environment));
	printf(" --replay %s\n", result->choices[0] ? result->choices : "-");
	if (generated)
		generated_print(stdout);
}

void report_trace(const struct search_result *result, const struct row *row)
{
	static struct search_result again;
	struct search_config config = {
		.kind = SEARCH_REPLAY,
		.environment = row->environment,
		.replay = result->choices,
	};

	engine.trace = stdout;
	search_run(row->model, &config, &again);
	engine.trace = NULL;
	printf("%s\n\n", again.failed ? again.failure : "the replay did not fail");
}
