/* store/redis: TLS. See tls.h. */
#include "store/redis/tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/x509_vfy.h>

#include "base/print.h"

static int refuse(char *why, size_t size, const char *what, const char *file)
{
	char words[160] = "";
	unsigned long code = weir__tls.ERR_peek_last_error();

	if (code != 0)
		weir__tls.ERR_error_string_n(code, words, sizeof(words));
	weir__format(why, size, "%s%s%s%s%s", what, file != NULL ? " " : "",
		     file != NULL ? file : "", words[0] != '\0' ? ": " : "", words);
	weir__tls.ERR_clear_error();
	return -EACCES;
}

int weir__tls_init(struct weir__wire *wire, char *why, size_t size)
{
	const struct weir__address *address = wire->address;
	SSL_CTX *tls = weir__tls.SSL_CTX_new(weir__tls.TLS_client_method());

	wire->tls = tls;
	if (tls == NULL)
		return refuse(why, size, "TLS cannot be set up", NULL);
	(void)weir__tls.SSL_CTX_ctrl(tls, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_2_VERSION, NULL);
	(void)weir__tls.SSL_CTX_ctrl(
		tls, SSL_CTRL_MODE,
		SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER, NULL);
	if (address->ca_file != NULL) {
		if (weir__tls.SSL_CTX_load_verify_file(tls, address->ca_file) != 1)
			return refuse(why, size, "cannot use the ca_file", address->ca_file);
	} else if (weir__tls.SSL_CTX_set_default_verify_paths(tls) != 1) {
		return refuse(why, size, "cannot use the system's certificates", NULL);
	}
	if (address->cert_file != NULL &&
	    weir__tls.SSL_CTX_use_certificate_chain_file(tls, address->cert_file) != 1)
		return refuse(why, size, "cannot use the cert_file", address->cert_file);
	if (address->key_file != NULL &&
	    weir__tls.SSL_CTX_use_PrivateKey_file(tls, address->key_file, SSL_FILETYPE_PEM) != 1)
		return refuse(why, size, "cannot use the key_file", address->key_file);
	return 0;
}

void weir__tls_done(struct weir__wire *wire)
{
	if (wire->tls != NULL)
		weir__tls.SSL_CTX_free(wire->tls);
	wire->tls = NULL;
}

static bool is_ip(const char *host)
{
	unsigned char bytes[sizeof(struct in6_addr)];

	return inet_pton(AF_INET, host, bytes) == 1 || inet_pton(AF_INET6, host, bytes) == 1;
}

/* Who the other side must be. */
static bool expect(SSL *ssl, const char *host)
{
	weir__tls.SSL_set_verify(ssl, SSL_VERIFY_PEER, NULL);
	if (is_ip(host))
		return weir__tls.X509_VERIFY_PARAM_set1_ip_asc(weir__tls.SSL_get0_param(ssl),
							       host) == 1;
	return weir__tls.SSL_set1_host(ssl, host) == 1 &&
	       weir__tls.SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
				  (void *)(uintptr_t)host) == 1;
}

int weir__tls_connect(struct weir__wire *wire, char *why, size_t size)
{
	int result;

	if (wire->ssl == NULL) {
		wire->ssl = weir__tls.SSL_new(wire->tls);
		if (wire->ssl == NULL || weir__tls.SSL_set_fd(wire->ssl, wire->watch.fd) != 1 ||
		    !expect(wire->ssl, wire->address->host))
			return refuse(why, size, "TLS cannot be set up", NULL);
	}
	weir__tls.ERR_clear_error();
	result = weir__tls.SSL_connect(wire->ssl);
	if (result == 1)
		return 0;
	result = weir__tls.SSL_get_error(wire->ssl, result);
	if (result == SSL_ERROR_WANT_READ || result == SSL_ERROR_WANT_WRITE)
		return result == SSL_ERROR_WANT_READ ? -EAGAIN : -ENOBUFS;

	long verdict = weir__tls.SSL_get_verify_result(wire->ssl);

	if (verdict != X509_V_OK) {
		weir__tls.ERR_clear_error();
		return refuse(why, size, "its certificate is not accepted:",
			      weir__tls.X509_verify_cert_error_string(verdict));
	}
	(void)refuse(why, size, "it does not speak TLS as it should", NULL);
	return -EHOSTUNREACH;
}

static ssize_t outcome(struct weir__wire *wire, int result)
{
	if (result > 0)
		return result;
	switch (weir__tls.SSL_get_error(wire->ssl, result)) {
	case SSL_ERROR_WANT_READ:
	case SSL_ERROR_WANT_WRITE:
		return -EAGAIN;
	case SSL_ERROR_ZERO_RETURN:
		return 0;
	default:
		weir__tls.ERR_clear_error();
		return -ECONNRESET;
	}
}

ssize_t weir__tls_write(struct weir__wire *wire, const char *bytes, size_t size)
{
	weir__tls.ERR_clear_error();
	return outcome(wire,
		       weir__tls.SSL_write(wire->ssl, bytes, size < INT_MAX ? (int)size : INT_MAX));
}

ssize_t weir__tls_read(struct weir__wire *wire, char *bytes, size_t size)
{
	weir__tls.ERR_clear_error();
	return outcome(wire,
		       weir__tls.SSL_read(wire->ssl, bytes, size < INT_MAX ? (int)size : INT_MAX));
}
