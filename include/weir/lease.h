/* weir/lease.h - permits under a name, for a time.
 *
 * WHAT IT IS
 *     A lease is the right to use some permits of a named semaphore until it expires or is given
 *     back. Whoever dies while holding one loses it: at once where the store can see it, on the
 *     same machine, and after its time to live elsewhere.
 *
 *         struct weir_request request = {
 *                 .name = "api/stripe", .limit = 10, .deadline = weir_after(5 * WEIR_SECOND),
 *                 .keepalive = true,
 *         };
 *         struct weir_lease *lease;
 *
 *         int error = weir_acquire(store, &request, &lease);
 *         if (error < 0)
 *                 return error;
 *         call_the_api();
 *         weir_release(lease);
 *         weir_lease_unref(lease);
 *
 * ORDER
 *     is strictly first come, first served, by the store's own count: a newcomer never overtakes a
 *     waiter, a light request never a heavy one.
 *
 * ASKING AGAIN
 *     A request id names one piece of work. Who asks under it again is taken to be the same client,
 *     which did not see its answer, and is a holder as good as the first: through the same store it
 *     gets the same handle, through another one, of another process perhaps, a handle of its own.
 *     The store keeps the owner of the first request; a handle of one's own tells one's own.
 *     What a shared handle does by itself (keepalive, on_lost, cancel_on_lost) is as its first
 *     holder asked, whose on_lost_arg must live as long as the handle.
 *     Those who wait under it at the same time, through one store, wait in one place of the queue,
 *     which stays until the last of them has given up, and are granted together. Each has one
 *     reference of the handle, from the grant on: what one of them drops, the others hold. What
 *     one releases before another has returned from weir_acquire, that one gets as a lease that is
 *     not held any more. One that is cancelled at the grant leaves the lease to the others.
 *     Releasing any of them, or dropping the last handle in one store, gives the lease back, and
 *     the others are lost: at once where the store can tell them, by their next renewal or their
 *     deadline elsewhere. While two processes have it, the death of neither ends it, only its TTL.
 *     Those who work side by side need an id each. Whoever only looks after somebody else's lease
 *     adopts it.
 *
 * TWO CLOCKS OF A HOLD
 *     ttl is liveness: it runs out unless it is renewed, by hand or by keepalive every third of it.
 *     max_hold is the hard end: nothing extends it.
 *
 * WHAT A LEASE CANNOT PROMISE
 *     is that a process which was stopped in the middle notices in time. Only the resource can turn
 *     it away: let it remember the highest fence it has seen for each slot, and refuse lower ones.
 *     weir_fence_check() is that rule.
 *
 * STATES
 *     held -> released (weir_release) or lost (expired, evicted, store closed). Never back.
 *     This side stops believing in a lease before the store does: its end is counted from before
 *     the request was sent, on a clock that goes on while the machine is suspended, less the
 *     store's guard.
 *
 * WHO MAY CALL
 *     Any thread, any task; no signal handler. Tasks wait as tasks; a task's cancellation ends its
 *     wait with -ECANCELED, and then it holds nothing.
 *
 * ERRORS
 *     those of weir/store.h, and
 *     -EAGAIN     not now: full, or others wait (deadline 0)
 *     -ETIMEDOUT  the deadline passed
 *     -ECANCELED  the waiting task was cancelled
 *     -E2BIG      heavier than the limit: it could never be granted
 *     -ENOBUFS    too many wait already
 *     -ESTALE     the lease is lost: expired, released or evicted
 */
#ifndef WEIR_LEASE_H
#define WEIR_LEASE_H

#include <weir/base.h>
#include <weir/store.h>

#ifdef __cplusplus
extern "C" {
#endif

struct weir_lease;

/* What is asked for. All but the name may be zero. */
struct weir_request {
	const char *name;
	uint32_t weight;        /* permits; 0: one */
	uint32_t limit;         /* 0: the semaphore must exist. Else it is created with this limit
				   unless it exists, and another limit than this is -EEXIST */
	weir_time ttl;          /* 0: the store's default, 30 s */
	weir_time max_hold;     /* 0: none */
	weir_time deadline;     /* until when to wait: 0 only tries, WEIR_NEVER waits for ever */
	const char *owner;      /* who, for people: up to 200 printable bytes of ASCII; NULL:
				   host-pid-random */
	const char *request_id; /* the same; NULL: random. The same id finds the same lease while it
				   lives, or the same place in the queue: see ASKING AGAIN */
	bool keepalive;         /* the agent renews it until it is released */
	/* Once granted, the lease is not bound to this process: it lives by its TTL alone, and
	 * neither the end of the process nor dropping the handle nor closing the store gives it
	 * back. For a lease that is renewed and released by others, who know its token
	 * (weir_lease_adopt). While it waits, the request is this process's as any other. Not
	 * together with keepalive, on_lost or cancel_on_lost: -EINVAL. */
	bool detached;
	bool cancel_on_lost; /* cancel the task that called weir_acquire when the lease is lost;
				outside of a task: -EINVAL */
	/* Called once when the lease is lost, not when it is released; by the store's agent or by
	 * weir_store_close, perhaps before weir_acquire has returned. It must not wait and must not
	 * call the store; it may drop the handle. */
	void (*on_lost)(struct weir_lease *lease, void *arg);
	void *on_lost_arg;
};

/* Acquires. 0 and a handle, to be dropped with weir_lease_unref; or an error, and then nothing is
 * held: what could not be cleared up with the store ends with its TTL. */
WEIR_API int weir_acquire(struct weir_store *store, const struct weir_request *request,
			  struct weir_lease **ret_lease);

/* A handle for a lease that somebody else acquired, another process for example, and whose token is
 * known. Its holder is still that one: dropping the handle does not give it back. 0; -ESTALE when
 * it is not live; -ENOENT. */
WEIR_API int weir_lease_adopt(struct weir_store *store, const char *name,
			      const uint8_t token[WEIR_TOKEN_SIZE], struct weir_lease **ret_lease);

/* Extends the lease to ttl (0: as it was acquired) from now, not past its max_hold; it is never
 * shortened. 0; -ESTALE, and then it is lost. */
WEIR_API int weir_renew(struct weir_lease *lease, weir_time ttl);

/* Gives it back; the next waiter is granted and told in the same step. 0; -ESTALE when it was not
 * live any more: then nobody else's lease was touched. A second release is harmless (-ESTALE). The
 * calling task's cancellation does not interrupt it. */
WEIR_API int weir_release(struct weir_lease *lease);

/* Leases of one name that one task, or one thread outside of tasks, has acquired form a stack. This
 * releases the newest one that was not released yet and takes it off. If that one was lost
 * meanwhile it is taken off all the same, with -ESTALE, and the one below stays held. -ENOENT when
 * there is none. The handle must still be dropped. */
WEIR_API int weir_release_last(struct weir_store *store, const char *name);

/* Counts handles. Dropping the last handle of a lease that is still held gives it back, without
 * waiting for the store. NULL is fine to drop. */
WEIR_API struct weir_lease *weir_lease_ref(struct weir_lease *lease);
WEIR_API void weir_lease_unref(struct weir_lease *lease);

/* What a lease knows. The strings live as long as the handle. */
struct weir_lease_info {
	const char *name;
	const char *owner; /* as the request of this handle named it: see ASKING AGAIN */
	const char *request_id;
	uint8_t token[WEIR_TOKEN_SIZE];
	uint32_t weight;
	uint32_t slot;
	uint64_t fence;
	weir_time ttl;
	weir_time left;   /* on this side, without asking the store; 0 when lost or released */
	weir_time waited; /* between asking and being granted */
	bool held;
};
WEIR_API void weir_lease_get(const struct weir_lease *lease, struct weir_lease_info *ret_info);

/* Whether it is still held, as far as this side may believe. Cheap; asks nobody. */
WEIR_API bool weir_lease_held(const struct weir_lease *lease);

/* A descriptor that binds the lease to processes: the store takes it as held, whatever its TTL
 * says, while any process has this descriptor or a copy inherited from it. Let a command inherit it
 * (it is close-on-exec as returned) and the permit is bound to the command's whole family. Belongs
 * to the lease; closed by its release or when its handle goes. Its max_hold still ends it. -ENOTSUP
 * where the store cannot do this; -ESTALE; -EHOSTUNREACH or -ENOMEM when it could not be made. */
WEIR_API int weir_lease_bind_fd(struct weir_lease *lease);

/* The check that a resource makes: whether an access under (slot, fence) is by the newest holder of
 * that slot seen so far. marks: one number for each slot below n, all zero at first, kept where the
 * resource keeps its data. 0, and the mark is raised; -ESTALE: a later holder was here before, turn
 * this one away; -EINVAL: no such slot. The caller makes the call and its access one step. */
WEIR_API int weir_fence_check(uint64_t *marks, size_t n, uint32_t slot, uint64_t fence);

#ifdef __cplusplus
}
#endif

#endif
