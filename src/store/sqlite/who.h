/* store/sqlite: agents and their processes, whether they live, and what keeps a bound lease.
 *
 * In live.c. */
#ifndef WEIR_STORE_SQLITE_WHO_H
#define WEIR_STORE_SQLITE_WHO_H

#include <stdbool.h>
#include <stdint.h>

struct weir__lite;
struct weir_store;
struct weir_lease;
struct sockaddr_un;

/* An agent, and the process it is of. */
struct weir__who {
	int64_t pid;
	int64_t start; /* /proc/PID/stat, so that a pid that was given again is another one */
	int64_t space; /* of which namespaces pid and start are */
	int64_t agent; /* random; names its socket */
};

enum weir__life {
	WEIR__ALIVE,
	WEIR__DEAD,
	WEIR__UNKNOWN, /* it cannot be seen from here: its TTL decides */
};

int weir__lite_self(struct weir__lite *lite, char **ret_error);
/* Whether the process lives. With ret_fd: if it does, a descriptor that becomes readable when it
 * ends, or -1. */
enum weir__life weir__lite_life(const struct weir__lite *lite, const struct weir__who *who,
				int *ret_fd);
/* The socket of an agent, and whether somebody listens there. */
void weir__lite_socket_name(char name[20], int64_t agent);
void weir__lite_address(const struct weir__lite *lite, int64_t agent, struct sockaddr_un *address);
/* The same, found faster, for what may go astray. */
void weir__lite_mail_address(const struct weir__lite *lite, int64_t agent,
			     struct sockaddr_un *address);
enum weir__life weir__lite_listens(const struct weir__lite *lite, int64_t agent);
/* Whether a lease is bound to descriptors that somebody has. With ret_fd: one that hangs up when
 * nobody has them any more, or -1. */
bool weir__lite_is_bound(const struct weir__lite *lite, const uint8_t *token, int *ret_fd);
int weir__lite_bind(struct weir_store *store, struct weir_lease *lease, char **ret_error);
/* The lease has ended. `ours`: it was given back here, so it is known whether it was bound. */
void weir__lite_unbind(struct weir__lite *lite, const uint8_t *token, bool ours);
void weir__lite_bound_free(struct weir__lite *lite);

#endif
