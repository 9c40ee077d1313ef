/* lease: pictures. See picture.h. */
#include "lease/picture.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/print.h"

enum { REMARK_SIZE = 700 };

/* All kinds begin with their link, so that one function sorts any. */
struct link {
	struct link *next;
};

struct claim {
	struct link link;
	struct weir_claim_info info;
	char text[]; /* the owner, the request id */
};

struct sem {
	struct link link;
	struct weir_sem_info info;
	struct link *holders;
	struct link *waiters;
	struct link **last_waiter;
	char name[];
};

struct remark {
	struct link link;
	struct weir_remark remark;
	char text[REMARK_SIZE];
};

struct weir__picture {
	struct link *sems;
	struct link *remarks;
	struct link **last_remark;
};

struct weir__picture *weir__picture_new(void)
{
	struct weir__picture *picture = weir__alloc(sizeof(*picture));

	if (picture != NULL)
		picture->last_remark = &picture->remarks;
	return picture;
}

static void free_list(struct link *list)
{
	while (list != NULL) {
		struct link *next = list->next;

		weir__free(list);
		list = next;
	}
}

void weir__picture_free(struct weir__picture *picture)
{
	if (picture == NULL)
		return;
	for (struct link *link = picture->sems; link != NULL; link = link->next) {
		free_list(((struct sem *)link)->holders);
		free_list(((struct sem *)link)->waiters);
	}
	free_list(picture->sems);
	free_list(picture->remarks);
	weir__free(picture);
}

static double percent(const struct weir__rec *rec)
{
	if (rec->held == 0)
		return 0;
	return rec->limit != 0 ? 100.0 * rec->held / rec->limit : 100.0;
}

int weir__picture_add(struct weir__picture *picture, const char *name, const struct weir__rec *rec,
		      const struct weir__waits *waits)
{
	size_t size = strlen(name) + 1;
	struct sem *sem = weir__alloc(sizeof(*sem) + size);

	if (sem == NULL)
		return -ENOMEM;
	memcpy(sem->name, name, size);
	sem->info = (struct weir_sem_info){
		.name = sem->name,
		.limit = rec->limit,
		.held = rec->held,
		.percent = percent(rec),
		.holders = rec->holders,
		.waiting = rec->waiting,
		.fence = rec->fence,
		.granted_at_once = rec->counters.at_once,
		.granted_after_wait = rec->counters.after_wait,
		.refused = rec->counters.refused,
		.expired = rec->counters.expired,
		.renewals_failed = rec->counters.renewals_failed,
	};
	if (waits != NULL) {
		sem->info.wait_p50 = weir__waits_percentile(waits, 0.5);
		sem->info.wait_p90 = weir__waits_percentile(waits, 0.9);
		sem->info.wait_p99 = weir__waits_percentile(waits, 0.99);
		sem->info.wait_max = waits->longest;
	}
	sem->last_waiter = &sem->waiters;
	sem->link.next = picture->sems;
	picture->sems = &sem->link;
	return 0;
}

void weir__picture_closed(struct weir__picture *picture, weir_time left)
{
	((struct sem *)picture->sems)->info.closed = left;
}

int weir__picture_claim(struct weir__picture *picture, weir_time now,
			const struct weir__claim *claim, int64_t pid)
{
	struct sem *sem = (struct sem *)picture->sems;
	const char *id = claim->request_id != NULL ? claim->request_id : "";
	size_t owner_size = strlen(claim->owner) + 1;
	size_t id_size = strlen(id) + 1;
	struct claim *copy = weir__alloc(sizeof(*copy) + owner_size + id_size);

	if (copy == NULL)
		return -ENOMEM;
	memcpy(copy->text, claim->owner, owner_size);
	memcpy(copy->text + owner_size, id, id_size);
	copy->info = (struct weir_claim_info){
		.name = sem->name,
		.owner = copy->text,
		.request_id = copy->text + owner_size,
		.weight = claim->weight,
		.age = now > claim->since ? now - claim->since : 0,
		.pid = pid,
	};
	if (claim->state == WEIR__HOLDING) {
		memcpy(copy->info.token, claim->token, WEIR_TOKEN_SIZE);
		copy->info.slot = claim->slot;
		copy->info.fence = claim->fence;
		copy->info.left = claim->expires > now ? claim->expires - now : 0;
		copy->link.next = sem->holders;
		sem->holders = &copy->link;
	} else {
		*sem->last_waiter = &copy->link;
		sem->last_waiter = &copy->link.next;
	}
	return 0;
}

int weir__picture_remark(struct weir__picture *picture, bool matters, const char *about,
			 const char *format, ...)
{
	struct remark *remark = weir__alloc(sizeof(*remark));
	va_list arguments;

	if (remark == NULL)
		return -ENOMEM;
	va_start(arguments, format);
	weir__format_list(remark->text, sizeof(remark->text), format, arguments);
	va_end(arguments);
	remark->remark = (struct weir_remark){
		.about = about,
		.text = remark->text,
		.matters = matters,
	};
	*picture->last_remark = &remark->link;
	picture->last_remark = &remark->link.next;
	return 0;
}

/* ---- order ----------------------------------------------------------------------------------- */

typedef bool before_fn(const struct link *a, const struct link *b);

static bool is_fuller(const struct link *a, const struct link *b)
{
	const struct weir_sem_info *x = &((const struct sem *)a)->info;
	const struct weir_sem_info *y = &((const struct sem *)b)->info;

	return x->percent > y->percent ||
	       (x->percent >= y->percent && strcmp(x->name, y->name) < 0);
}

static bool has_lower_slot(const struct link *a, const struct link *b)
{
	return ((const struct claim *)a)->info.slot < ((const struct claim *)b)->info.slot;
}

static struct link *merge(struct link *a, struct link *b, before_fn *before)
{
	struct link *all = NULL;
	struct link **last = &all;

	while (a != NULL && b != NULL) {
		struct link **next = before(b, a) ? &b : &a;

		*last = *next;
		last = &(*next)->next;
		*next = *last;
	}
	*last = a != NULL ? a : b;
	return all;
}

/* Sorted lists of 2^i links each, as a binary number counts them. */
static struct link *sort(struct link *list, before_fn *before)
{
	enum { MOST = 48 };
	struct link *part[MOST] = { NULL };
	struct link *all = NULL;

	while (list != NULL) {
		struct link *one = list;
		int i = 0;

		list = one->next;
		one->next = NULL;
		for (; i < MOST - 1 && part[i] != NULL; i++) {
			one = merge(part[i], one, before);
			part[i] = NULL;
		}
		part[i] = merge(part[i], one, before);
	}
	for (int i = 0; i < MOST; i++)
		all = merge(part[i], all, before);
	return all;
}

/* ---- showing --------------------------------------------------------------------------------- */

static int show_claims(struct link *list, bool waiting,
		       int (*visit)(void *arg, const struct weir_claim_info *info), void *arg)
{
	uint32_t position = 0;
	int result = 0;

	for (; list != NULL && visit != NULL && result == 0; list = list->next) {
		struct weir_claim_info *info = &((struct claim *)list)->info;

		info->position = waiting ? ++position : 0;
		result = visit(arg, info);
	}
	return result;
}

int weir__picture_show(struct weir__picture *picture, const struct weir_visitor *visitor, void *arg)
{
	int result = 0;

	for (struct link *link = picture->remarks; link != NULL && result == 0; link = link->next)
		if (visitor->remark != NULL)
			result = visitor->remark(arg, &((struct remark *)link)->remark);
	picture->sems = sort(picture->sems, is_fuller);
	for (struct link *link = picture->sems; link != NULL && result == 0; link = link->next) {
		struct sem *sem = (struct sem *)link;

		sem->holders = sort(sem->holders, has_lower_slot);
		if (visitor->semaphore != NULL)
			result = visitor->semaphore(arg, &sem->info);
		if (result == 0)
			result = show_claims(sem->holders, false, visitor->holder, arg);
		if (result == 0)
			result = show_claims(sem->waiters, true, visitor->waiter, arg);
	}
	return result;
}
