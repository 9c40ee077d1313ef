/* conformance: the store under test, and what the tests say often. */
#include "conformance/suite.h"

#include "support/acquirer.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct weir_store *store;
struct weir_store *other;
uint64_t first_tape = 1;

static char url[512];
static char directory[256];

struct weir_store *open_store(const char *more_options)
{
	struct weir_store *opened;
	char whole[700];

	(void)snprintf(whole, sizeof(whole), "%s%s", url, more_options);
	if (weir_store_open(whole, &opened) < 0) {
		(void)fprintf(stderr, "%s: %s\n", whole, weir_store_error(NULL));
		exit(1);
	}
	return opened;
}

const char *fresh_name(void)
{
	static char names[8][64];
	static unsigned next;
	char *name = names[next % 8];

	(void)snprintf(name, sizeof(names[0]), "t:%d/%u", (int)getpid(), next++);
	return name;
}

void sleep_for(weir_time duration)
{
	struct timespec time = { duration / WEIR_SECOND, duration % WEIR_SECOND };

	(void)nanosleep(&time, NULL);
}

struct weir_lease *take(struct weir_store *in, const char *name, uint32_t weight, weir_time ttl)
{
	struct weir_request request = { .name = name, .weight = weight, .ttl = ttl };
	struct weir_lease *lease = NULL;
	int error = weir_acquire(in, &request, &lease);

	if (error < 0)
		(void)fprintf(stderr, "%s: %s\n", name, weir_store_error(in));
	assert_int_equal(error, 0);
	assert_non_null(lease);
	return lease;
}

int try_once(struct weir_store *in, const char *name, uint32_t weight)
{
	struct weir_request request = { .name = name, .weight = weight, .ttl = LONG };
	struct weir_lease *lease = NULL;
	int error = weir_acquire(in, &request, &lease);

	if (error == 0)
		give_back(lease);
	else
		assert_null(lease);
	return error;
}

void give_back(struct weir_lease *lease)
{
	assert_int_equal(weir_release(lease), 0);
	assert_false(weir_lease_held(lease));
	weir_lease_unref(lease);
}

struct weir_lease_info info_of(const struct weir_lease *lease)
{
	struct weir_lease_info info;

	weir_lease_get(lease, &info);
	return info;
}

/* ---- what the store shows -----------------------------------------------------------------------
 */

static void copy_claim(struct seen_claim *to, const struct weir_claim_info *from)
{
	(void)snprintf(to->request_id, sizeof(to->request_id), "%s", from->request_id);
	(void)snprintf(to->owner, sizeof(to->owner), "%s", from->owner);
	to->weight = from->weight;
	to->position = from->position;
	to->slot = from->slot;
	to->fence = from->fence;
	to->left = from->left;
	memcpy(to->token, from->token, WEIR_TOKEN_SIZE);
}

static int see_semaphore(void *arg, const struct weir_sem_info *info)
{
	struct seen *seen = arg;

	seen->found = true;
	seen->info = *info;
	seen->info.name = NULL;
	return 0;
}

static int see_holder(void *arg, const struct weir_claim_info *info)
{
	struct seen *seen = arg;

	if (seen->n_holders < SEEN_MOST)
		copy_claim(&seen->holders[seen->n_holders], info);
	seen->n_holders++;
	return 0;
}

static int see_waiter(void *arg, const struct weir_claim_info *info)
{
	struct seen *seen = arg;

	if (seen->n_waiters < SEEN_MOST)
		copy_claim(&seen->waiters[seen->n_waiters], info);
	seen->n_waiters++;
	return 0;
}

void look(struct weir_store *in, const char *name, struct seen *seen)
{
	static const struct weir_visitor visitor = { .semaphore = see_semaphore,
						     .holder = see_holder,
						     .waiter = see_waiter };

	seen->found = false;
	seen->n_holders = seen->n_waiters = 0;
	assert_int_equal(weir_list(in, &name, 1, &visitor, seen), 0);
	if (!seen->found)
		return;
	assert_int_equal(seen->info.holders, seen->n_holders);
	assert_int_equal(seen->info.waiting, seen->n_waiters);
}

void assert_counts(const char *name, uint32_t limit, uint32_t held, uint32_t waiting)
{
	struct seen seen;
	uint32_t weights = 0;

	look(store, name, &seen);
	assert_true(seen.found);
	assert_int_equal(seen.info.limit, limit);
	assert_int_equal(seen.info.held, held);
	assert_int_equal(seen.info.waiting, waiting);
	for (uint32_t i = 0; i < seen.n_holders && i < SEEN_MOST; i++)
		weights += seen.holders[i].weight;
	if (seen.n_holders <= SEEN_MOST)
		assert_int_equal(weights, held);
}

/* ---- threads that wait --------------------------------------------------------------------------
 */

static void *wait_there(void *arg)
{
	struct waiter *waiter = arg;

	waiter->result = weir_acquire(waiter->in != NULL ? waiter->in : store, &waiter->request,
				      &waiter->lease);
	if (waiter->result == 0 && waiter->turns != NULL)
		waiter->turn = __atomic_add_fetch(waiter->turns, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&waiter->answered, true, __ATOMIC_SEQ_CST);
	return NULL;
}

void waiter_start(struct waiter *waiter)
{
	waiter->lease = NULL;
	waiter->answered = false;
	waiter->thread = start_thread(wait_there, waiter);
}

void waiter_queue(struct waiter *waiter, const char *name, uint32_t weight, weir_time deadline)
{
	struct seen seen;
	uint32_t before;

	look(store, name, &seen);
	before = seen.n_waiters;
	waiter->request.name = name;
	waiter->request.weight = weight;
	waiter->request.deadline = deadline;
	if (waiter->request.ttl == 0)
		waiter->request.ttl = LONG;
	waiter_start(waiter);
	do {
		sleep_for(WEIR_MS);
		look(store, name, &seen);
	} while (seen.n_waiters != before + 1 &&
		 !__atomic_load_n(&waiter->answered, __ATOMIC_SEQ_CST));
}

int waiter_join(struct waiter *waiter)
{
	(void)pthread_join(waiter->thread, NULL);
	if (waiter->result < 0)
		assert_null(waiter->lease);
	return waiter->result;
}

/* ---- running ------------------------------------------------------------------------------------
 */

static bool say_left;

static int count_left(void *arg, const struct weir_sem_info *info)
{
	uint32_t *left = arg;

	if (say_left && (info->held != 0 || info->waiting != 0))
		(void)fprintf(stderr, "left over at %s: %u permits, %u waiting\n", info->name,
			      info->held, info->waiting);
	*left += info->held + info->waiting;
	return 0;
}

/* A handle that was dropped gives its lease back without waiting, so it may take a moment. */
int nothing_left(void **state)
{
	static const struct weir_visitor visitor = { .semaphore = count_left };
	uint32_t left = 1;

	(void)state;
	for (int i = 0; i < 100 && left != 0; i++) {
		left = 0;
		say_left = i == 99;
		if (weir_list(store, NULL, 0, &visitor, &left) < 0)
			return -1;
		if (left != 0)
			sleep_for(20 * WEIR_MS);
	}
	return left == 0 ? 0 : -1;
}

/* URL, with "DIRECTORY" in it replaced by a new private directory. */
static void make_url(const char *given)
{
	static const char options[] = "?min_ttl=20ms&max_ttl=1h";
	const char *place = strstr(given, "DIRECTORY");

	if (place == NULL) {
		bool more = strchr(given, '?') != NULL;

		(void)snprintf(url, sizeof(url), "%s%s%s", given, more ? "&" : "", options + more);
		return;
	}
	(void)snprintf(directory, sizeof(directory), "%s/weir-conformance-XXXXXX",
		       getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp");
	if (mkdtemp(directory) == NULL) {
		perror(directory);
		exit(1);
	}
	(void)snprintf(url, sizeof(url), "%.*s%s%s%s", (int)(place - given), given, directory,
		       place + strlen("DIRECTORY"), options);
}

static void remove_directory(void)
{
	char command[300];

	if (directory[0] == '\0')
		return;
	(void)snprintf(command, sizeof(command), "rm -rf '%s'", directory);
	if (system(command) != 0)
		(void)fprintf(stderr, "cannot remove %s\n", directory);
}

/* conformance URL [GROUP [TAPE]] */
int main(int argc, char **argv)
{
	const struct group *const all[] = { &arguments_group, &leases_group, &waiting_group,
					    &limits_group,    &crowds_group, &tasks_group,
					    &tapes_group };
	int failed = 0;

	if (argc < 2)
		return 2;
	if (argc > 3)
		first_tape = strtoull(argv[3], NULL, 10);
	make_url(argv[1]);
	store = open_store("");
	other = open_store("");
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (argc < 3 || strcmp(argv[2], all[i]->name) == 0)
			failed += _cmocka_run_group_tests(all[i]->name, all[i]->tests, all[i]->n,
							  NULL, NULL);
	weir_store_close(other);
	weir_store_close(store);
	remove_directory();
	return failed != 0;
}
