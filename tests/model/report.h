/* model: what the explorer prints. */
#ifndef MODEL_REPORT_H
#define MODEL_REPORT_H

#include "model/search.h"

enum { REACHED_FAILURE = -3, REACHED_NOTHING = -2, REACHED_ALL = -1 };

/* What has been done with a model in an environment. */
struct row {
	const struct model *model;
	unsigned environment;
	int reached; /* so many preemptions at most, or one of the above */
	uint64_t schedules;
	uint64_t states;
	uint64_t steps;
	double seconds;
	bool stores; /* there were stores that could wait in a buffer */
};

/* The same for programs that were generated. */
struct programs {
	struct row row; /* the model is that of the last one */
	uint64_t last;
	uint64_t count;
	uint64_t exhausted;
};

void report_models(void);
void report_rows(const struct row *rows, int count);

/* The total, of rows and programs; whether there was no failure. */
bool report_total(const struct row *rows, int count, const struct programs *programs);

/* A failure, how soon it was found, and how to see it again. */
void report_failure(const struct search_result *result, const struct row *row, uint64_t schedules);

/* The same, step by step. */
void report_trace(const struct search_result *result, const struct row *row);

#endif
