/* store/sqlite: the heads of records. */
#include <string.h>

#include "base/alloc.h"
#include "store/sqlite/lite.h"

/* ---- slots ----------------------------------------------------------------------------------- */

/* The bits as they are stored are only as long as need be; in memory there is room for the limit.
 * Returns whether they are what the rules rely on: one bit for each holder. */
static bool read_slots(struct weir__lite *lite, struct weir__slots *slots, sqlite3_stmt *row,
		       int column, uint32_t limit, uint32_t holders)
{
	uint64_t few = (uint64_t)sqlite3_column_int64(row, column);
	const void *bits = &few;
	size_t words = 1;
	uint32_t count = 0;

	if (sqlite3_column_type(row, column) == SQLITE_BLOB) {
		bits = sqlite3_column_blob(row, column);
		words = (size_t)sqlite3_column_bytes(row, column) / sizeof(uint64_t);
	}
	if (words == 0 || words > UINT32_MAX / 128)
		return false;
	if (words * 64 > limit)
		limit = (uint32_t)words * 64;
	if (weir__slots_reserve(slots, limit) < 0) {
		weir__lite_fail(lite, SQLITE_NOMEM);
		return false;
	}

	uint64_t *into = slots->many != NULL ? slots->many : &slots->few;

	memcpy(into, bits, words * sizeof(uint64_t));
	for (size_t i = 0; i < words; i++)
		count += (uint32_t)__builtin_popcountll(into[i]);
	return count == holders;
}

static void bind_slots(sqlite3_stmt *statement, int column, const struct weir__slots *slots)
{
	uint32_t words = slots->size / 64;

	if (slots->many == NULL) {
		sqlite3_bind_int64(statement, column, (int64_t)slots->few);
		return;
	}
	while (words > 1 && slots->many[words - 1] == 0)
		words--;
	if (words == 1)
		sqlite3_bind_int64(statement, column, (int64_t)slots->many[0]);
	else
		sqlite3_bind_blob(statement, column, slots->many, (int)(words * 8), SQLITE_STATIC);
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool is_sound(const struct weir__rec *rec, sqlite3_stmt *row)
{
	for (int i = 2; i < 15; i++) {
		if (sqlite3_column_int64(row, i) < 0)
			return false;
	}
	for (int i = 2; i < 6; i++) {
		if (sqlite3_column_int64(row, i) > INT32_MAX)
			return false;
	}
	return rec->held >= rec->holders;
}

static struct weir__lite_sem *known(struct weir__lite *lite, int64_t id)
{
	struct weir__lite_sem *sem = lite->sems;

	while (sem != NULL && sem->id != id)
		sem = sem->next;
	return sem;
}

/* No fence of before the boot, be it lost or not, is as high as the epoch's first. */
static void fill(struct weir__lite_sem *sem, sqlite3_stmt *row)
{
	struct weir__rec *rec = &sem->rec;
	uint64_t floor = sem->lite->epoch << 32;

	*rec = (struct weir__rec){
		.book = sem->lite->book,
		.limit = (uint32_t)sqlite3_column_int64(row, 2),
		.held = (uint32_t)sqlite3_column_int64(row, 3),
		.holders = (uint32_t)sqlite3_column_int64(row, 4),
		.waiting = (uint32_t)sqlite3_column_int64(row, 5),
		.fence = (uint64_t)sqlite3_column_int64(row, 6),
		.ticket = (uint64_t)sqlite3_column_int64(row, 7),
		.counters = {
			.at_once = (uint64_t)sqlite3_column_int64(row, 8),
			.after_wait = (uint64_t)sqlite3_column_int64(row, 9),
			.refused = (uint64_t)sqlite3_column_int64(row, 10),
			.expired = (uint64_t)sqlite3_column_int64(row, 11),
			.renewals_failed = (uint64_t)sqlite3_column_int64(row, 12),
		},
	};
	if (rec->fence < floor)
		rec->fence = floor;
	sem->next_expiry = sem->stored_expiry = sqlite3_column_int64(row, 13);
	sem->next_silence = sem->stored_silence = sqlite3_column_int64(row, 14);
	sem->stored = *rec;
}

/* Where `row` has them; without one they are all zero. */
static struct weir__waits *read_waits(struct weir__lite *lite, sqlite3_stmt *row, int column)
{
	struct weir__waits *waits = weir__lite_memory(lite, sizeof(*waits));

	if (waits != NULL && sqlite3_column_bytes(row, column) == (int)sizeof(*waits))
		memcpy(waits, sqlite3_column_blob(row, column), sizeof(*waits));
	return waits;
}

struct weir__lite_sem *weir__lite_sem_read(struct weir__lite *lite, sqlite3_stmt *row)
{
	int64_t id = sqlite3_column_int64(row, 0);
	const char *name = (const char *)sqlite3_column_text(row, 1);
	struct weir__lite_sem *sem = known(lite, id);

	if (sem != NULL)
		return sem;
	if (name == NULL || strlen(name) > WEIR_NAME_MAX) {
		weir__lite_fail(lite, SQLITE_CORRUPT);
		return NULL;
	}
	sem = weir__lite_memory(lite, sizeof(*sem));
	if (sem == NULL)
		return NULL;
	sem->lite = lite;
	sem->id = id;
	strcpy(sem->name, name);
	fill(sem, row);
	sem->next = lite->sems;
	lite->sems = sem;
	if (!is_sound(&sem->rec, row) ||
	    !read_slots(lite, &sem->rec.slots, row, 15, sem->rec.limit, sem->rec.holders)) {
		weir__lite_fail(lite, SQLITE_CORRUPT);
		return NULL;
	}
	/* Of use to whoever is granted next. */
	if (sem->rec.waiting != 0)
		sem->waits = read_waits(lite, row, 16);
	return sem;
}

static struct weir__lite_sem *only(struct weir__lite *lite, sqlite3_stmt *row)
{
	struct weir__lite_sem *sem = NULL;

	if (weir__lite_row(lite, row)) {
		sem = weir__lite_sem_read(lite, row);
		(void)sqlite3_reset(row);
	}
	return sem;
}

/* ---- the one that is kept -------------------------------------------------------------------- */

/* Changes with every commit to the file, by whomever, once a transaction has begun. */
static unsigned int version_of(struct weir__lite *lite)
{
	unsigned int version = 0;

	(void)sqlite3_file_control(lite->db, "main", SQLITE_FCNTL_DATA_VERSION, &version);
	return version;
}

/* After a commit: the last head that was used will often be the next, and need not be read if
 * nobody else has written meanwhile. Its slots' memory goes along. */
void weir__lite_sems_keep(struct weir__lite *lite)
{
	struct weir__lite_sem *kept = &lite->kept;

	weir__slots_done(&kept->rec.slots);
	if (lite->sems == NULL) {
		lite->is_kept = false;
		return;
	}
	*kept = *lite->sems;
	lite->sems->rec.slots = (struct weir__slots){ 0 };
	if (kept->waits != NULL && kept->waits != &lite->kept_waits) {
		lite->kept_waits = *kept->waits;
		kept->waits = &lite->kept_waits;
	}
	kept->waits_changed = false;
	kept->head_left = false;
	kept->stored = kept->rec;
	kept->stored_expiry = kept->next_expiry;
	kept->stored_silence = kept->next_silence;
	lite->is_kept = true;
	lite->kept_version = version_of(lite);
}

static struct weir__lite_sem *take_kept(struct weir__lite *lite, const char *name)
{
	struct weir__lite_sem *sem;

	if (!lite->is_kept || strcmp(lite->kept.name, name) != 0 ||
	    lite->kept_version != version_of(lite))
		return NULL;
	sem = weir__lite_memory(lite, sizeof(*sem));
	if (sem == NULL)
		return NULL;
	*sem = lite->kept;
	lite->kept.rec.slots = (struct weir__slots){ 0 };
	lite->is_kept = false;
	sem->next = lite->sems;
	lite->sems = sem;
	return sem;
}

/* Others have written since. Its id is the same still, so the index of names is not needed. */
static struct weir__lite_sem *read_kept(struct weir__lite *lite, const char *name)
{
	struct weir__lite_sem *sem = NULL;

	if (lite->kept.id != 0 && strcmp(lite->kept.name, name) == 0)
		sem = weir__lite_sem_by_id(lite, lite->kept.id);
	return sem != NULL && strcmp(sem->name, name) == 0 ? sem : NULL;
}

struct weir__lite_sem *weir__lite_sem_find(struct weir__lite *lite, const char *name)
{
	struct weir__lite_sem *kept;
	sqlite3_stmt *row;

	for (struct weir__lite_sem *sem = lite->sems; sem != NULL; sem = sem->next) {
		if (strcmp(sem->name, name) == 0)
			return sem;
	}
	kept = take_kept(lite, name);
	if (kept == NULL)
		kept = read_kept(lite, name);
	if (kept != NULL)
		return kept;
	row = weir__lite_use(lite, WEIR__SQL_HEAD_BY_NAME);
	if (row == NULL)
		return NULL;
	sqlite3_bind_text(row, 1, name, -1, SQLITE_STATIC);
	return only(lite, row);
}

struct weir__lite_sem *weir__lite_sem_by_id(struct weir__lite *lite, int64_t id)
{
	struct weir__lite_sem *sem = known(lite, id);
	sqlite3_stmt *row;

	if (sem != NULL)
		return sem;
	row = weir__lite_use(lite, WEIR__SQL_HEAD_BY_ID);
	if (row == NULL)
		return NULL;
	sqlite3_bind_int64(row, 1, id);
	return only(lite, row);
}

struct weir__lite_sem *weir__lite_sem_new(struct weir__lite *lite, const char *name, uint32_t limit)
{
	sqlite3_stmt *statement = weir__lite_use(lite, WEIR__SQL_HEAD_NEW);
	struct weir__lite_sem *sem;

	if (statement == NULL)
		return NULL;
	sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
	sqlite3_bind_int64(statement, 2, (int64_t)(lite->epoch << 32));
	weir__lite_run(lite, statement);
	sem = weir__lite_sem_find(lite, name);
	if (sem != NULL && weir__rules_resize(&sem->rec, lite->now, limit) < 0)
		weir__lite_fail(lite, SQLITE_NOMEM);
	return sem;
}

/* How long they waited is of use to few, so most do not have it. */
void weir__lite_sem_waits(struct weir__lite_sem *sem)
{
	sqlite3_stmt *row = sem->waits == NULL ? weir__lite_use(sem->lite, WEIR__SQL_WAITS) : NULL;

	if (row == NULL)
		return;
	sqlite3_bind_int64(row, 1, sem->id);
	if (weir__lite_row(sem->lite, row)) {
		sem->waits = read_waits(sem->lite, row, 0);
		(void)sqlite3_reset(row);
	}
}

/* ---- writing --------------------------------------------------------------------------------- */

static bool has_changed(const struct weir__lite_sem *sem)
{
	const struct weir__rec *now = &sem->rec;
	const struct weir__rec *then = &sem->stored;

	return now->limit != then->limit || now->held != then->held ||
	       now->holders != then->holders || now->waiting != then->waiting ||
	       now->fence != then->fence || now->ticket != then->ticket ||
	       memcmp(&now->counters, &then->counters, sizeof(now->counters)) != 0 ||
	       sem->next_expiry != sem->stored_expiry || sem->next_silence != sem->stored_silence ||
	       sem->waits_changed;
}

static void save(struct weir__lite_sem *sem)
{
	const struct weir__rec *rec = &sem->rec;
	sqlite3_stmt *statement = weir__lite_use(sem->lite, WEIR__SQL_HEAD_SAVE);

	if (statement == NULL)
		return;
	sqlite3_bind_int64(statement, 1, sem->id);
	sqlite3_bind_int64(statement, 2, rec->limit);
	sqlite3_bind_int64(statement, 3, rec->held);
	sqlite3_bind_int64(statement, 4, rec->holders);
	sqlite3_bind_int64(statement, 5, rec->waiting);
	sqlite3_bind_int64(statement, 6, (int64_t)rec->fence);
	sqlite3_bind_int64(statement, 7, (int64_t)rec->ticket);
	sqlite3_bind_int64(statement, 8, (int64_t)rec->counters.at_once);
	sqlite3_bind_int64(statement, 9, (int64_t)rec->counters.after_wait);
	sqlite3_bind_int64(statement, 10, (int64_t)rec->counters.refused);
	sqlite3_bind_int64(statement, 11, (int64_t)rec->counters.expired);
	sqlite3_bind_int64(statement, 12, (int64_t)rec->counters.renewals_failed);
	sqlite3_bind_int64(statement, 13, sem->next_expiry);
	sqlite3_bind_int64(statement, 14, sem->next_silence);
	bind_slots(statement, 15, &rec->slots);
	if (sem->waits_changed)
		sqlite3_bind_blob(statement, 16, sem->waits, sizeof(*sem->waits), SQLITE_STATIC);
	else
		sqlite3_bind_null(statement, 16);
	weir__lite_run(sem->lite, statement);
}

/* Four thousand million grants of one name in one boot run into the next epoch's fences. */
static void raise_epoch(struct weir__lite *lite, uint64_t epoch)
{
	sqlite3_stmt *statement = weir__lite_use(lite, WEIR__SQL_EPOCH);

	lite->epoch = epoch;
	sqlite3_bind_int64(statement, 1, (int64_t)epoch);
	sqlite3_bind_null(statement, 2);
	weir__lite_run(lite, statement);
	lite->must_sync = true;
}

void weir__lite_sems_save(struct weir__lite *lite)
{
	for (struct weir__lite_sem *sem = lite->sems; sem != NULL; sem = sem->next) {
		struct weir__claim *head = sem->head_left && sem->rec.waiting != 0 ?
						   sem->rec.book->head(&sem->rec) :
						   NULL;

		if (head != NULL)
			weir__lite_tell(lite, &weir__lite_claim_of(head)->who,
					&(struct weir__news){ .kind = WEIR__NEWS_LOOK,
							      .semaphore = sem->id });
		if (has_changed(sem))
			save(sem);
		if (sem->rec.fence >> 32 > lite->epoch)
			raise_epoch(lite, sem->rec.fence >> 32);
	}
}

void weir__lite_sems_free(struct weir__lite *lite)
{
	for (struct weir__lite_sem *sem = lite->sems; sem != NULL; sem = sem->next)
		weir__slots_done(&sem->rec.slots);
	lite->sems = NULL;
}
