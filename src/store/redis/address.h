/* store/redis: where a server is and how to speak to it.
 *
 *     redis://[user:password@]host[:port][/db]     TCP
 *     rediss://...                                 the same through TLS
 *     redis+unix:PATH                              a socket of this machine
 *     redis+sentinel://[user:password@]host[:port][,host[:port]...]/master[/db]
 *     rediss+sentinel://...                        whom sentinels name, and they as well with TLS
 *
 * Where sentinels are named there may be several of them, and so there may of a cluster's servers.
 * User and password may have %XX in them. */
#ifndef WEIR_STORE_REDIS_ADDRESS_H
#define WEIR_STORE_REDIS_ADDRESS_H

#include <weir/base.h>

struct weir__address {
	struct weir__address *next; /* another host that was named; only host and port are set */
	char *host;                 /* or the socket's path */
	char *port;
	char *user; /* NULL: none */
	char *password;
	char *master; /* for sentinels; NULL: they are not asked */
	uint32_t db;
	bool tls;
	bool local; /* a socket of this machine */
	/* Options. */
	char *ca_file; /* NULL: the system's */
	char *cert_file;
	char *key_file;
	weir_time connect_timeout;
	weir_time timeout; /* for an answer */
};

/* Takes `rest`, what follows the scheme's colon, apart. 0; -EINVAL and what is wrong, without any
 * secret, in *ret_why; -ENOMEM. */
int weir__address_parse(struct weir__address *address, const char *scheme, const char *rest,
			const char **ret_why);
void weir__address_done(struct weir__address *address);

/* Another server of the same kind: same user, password, options, and no others beside it. 0 or
 * -ENOMEM. */
int weir__address_copy(struct weir__address *address, const struct weir__address *like,
		       const char *host, const char *port);

/* "host:port" or the path, for people. */
void weir__address_print(const struct weir__address *address, char *text, size_t size);

#endif
