/* task: who waits for what, and who holds it. */
#include "task/waits.h"

#include "base/print.h"

#include <inttypes.h>

/* Each group costs a walk over all tasks. */
enum { GROUPS_MOST = 32, WAITERS_MOST = 20 };

bool weir__task_waits(const struct weir__task *task)
{
	return task != task->sched->current && task->parking &&
	       WEIR__LOAD(&task->parking->word, __ATOMIC_RELAXED) == WEIR__PARKED;
}

void weir__task_print(FILE *stream, const struct weir__task *task)
{
	weir__print(stream, "task %" PRIu64 "%s%s%s", task->id, task->name[0] ? " \"" : "",
		    task->name, task->name[0] ? "\"" : "");
}

static void print_who(FILE *stream, const struct weir__sched *sched, uint64_t who)
{
	const struct weir__task *task = weir__sched_oldest(sched);

	if (who_home(who) == 0) {
		weir__print(stream, "thread %" PRIu64, who);
	} else if (who_home(who) != who_home(sched->who)) {
		weir__print(stream, "a task of another scheduler");
	} else {
		while (task && (sched->who | (task->id & WEIR__WHO_IDS)) != who)
			task = task->newer;
		if (task)
			weir__task_print(stream, task);
		else
			weir__print(stream, "a task that has ended");
	}
}

static void print_holders(FILE *stream, const struct weir__sched *sched,
			  const struct weir__parking *parking)
{
	struct weir__holding holdings[WEIR__HOLDINGS];
	uint32_t unknown = 0;
	int count = parking->kind->holders(parking->object, holdings, &unknown);

	if (count < 0)
		weir__print(stream, "    its holders are not recorded (see weir_sem_init_traced)");
	else
		weir__print(stream, "    held by ");
	for (int i = 0; i < count; i++) {
		weir__print(stream, "%s", i > 0 ? ", " : "");
		print_who(stream, sched, holdings[i].who);
		if (holdings[i].permits > 1)
			weir__print(stream, " (%u permits)", holdings[i].permits);
	}
	if (count >= 0 && unknown > 0)
		weir__print(stream, "%sothers (%u permits)", count > 0 ? ", " : "", unknown);
	else if (count == 0)
		weir__print(stream, "nobody");
	weir__print(stream, "\n");
}

static void print_group(FILE *stream, const struct weir__sched *sched, struct weir__task *first)
{
	const struct weir__parking *parking = first->parking;
	char text[WEIR__WAIT_TEXT];
	size_t count = 0;

	parking->kind->describe(parking->object, text, sizeof(text));
	weir__print(stream, "  %s\n", text);
	if (parking->kind->holders)
		print_holders(stream, sched, parking);
	weir__print(stream, "    waited for by ");
	for (struct weir__task *task = first; task; task = task->newer) {
		if (weir__task_waits(task) && task->parking->object == parking->object) {
			if (count < WAITERS_MOST) {
				weir__print(stream, "%s", count > 0 ? ", " : "");
				weir__task_print(stream, task);
			}
			count++;
			task->listed = true;
		}
	}
	if (count > WAITERS_MOST)
		weir__print(stream, " and %zu more", count - WAITERS_MOST);
	weir__print(stream, "\n");
}

void weir__waits_print(FILE *stream, struct weir__sched *sched)
{
	struct weir__task *oldest = weir__sched_oldest(sched);
	int groups = 0;

	for (struct weir__task *task = oldest; task; task = task->newer)
		task->listed = !weir__task_waits(task) || !task->parking->kind ||
			       !task->parking->object;
	for (struct weir__task *task = oldest; task; task = task->newer) {
		if (task->listed)
			continue;
		if (groups == 0)
			weir__print(stream, "what %s for:\n",
				    sched->task_count == 1 ? "it waits" : "they wait");
		if (groups++ == GROUPS_MOST) {
			weir__print(stream, "  and more\n");
			break;
		}
		print_group(stream, sched, task);
	}
}
