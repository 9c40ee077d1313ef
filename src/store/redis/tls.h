/* store/redis: TLS for a wire. At least version 1.2, certificate and host name verified, always. */
#ifndef WEIR_STORE_REDIS_TLS_H
#define WEIR_STORE_REDIS_TLS_H

#include "store/redis/wire.h"

/* Prepares what a wire needs for TLS. 0; or a negative errno and why. */
int weir__tls_init(struct weir__wire *wire, char *why, size_t size);
void weir__tls_done(struct weir__wire *wire);

/* 0: hands are shaken; -EAGAIN: not yet, the other side has to say something; -ENOBUFS: not yet,
 * there has to be room to write; -EHOSTUNREACH, or -EACCES when trying
 * again will not help, and why. */
int weir__tls_connect(struct weir__wire *wire, char *why, size_t size);

/* Like send and recv, with a negative errno. */
ssize_t weir__tls_write(struct weir__wire *wire, const char *bytes, size_t size);
ssize_t weir__tls_read(struct weir__wire *wire, char *bytes, size_t size);

#endif
