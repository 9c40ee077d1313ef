/* chaos: what tests say to a store whose server is in trouble. */
#ifndef TESTS_CHAOS_CLIENT_H
#define TESTS_CHAOS_CLIENT_H

#include "support/unit.h"

#include <stdio.h>
#include <string.h>
#include <weir/lease.h>
#include <weir/store.h>

#include "chaos/nap.h"

static inline struct weir_store *open_url(const char *url)
{
	struct weir_store *opened = NULL;

	if (weir_store_open(url, &opened) < 0)
		fail_msg("%s: %s", url, weir_store_error(NULL));
	return opened;
}

/* What the last error of this thread has in it. */
static inline void error_says(const char *sentence)
{
	if (strstr(weir_store_error(NULL), sentence) == NULL)
		fail_msg("'%s' is not in: %s", sentence, weir_store_error(NULL));
}

/* One that no other test of this program uses; to be used before the next one is asked for. */
static inline const char *fresh_name(void)
{
	static uint32_t names;
	static char name[40];

	(void)snprintf(name, sizeof(name), "f:%u", ++names);
	return name;
}

static inline int acquire_for(struct weir_store *in, const char *name, weir_time ttl,
			      weir_time deadline, struct weir_lease **ret)
{
	struct weir_request request = {
		.name = name, .limit = 1, .ttl = ttl, .deadline = deadline
	};

	return weir_acquire(in, &request, ret);
}

static inline int acquire(struct weir_store *in, const char *name, weir_time deadline,
			  struct weir_lease **ret)
{
	return acquire_for(in, name, 0, deadline, ret);
}

static inline void let_go(struct weir_lease *lease)
{
	assert_int_equal(weir_release(lease), 0);
	weir_lease_unref(lease);
}

static inline int note_semaphore(void *arg, const struct weir_sem_info *info)
{
	*(struct weir_sem_info *)arg = *info;
	return 0;
}

/* All zero if there is none of that name. */
static inline struct weir_sem_info look(struct weir_store *in, const char *name)
{
	const struct weir_visitor visitor = { .semaphore = note_semaphore };
	struct weir_sem_info info = { 0 };

	assert_int_equal(weir_list(in, &name, 1, &visitor, &info), 0);
	return info;
}

/* What was asked for and then given up is taken back soon. */
static inline void nothing_is_left(struct weir_store *in, const char *name)
{
	struct weir_sem_info info = look(in, name);

	for (int i = 0; i < 300 && (info.held != 0 || info.waiting != 0); i++) {
		nap(20);
		info = look(in, name);
	}
	assert_int_equal(info.held, 0);
	assert_int_equal(info.waiting, 0);
}

#endif
