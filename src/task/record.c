/* task: chunks of records, each twice as large as the one before. */
#include "task/record.h"

#include "base/alloc.h"
#include "base/hot.h"
#include "task/sched.h"

enum {
	LEAST = 8,
	MOST = 1024,
	LINE = 64,
	/* From one record to the next: what every wait needs is the first cache line of it. */
	STRIDE = (sizeof(struct weir__task) + LINE - 1) / LINE * LINE,
};

struct weir__chunk {
	struct weir__chunk *next;
};

static WEIR__COLD bool more(struct weir__records *records)
{
	size_t count = records->last == 0 ? LEAST : 2 * records->last;
	struct weir__chunk *chunk;
	char *first;

	if (count > MOST)
		count = MOST;
	chunk = weir__alloc(LINE + count * STRIDE);
	if (!chunk)
		return false;
	first = (char *)chunk + LINE;
	chunk->next = records->chunks;
	records->chunks = chunk;
	records->last = count;
	while (count > 0)
		weir__record_put(records, (struct weir__task *)(void *)(first + --count * STRIDE));
	return true;
}

WEIR__HOT struct weir__task *weir__record_get(struct weir__records *records)
{
	struct weir__task *task;

	if (WEIR__UNLIKELY(!records->idle) && !more(records))
		return NULL;
	task = records->idle;
	records->idle = task->newer;
	return task;
}

WEIR__HOT void weir__record_put(struct weir__records *records, struct weir__task *task)
{
	task->newer = records->idle;
	records->idle = task;
}

void weir__records_done(struct weir__records *records)
{
	struct weir__chunk *next;

	for (struct weir__task *task = records->idle; task; task = task->newer)
		weir__free(task->future);
	for (struct weir__chunk *chunk = records->chunks; chunk; chunk = next) {
		next = chunk->next;
		weir__free(chunk);
	}
	*records = (struct weir__records){ .idle = NULL };
}
