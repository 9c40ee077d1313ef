/* store/sqlite: what each operation does, inside a transaction. */
#include <errno.h>

#include "base/alloc.h"
#include "lease/picture.h"
#include "store/sqlite/lite.h"

/* ---- requests -------------------------------------------------------------------------------- */

static struct weir__lite_claim *new_claim(struct weir__lite *lite, const struct weir__op *op)
{
	struct weir__lite_claim *claim = weir__lite_memory(lite, sizeof(*claim));

	if (claim == NULL)
		return NULL;
	claim->claim = (struct weir__claim){
		.state = WEIR__NEW,
		.weight = op->weight,
		.ttl = op->ttl,
		.max_hold = op->max_hold,
		.owner = op->owner,
		.request_id = op->request_id,
	};
	for (int i = 0; i < WEIR_TOKEN_SIZE; i++)
		claim->claim.token[i] = op->token[i];
	claim->who = lite->self;
	claim->detached = op->detached;
	claim->shared = !op->private_id;
	return claim;
}

static int ask(struct weir__lite_sem *sem, const struct weir__op *op,
	       struct weir__lite_claim **ret_claim)
{
	struct weir__lite *lite = sem->lite;
	struct weir__lite_claim *claim = new_claim(lite, op);
	struct weir__claim *answer = NULL;
	int result;

	if (claim == NULL)
		return -ENOMEM;
	lite->private_id = op->private_id;
	if (op->wait && sem->rec.waiting >= lite->store->bounds.max_waiting &&
	    sem->rec.book->by_request(&sem->rec, op->request_id) == NULL)
		return -ENOBUFS;
	result = weir__rules_request(&sem->rec, lite->now, &claim->claim, op->wait,
				     weir__lite_silence(lite), &answer);
	if (result >= 0) {
		*ret_claim = weir__lite_claim_of(answer);
		if (answer != &claim->claim)
			weir__lite_take_over(sem, *ret_claim);
	}
	return result;
}

/* Nobody is turned away because of the dead. Those who wait have it looked into soon. */
int weir__lite_request(struct weir__lite *lite, struct weir__lite_sem *sem, struct weir__op *op,
		       struct weir__lite_claim **ret_claim)
{
	int result = ask(sem, op, ret_claim);

	if (result == -EAGAIN) {
		bool waiter_died = weir__lite_bury_dead(sem, WEIR__WAITING, NULL);

		if (weir__lite_bury_dead(sem, WEIR__HOLDING, NULL) || waiter_died) {
			sem->rec.counters.refused--;
			result = ask(sem, op, ret_claim);
		}
	}
	op->found_limit = sem->rec.limit;
	return lite->failed == SQLITE_OK ? result : -EIO;
}

static int request(struct weir__lite *lite, struct weir__op *op)
{
	struct weir__lite_sem *sem = weir__lite_sem_find(lite, op->name);
	struct weir__lite_claim *claim = NULL;
	int result;

	if (sem == NULL && op->limit != 0)
		sem = weir__lite_sem_new(lite, op->name, op->limit);
	if (sem == NULL)
		return -ENOENT;
	if (!weir__rules_limit_fits(&sem->rec, op->limit)) {
		op->found_limit = sem->rec.limit;
		return -EEXIST;
	}
	result = weir__lite_request(lite, sem, op, &claim);
	if (result == 0) {
		op->sent = lite->sent;
		weir__op_grant(op, lite->now, &claim->claim);
	} else if (result == 1) {
		op->keeper = weir__lite_wait(lite, sem, op, &claim->claim);
	}
	return result;
}

/* ---- the rest -------------------------------------------------------------------------------- */

static int ensure(struct weir__lite *lite, struct weir__op *op)
{
	if (weir__lite_sem_find(lite, op->name) != NULL)
		return 0;
	(void)weir__lite_sem_new(lite, op->name, op->limit);
	lite->sync_later = true;
	return 1;
}

static int set_limit(struct weir__lite *lite, struct weir__lite_sem *sem, struct weir__op *op)
{
	lite->sync_later = true;
	return weir__rules_resize(&sem->rec, lite->now, op->limit);
}

static int renew(struct weir__lite *lite, struct weir__lite_sem *sem, struct weir__op *op)
{
	struct weir__claim *claim = NULL;
	int result = weir__rules_renew(&sem->rec, lite->now, op->token, op->ttl, &claim);

	if (result == 0) {
		op->sent = lite->sent;
		weir__op_grant(op, lite->now, claim);
	}
	return result;
}

static int release(struct weir__lite *lite, struct weir__lite_sem *sem, struct weir__op *op)
{
	int result;

	lite->ending = op;
	result = weir__rules_release(&sem->rec, lite->now, op->token);
	lite->ending = NULL;
	weir__lite_unbind(lite, op->token, true);
	return result;
}

/* Semaphores are gathered first, for a statement that reads them must not see them change. */
static void read_all(struct weir__lite *lite, enum weir__statement which)
{
	sqlite3_stmt *row = weir__lite_use(lite, which);

	if (row == NULL)
		return;
	if (which == WEIR__SQL_HEADS_IN_USE)
		sqlite3_bind_int64(row, 1, lite->now);
	while (weir__lite_row(lite, row)) {
		if (weir__lite_sem_read(lite, row) == NULL) {
			(void)sqlite3_reset(row);
			return;
		}
	}
}

static int reap(struct weir__lite *lite, struct weir__op *op)
{
	uint32_t count = 0;

	read_all(lite, WEIR__SQL_HEADS_IN_USE);
	for (struct weir__lite_sem *sem = lite->sems; sem != NULL && count < op->max_rows;
	     sem = sem->next)
		count += weir__rules_expire(&sem->rec, lite->now, op->max_rows - count);
	return (int)count;
}

/* ---- pictures -------------------------------------------------------------------------------- */

/* Holders by when they are due, which is any order, and waiters as they queue. */
static int show_claims(struct weir__lite_sem *sem, struct weir__picture *picture)
{
	size_t count = SIZE_MAX;
	struct weir__lite_claim **claims = weir__lite_claims(sem, WEIR__HOLDING, &count);
	struct weir__claim *claim;
	int error = 0;

	for (size_t i = 0; i < count && error == 0; i++)
		error = weir__picture_claim(picture, sem->lite->now, &claims[i]->claim,
					    claims[i]->detached ? 0 : claims[i]->who.pid);
	for (claim = sem->rec.waiting != 0 ? sem->rec.book->head(&sem->rec) : NULL;
	     claim != NULL && error == 0; claim = sem->rec.book->after(&sem->rec, claim))
		error = weir__picture_claim(picture, sem->lite->now, claim,
					    weir__lite_claim_of(claim)->who.pid);
	return error;
}

/* The dead are not shown. */
static int show(struct weir__lite_sem *sem, struct weir__picture *picture)
{
	int error;

	(void)weir__rules_expire(&sem->rec, sem->lite->now, UINT32_MAX);
	(void)weir__lite_bury_dead(sem, WEIR__WAITING, NULL);
	(void)weir__lite_bury_dead(sem, WEIR__HOLDING, NULL);
	if (sem->rec.counters.after_wait != 0)
		weir__lite_sem_waits(sem);
	error = weir__picture_add(picture, sem->name, &sem->rec, sem->waits);
	return error == 0 ? show_claims(sem, picture) : error;
}

static int list(struct weir__lite *lite, struct weir__op *op)
{
	struct weir__picture *picture = weir__picture_new();
	int error = picture != NULL ? 0 : -ENOMEM;

	if (op->n_names == 0)
		read_all(lite, WEIR__SQL_HEADS);
	for (size_t i = 0; i < op->n_names; i++)
		(void)weir__lite_sem_find(lite, op->names[i]);
	for (struct weir__lite_sem *sem = lite->sems; sem != NULL && error == 0; sem = sem->next) {
		bool wanted = op->n_names == 0;

		/* Others may have been read for another operation of the batch. */
		for (size_t i = 0; i < op->n_names && !wanted; i++)
			wanted = __builtin_strcmp(op->names[i], sem->name) == 0;
		if (wanted)
			error = show(sem, picture);
	}
	if (error < 0 || lite->failed != SQLITE_OK) {
		weir__picture_free(picture);
		return error;
	}
	op->picture = picture;
	return 0;
}

/* ---- all ------------------------------------------------------------------------------------- */

static int on_semaphore(struct weir__lite *lite, struct weir__op *op)
{
	struct weir__lite_sem *sem = weir__lite_sem_find(lite, op->name);

	if (sem == NULL)
		return -ENOENT;
	switch (op->verb) {
	case WEIR__SET_LIMIT:
		return set_limit(lite, sem, op);
	case WEIR__RENEW:
		return renew(lite, sem, op);
	case WEIR__RELEASE:
		return release(lite, sem, op);
	default:
		return weir__rules_evict(&sem->rec, lite->now, op->token);
	}
}

void weir__lite_do(struct weir__lite *lite, struct weir__op *op)
{
	switch (op->verb) {
	case WEIR__ENSURE:
		op->result = ensure(lite, op);
		return;
	case WEIR__REQUEST:
		op->result = request(lite, op);
		return;
	case WEIR__REAP:
		op->result = reap(lite, op);
		return;
	case WEIR__LIST:
		op->result = list(lite, op);
		return;
	default:
		op->result = on_semaphore(lite, op);
	}
}
