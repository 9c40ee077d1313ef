/* chaos: a history that many processes write. */
#include "chaos/recorder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <weir/base.h>

struct recorder *recorder_new(size_t room)
{
	size_t size = sizeof(struct recorder) + room * sizeof(struct history_op);
	struct recorder *recorder = mmap(NULL, size, PROT_READ | PROT_WRITE,
					 MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (recorder == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	recorder->room = room;
	return recorder;
}

void recorder_free(struct recorder *recorder)
{
	(void)munmap(recorder,
		     sizeof(struct recorder) + recorder->room * sizeof(struct history_op));
}

struct history_op *recorder_begin(struct recorder *recorder, enum history_kind kind, uint32_t name,
				  uint32_t client)
{
	size_t i = __atomic_fetch_add(&recorder->n, 1, __ATOMIC_RELAXED);

	if (i >= recorder->room)
		return NULL;

	struct history_op *op = &recorder->ops[i];

	op->ret = HISTORY_NEVER;
	op->name = name;
	op->client = client;
	op->inv = weir_now();
	/* Last: without a kind it is none. */
	__atomic_store_n(&op->kind, (uint8_t)kind, __ATOMIC_RELEASE);
	return op;
}

void recorder_end(struct history_op *op, int result)
{
	weir_time now = weir_now();

	op->result = result;
	__atomic_store_n(&op->ret, now, __ATOMIC_RELEASE);
}

uint64_t recorder_token(const uint8_t token[WEIR_TOKEN_SIZE])
{
	uint64_t number;

	memcpy(&number, token, sizeof(number));
	return number >> 1;
}

void recorder_history(const struct recorder *recorder, struct history *history)
{
	size_t n = recorder->n < recorder->room ? recorder->n : recorder->room;

	history->ops = calloc(n + 1, sizeof(*history->ops));
	if (history->ops == NULL)
		abort();
	history->n = 0;
	for (size_t i = 0; i < n; i++)
		if (recorder->ops[i].kind != 0)
			history->ops[history->n++] = recorder->ops[i];
}

static bool is_right(const struct history_report *report, unsigned excused)
{
	bool right = true;

	for (int i = 1; i <= HISTORY_CHECKS; i++) {
		if (report->found[i] == 0)
			continue;
		(void)printf("%s is broken %zu times%s\n", history_check_name(i), report->found[i],
			     (excused >> i & 1) != 0 ? ", as it may be" : "");
		right = right && (excused >> i & 1) != 0;
	}
	return right;
}

bool recorder_check(const char *what, const struct history *history, unsigned excused,
		    size_t *ret_tries)
{
	struct history_report report;
	FILE *file;

	if (history_check(history, &report) < 0)
		return false;
	if (what != NULL)
		(void)printf("%s: %zu operations, %zu leases, %zu deaths, %zu unknown outcomes; "
			     "judged: %zu "
			     "tries, %zu waits, %zu places\n",
			     what, history->n, report.leases, report.deaths, report.unknown,
			     report.tries_judged, report.waits_judged, report.order_judged);
	if (ret_tries != NULL)
		*ret_tries = report.tries_judged;
	if (is_right(&report, excused))
		return true;
	history_write_op(stdout, &history->ops[report.first.op]);
	history_write_op(stdout, &history->ops[report.first.other]);
	file = fopen("crash.history", "we");
	if (file != NULL) {
		(void)history_write(file, history);
		(void)fclose(file);
		(void)printf("the history is in crash.history\n");
	}
	return false;
}
