/* chaos: checks a history in a file, see history.h.
 *
 *     history_check [--guard NS] [--slack NS] [--deaths-free-at-once] FILE
 */
#include "chaos/history.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static void print_finding(const struct history *history, const struct history_report *report)
{
	const struct history_finding *finding = &report->first;

	(void)printf("%s is broken:\n  ", history_check_name(finding->check));
	history_write_op(stdout, &history->ops[finding->op]);
	if (finding->other != finding->op) {
		(void)printf("  ");
		history_write_op(stdout, &history->ops[finding->other]);
	}
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "guard", required_argument, NULL, 'g' },
		{ "slack", required_argument, NULL, 's' },
		{ "deaths-free-at-once", no_argument, NULL, 'd' },
		{ NULL, 0, NULL, 0 },
	};
	struct history history = { .slack = HISTORY_NEVER };
	struct history_report report;
	size_t line = 0;
	FILE *file;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'g')
			history.guard = strtoll(optarg, NULL, 10);
		else if (option == 's')
			history.slack = strtoll(optarg, NULL, 10);
		else if (option == 'd')
			history.deaths_free_at_once = true;
		else
			return 2;
	}
	file = optind + 1 == argc ? fopen(argv[optind], "re") : NULL;
	if (file == NULL || history_read(file, &history, &line) < 0) {
		(void)fprintf(stderr, "cannot read %s: line %zu\n",
			      optind < argc ? argv[optind] : "a history", line);
		return 2;
	}
	(void)fclose(file);
	if (history_check(&history, &report) < 0)
		return 2;
	(void)printf("%zu operations, %zu leases, %zu of unknown outcome, %zu deaths; judged: "
		     "%zu tries, %zu waits, %zu places\n",
		     history.n, report.leases, report.unknown, report.deaths, report.tries_judged,
		     report.waits_judged, report.order_judged);
	if (report.found[0] > 0)
		print_finding(&history, &report);
	free(history.ops);
	return report.found[0] > 0;
}
