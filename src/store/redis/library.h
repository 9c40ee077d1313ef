/* store/redis: the libraries that only this engine needs, loaded when the first Redis store is
 * opened.
 *
 * A program that never uses Redis, such as `weir run` on a file, does not pay for linking with
 * them. */
#ifndef WEIR_STORE_REDIS_LIBRARY_H
#define WEIR_STORE_REDIS_LIBRARY_H

#include <hiredis/read.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdbool.h>

#define WEIR__HIREDIS_FUNCTIONS(X)        \
	X(redisReaderCreateWithFunctions) \
	X(redisReaderFeed)                \
	X(redisReaderFree)                \
	X(redisReaderGetReply)

#define WEIR__CRYPTO_FUNCTIONS(X)        \
	X(ERR_clear_error)               \
	X(ERR_error_string_n)            \
	X(ERR_peek_last_error)           \
	X(X509_VERIFY_PARAM_set1_ip_asc) \
	X(X509_verify_cert_error_string)

#define WEIR__SSL_FUNCTIONS(X)                \
	X(SSL_CTX_ctrl)                       \
	X(SSL_CTX_free)                       \
	X(SSL_CTX_load_verify_file)           \
	X(SSL_CTX_new)                        \
	X(SSL_CTX_set_default_verify_paths)   \
	X(SSL_CTX_use_PrivateKey_file)        \
	X(SSL_CTX_use_certificate_chain_file) \
	X(SSL_connect)                        \
	X(SSL_ctrl)                           \
	X(SSL_free)                           \
	X(SSL_get0_param)                     \
	X(SSL_get_error)                      \
	X(SSL_get_verify_result)              \
	X(SSL_new)                            \
	X(SSL_read)                           \
	X(SSL_set1_host)                      \
	X(SSL_set_fd)                         \
	X(SSL_set_verify)                     \
	X(SSL_write)                          \
	X(TLS_client_method)

#define WEIR__MEMBER(function) __typeof__(&function) function;
struct weir__hiredis {
	WEIR__HIREDIS_FUNCTIONS(WEIR__MEMBER)
};
struct weir__tls {
	WEIR__CRYPTO_FUNCTIONS(WEIR__MEMBER)
	WEIR__SSL_FUNCTIONS(WEIR__MEMBER)
};
#undef WEIR__MEMBER

/* Filled by weir__redis_load; read-only from then on. */
extern struct weir__hiredis weir__hiredis;
extern struct weir__tls weir__tls;

/* Loads hiredis, and OpenSSL if asked for. From any thread. 0; -EHOSTUNREACH, and what to install
 * in *ret_missing. */
int weir__redis_load(bool tls, const char **ret_missing);

#endif
