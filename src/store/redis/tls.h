/* store/redis: TLS for a link. At least version 1.2, certificate and host name verified, always. */
#ifndef WEIR_STORE_REDIS_TLS_H
#define WEIR_STORE_REDIS_TLS_H

#include "store/redis/link.h"

/* Prepares what a link needs for TLS. 0; or a negative errno and why. */
int weir__tls_init(struct weir__link *link, char *why, size_t size);
void weir__tls_done(struct weir__link *link);

/* 0: hands are shaken; -EAGAIN: not yet; or another error, and why. */
int weir__tls_connect(struct weir__link *link, char *why, size_t size);

/* Like send and recv, with a negative errno. */
ssize_t weir__tls_write(struct weir__link *link, const char *bytes, size_t size);
ssize_t weir__tls_read(struct weir__link *link, char *bytes, size_t size);

#endif
