/* model: explorer, the program that runs the models.
 *
 * Without further options it takes each model in each environment, first with no preemption,
 * with one and with two (what is found there has a short trace), then all schedules there are.
 * Where those are too many for the time, it goes on with three to five preemptions. Time that is
 * left goes to generated programs: all schedules of those that have not too many, and random ones
 * of the others.
 */
#include "model/fault.h"
#include "model/plan.h"
#include "model/report.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
	"usage: explorer [options]\n"
	"  --list             what models there are, and what each checks\n"
	"  --model NAME       this one only; \"generated\": the program whose number is --seed\n"
	"  --env ENV          only in this environment: -, tso or freeze\n"
	"  --seconds S        processor time for everything (60)\n"
	"  --part K/N         only each N-th model, from the K-th on (1/1)\n"
	"  --search HOW       states: depth first, no state twice (default)\n"
	"                     sleep: depth first, sleep sets\n"
	"                     full: depth first, all of them\n"
	"                     random: by random priorities\n"
	"  --bound N          only schedules with at most N preemptions\n"
	"  --unbounded        all schedules at once\n"
	"  --seed N           of random searches, and the number of the first generated program "
	"(1)\n"
	"  --replay STRING    one schedule, with a trace of its steps\n"
	"  --stop             end at the first failure, without its trace\n";

enum { LIST, MODEL, ENV, SECONDS, PART, SEARCH, BOUND, UNBOUNDED, SEED, REPLAY, STOP };

static const struct option known[] = {
	[LIST] = { "list", no_argument, NULL, LIST },
	[MODEL] = { "model", required_argument, NULL, MODEL },
	[ENV] = { "env", required_argument, NULL, ENV },
	[SECONDS] = { "seconds", required_argument, NULL, SECONDS },
	[PART] = { "part", required_argument, NULL, PART },
	[SEARCH] = { "search", required_argument, NULL, SEARCH },
	[BOUND] = { "bound", required_argument, NULL, BOUND },
	[UNBOUNDED] = { "unbounded", no_argument, NULL, UNBOUNDED },
	[SEED] = { "seed", required_argument, NULL, SEED },
	[REPLAY] = { "replay", required_argument, NULL, REPLAY },
	[STOP] = { "stop", no_argument, NULL, STOP },
	{ NULL, 0, NULL, 0 },
};

_Noreturn static void refuse(void)
{
	fputs(usage, stderr);
	exit(2);
}

static int environment_of(const char *name)
{
	if (strcmp(name, "tso") == 0)
		return ENV_TSO;
	if (strcmp(name, "freeze") == 0)
		return ENV_FREEZE;
	if (strcmp(name, "-") != 0)
		refuse();
	return 0;
}

static const char *search_of(const char *name)
{
	static const char *const names[] = { "states", "sleep", "full", "random" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (strcmp(names[i], name) == 0)
			return name;
	}
	refuse();
}

/* What is asked for; *ret_replay gets the schedule to replay, if that is it. */
static struct request parse(int argc, char **argv, const char **ret_replay)
{
	struct request request = {
		.environment = -1,
		.seconds = 60,
		.seed = 1,
		.part = 1,
		.parts = 1,
		.search = "states",
		.bound = ANY_NUMBER,
	};
	int option;

	while ((option = getopt_long(argc, argv, "", known, NULL)) >= 0) {
		request.told |= option == SEARCH || option == BOUND || option == UNBOUNDED;
		if (option == LIST) {
			report_models();
			exit(EXIT_SUCCESS);
		} else if (option == MODEL) {
			request.model = optarg;
		} else if (option == ENV) {
			request.environment = environment_of(optarg);
		} else if (option == SECONDS) {
			request.seconds = strtod(optarg, NULL);
		} else if (option == PART) {
			if (sscanf(optarg, "%d/%d", &request.part, &request.parts) != 2 ||
			    request.part < 1 || request.part > request.parts)
				refuse();
		} else if (option == SEARCH) {
			request.search = search_of(optarg);
		} else if (option == BOUND) {
			request.bound = atoi(optarg);
		} else if (option == SEED) {
			request.seed = strtoull(optarg, NULL, 0);
		} else if (option == REPLAY) {
			*ret_replay = optarg;
		} else if (option == STOP) {
			request.stop = true;
		} else if (option != UNBOUNDED) {
			refuse();
		}
	}
	if (optind < argc || (*ret_replay && !request.model))
		refuse();
	return request;
}

int main(int argc, char **argv)
{
	const char *replay = NULL;
	struct request request = parse(argc, argv, &replay);
	bool good;

	setlinebuf(stdout);
	engine_init();
	fault_init();
	if (replay)
		good = plan_replay(&request, strcmp(replay, "-") == 0 ? "" : replay);
	else
		good = plan_run(&request);
	return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
