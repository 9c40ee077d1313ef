/* weir/store.h - where named semaphores live.
 *
 * WHAT IT IS
 *     A store keeps semaphores by name, for everyone who opens it: the threads of a process
 *     (memory:), the processes of a machine (sqlite:), the machines of a cluster (redis://,
 *     postgres://). It remembers each name's limit, who holds permits and who waits for them.
 *     weir/lease.h asks it for permits; this header opens it, sets limits, and looks inside.
 *
 *         struct weir_store *store;
 *
 *         if (weir_store_open("sqlite:/var/lib/app/weir.db", &store) < 0)
 *                 errx(1, "%s", weir_store_error(NULL));
 *         weir_ensure(store, "api/stripe", 10);
 *         ...
 *         weir_store_close(store);
 *
 * URLS
 *     memory:           semaphores of this handle alone
 *     memory:NAME       shared by all handles of this process that name it
 *     sqlite:PATH       a file of this machine; created on first use, for its owner only
 *     redis://[USER:PASSWORD@]HOST[:PORT][/DB], rediss://..., redis+unix:PATH
 *                       a Redis server or cluster, directly, through TLS, by its socket
 *     redis+sentinel://[USER:PASSWORD@]HOST[:PORT][,...]/MASTER[/DB], rediss+sentinel://...
 *                       the server that Sentinels name; see weir-redis(7)
 *     postgres://[USER[:PASSWORD]@][HOST[:PORT]][/DATABASE], postgresql://...
 *                       a PostgreSQL database; see weir-postgres(7)
 *     Options follow a question mark: sqlite:/run/weir.db?max_limit=20000&min_ttl=100ms
 *       min_ttl, max_ttl, default_ttl   bounds and default of a lease's life: 1s, 1h, 30s
 *       max_limit                       the highest limit, 10000
 *       max_waiting                     requests in one queue before -ENOBUFS, 100000
 *       heartbeat                       how often a waiter asks whether it was granted, 1s
 *       guard                           by how much this side's idea of a lease's end comes before
 *                                       the store's, 1 % of the TTL, at most a second
 *
 * WHO MAY CALL
 *     Any thread, any task; no signal handler. A task that calls waits as a task. Each store that
 *     has work to do in the background has one thread for it, its agent, with all signals blocked.
 *     After a fork the child must not use the parent's stores, it opens its own: calls in the child
 *     return -ESHUTDOWN.
 *
 *     A thread with 64 KiB of its stack left does some of the agent's work itself, which is faster.
 *     For tasks, and for threads with less, the agent does all of it. They need 4 KiB for any call,
 *     12 KiB for weir_store_open and weir_store_close.
 *
 * ERRORS
 *     -EINVAL        a bad argument, name or URL; checked before anything is sent
 *     -ENOENT        no such semaphore; create it with weir_ensure
 *     -EEXIST        it exists with another limit
 *     -ESHUTDOWN     the store is closed
 *     -EHOSTUNREACH  the engine cannot be reached or used
 *     -EPROTO        what was found there is damaged, or of another version
 *     -ENOMEM
 *     -EUSERS        no thread could be started: too many processes or threads
 *     weir_store_error() has the whole sentence.
 */
#ifndef WEIR_STORE_H
#define WEIR_STORE_H

#include <weir/base.h>

#ifdef __cplusplus
extern "C" {
#endif

struct weir_store;

/* Bytes of a token, and the longest name, owner and request id in bytes. */
#define WEIR_TOKEN_SIZE 16
#define WEIR_NAME_MAX 200

/* Opens a store. 0; -EINVAL for a URL that is not understood, -EHOSTUNREACH, -EPROTO, -ENOMEM. */
WEIR_API int weir_store_open(const char *url, struct weir_store **ret_store);

/* Ends all waits with -ESHUTDOWN, gives back every lease still held through this handle, and frees
 * it. Lease handles stay valid until they are dropped, and are lost. NULL is fine. */
WEIR_API void weir_store_close(struct weir_store *store);

/* The sentence for the last failure of a store or lease call in the calling thread, with the
 * engine's own words and without passwords: what happened and what to do. Valid until the next such
 * call. With NULL: also of weir_store_open. Never NULL. */
WEIR_API const char *weir_store_error(const struct weir_store *store);

/* Whether a name is one: 1 to 200 bytes of A-Z a-z 0-9 - _ : / . */
WEIR_API bool weir_name_valid(const char *name);

/* Creates the semaphore unless it exists; then its limit is left alone. 0: it was there; 1:
 * created. -EINVAL for a bad name or a limit that is not within 1 and max_limit. */
WEIR_API int weir_ensure(struct weir_store *store, const char *name, uint32_t limit);

/* Changes the limit. 0 pauses: nobody is granted, nobody fails, nobody is revoked. A higher one
 * wakes whoever now fits, in order; a lower one never revokes. A waiter that is heavier than the
 * new limit (other than 0) fails with -E2BIG. 0; -ENOENT; -EINVAL. */
WEIR_API int weir_set_limit(struct weir_store *store, const char *name, uint32_t limit);

/* Ends somebody's lease, and tells the holder if it can be reached. An operator's tool. 0; -ESTALE
 * when the token is not live; -ENOENT. */
WEIR_API int weir_evict(struct weir_store *store, const char *name,
			const uint8_t token[WEIR_TOKEN_SIZE]);

/* Housekeeping: drops up to max_rows expired leases and returns how many. Nothing depends on it,
 * for every operation on a name first drops what has expired there. */
WEIR_API int weir_reap(struct weir_store *store, uint32_t max_rows);

/* One semaphore, as weir_list shows it. */
struct weir_sem_info {
	const char *name;
	uint32_t limit; /* 0: paused */
	uint32_t held;  /* permits; more than the limit after it was lowered */
	double percent; /* of the limit that is held; 0 when paused and nothing is held */
	uint32_t holders;
	uint32_t waiting; /* requests */
	weir_time closed; /* nobody is granted for so long: another server may have granted leases
			     that this one has lost; else 0 */
	uint64_t fence;   /* the last one given */
	/* Since the semaphore was created (memory: since the name was last new). */
	uint64_t granted_at_once;
	uint64_t granted_after_wait;
	uint64_t refused; /* tries that found it full, and waits that ran out of time */
	uint64_t expired;
	uint64_t renewals_failed; /* and adoptions: the lease was lost by then */
	/* How long those waited who were granted after a wait; at most a quarter too long. */
	weir_time wait_p50, wait_p90, wait_p99, wait_max;
};

/* One lease, or one request that waits for one. */
struct weir_claim_info {
	const char *name;
	const char *owner;
	const char *request_id;
	uint32_t weight;
	uint32_t position; /* of a waiter: 1 is next; of a holder: 0 */
	weir_time age;     /* since it was granted; of a waiter: since it asked */
	int64_t pid;       /* the process, where the store knows; else 0 */
	/* Of a holder only. */
	uint8_t token[WEIR_TOKEN_SIZE];
	uint32_t slot;
	uint64_t fence;
	weir_time left; /* until it expires */
};

/* What a server says about itself, as of when it was connected to: for people who look after it. */
struct weir_remark {
	const char *about; /* a word */
	const char *text;  /* what is so; if it matters, what to do */
	bool matters;      /* somebody should do that */
};

/* What weir_list calls. Each may be NULL. A value other than 0 ends the listing and is returned. */
struct weir_visitor {
	int (*semaphore)(void *arg, const struct weir_sem_info *info);
	int (*holder)(void *arg, const struct weir_claim_info *info);
	int (*waiter)(void *arg, const struct weir_claim_info *info);
	int (*remark)(void *arg, const struct weir_remark *remark);
};

/* Shows semaphores, fullest first (by percent, then by name); after each its holders by slot and
 * its waiters in their order; before all, remarks about the servers that were asked, if the store
 * has any. names: n of them to show, an unknown one is skipped; n 0: all. The listing is a
 * consistent picture of each semaphore. The visitor may call the store. 0 or what a visitor
 * returned; -EINVAL, -ENOMEM. */
WEIR_API int weir_list(struct weir_store *store, const char *const *names, size_t n,
		       const struct weir_visitor *visitor, void *arg);

#ifdef __cplusplus
}
#endif

#endif
