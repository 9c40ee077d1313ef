/* chaos: a proxy that does harm. See proxy.h. One thread, poll(), blocking writes of small things.
 */
#include "chaos/proxy.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "chaos/nap.h"
#include "support/stress.h"

enum { MOST = 16, ROOM = 1 << 20, ORDERS = 1 << 16 };

/* One direction: what was read and not yet passed on. */
struct flow {
	char *bytes;
	size_t size;
};

struct pair {
	int client, server; /* -1: free */
	struct flow up, down;
	bool stalled;
	enum harm orders[ORDERS]; /* for the replies that are to come */
	size_t first, last;
};

struct proxy {
	const struct proxy_protocol *protocol;
	pthread_t thread;
	pthread_mutex_t lock;
	int listener, bell[2];
	uint16_t port, server_port;
	bool refusing;
	enum harm harm;
	int times;
	char text[200];
	struct rng rng;
	uint32_t one_in;
	uint32_t hits[HARMS];
	struct pair pairs[MOST];
};

/* ---- what is done ---------------------------------------------------------------------------- */

static void put(int fd, const char *bytes, size_t size)
{
	while (size > 0) {
		ssize_t done = send(fd, bytes, size, MSG_NOSIGNAL);

		if (done <= 0)
			return;
		bytes += done;
		size -= (size_t)done;
	}
}

static void reset(struct pair *pair)
{
	const struct linger at_once = { .l_onoff = 1, .l_linger = 0 };

	if (pair->client < 0)
		return;
	(void)setsockopt(pair->client, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	(void)close(pair->client);
	(void)close(pair->server);
	pair->client = pair->server = -1;
	pair->up.size = pair->down.size = 0;
	pair->first = pair->last = 0;
	pair->stalled = false;
}

static enum harm choose(struct proxy *proxy)
{
	enum harm harm = NO_HARM;

	(void)pthread_mutex_lock(&proxy->lock);
	if (proxy->times > 0) {
		proxy->times--;
		harm = proxy->harm;
	} else if (proxy->one_in != 0 && rng_one_in(&proxy->rng, proxy->one_in)) {
		harm = (enum harm)rng_between(&proxy->rng, CUT_BEFORE, DELAY);
	}
	proxy->hits[harm]++;
	(void)pthread_mutex_unlock(&proxy->lock);
	return harm;
}

/* A message on its way up. Whether the pair lives on. */
static bool pass_up(struct proxy *proxy, struct pair *pair, const char *command, size_t size)
{
	enum harm harm = proxy->protocol->does_work(command, size) ? choose(proxy) : NO_HARM;

	if (harm == CUT_BEFORE) {
		reset(pair);
		return false;
	}
	if (harm == SAY) {
		(void)pthread_mutex_lock(&proxy->lock);
		put(pair->client, proxy->text, strlen(proxy->text));
		(void)pthread_mutex_unlock(&proxy->lock);
		return true;
	}
	if (harm == STALL)
		pair->stalled = true;
	put(pair->server, command, size);
	if (proxy->protocol->is_answered(command))
		pair->orders[pair->last++ % ORDERS] = harm;
	return true;
}

static bool pass_down(struct proxy *proxy, struct pair *pair, const char *reply, size_t size)
{
	bool ends = proxy->protocol->ends_answer(reply);
	enum harm harm = NO_HARM;

	if (pair->first < pair->last) /* messages of a subscription are nobody's replies */
		harm = pair->orders[pair->first % ORDERS];
	if (pair->first < pair->last && ends)
		pair->first++;
	if (pair->stalled)
		return true;
	if (harm == CUT_AFTER || (harm == TRUNCATE && ends)) {
		if (harm == TRUNCATE) {
			put(pair->client, reply, size / 2);
			nap(1);
		}
		reset(pair);
		return false;
	}
	if (harm == DELAY && ends)
		nap(3);
	for (size_t i = 0; harm == DRIP && i < size; i++)
		put(pair->client, reply + i, 1);
	if (harm != DRIP)
		put(pair->client, reply, size);
	return true;
}

/* Reads what there is and passes whole messages on. */
static void flow(struct proxy *proxy, struct pair *pair, bool up)
{
	struct flow *in = up ? &pair->up : &pair->down;
	ssize_t got = recv(up ? pair->client : pair->server, in->bytes + in->size, ROOM - in->size,
			   0);
	const char *at = in->bytes;
	const char *next;

	if (got <= 0) {
		reset(pair);
		return;
	}
	in->size += (size_t)got;
	while ((next = proxy->protocol->message_end(at, in->bytes + in->size)) != NULL) {
		size_t size = (size_t)(next - at);

		if (!(up ? pass_up(proxy, pair, at, size) : pass_down(proxy, pair, at, size)))
			return;
		at = next;
	}
	in->size -= (size_t)(at - in->bytes);
	memmove(in->bytes, at, in->size);
}

static int dial(uint16_t port)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons(port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0)
		return fd;
	(void)close(fd);
	return -1;
}

/* Each message is passed on by itself, and none waits for the receipt of the last. */
static void hurry(int fd)
{
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
}

static void welcome(struct proxy *proxy)
{
	int client = accept4(proxy->listener, NULL, NULL, SOCK_CLOEXEC);
	struct pair *pair = proxy->pairs;
	int server;

	if (client < 0)
		return;
	while (pair < proxy->pairs + MOST && pair->client >= 0)
		pair++;
	server = pair < proxy->pairs + MOST &&
				 !__atomic_load_n(&proxy->refusing, __ATOMIC_ACQUIRE) ?
			 dial(__atomic_load_n(&proxy->server_port, __ATOMIC_ACQUIRE)) :
			 -1;
	if (server < 0) {
		(void)close(client);
		return;
	}
	hurry(client);
	hurry(server);
	pair->client = client;
	pair->server = server;
}

static void *run(void *argument)
{
	struct proxy *proxy = argument;

	while (true) {
		struct pollfd fds[2 + 2 * MOST] = { { .fd = proxy->bell[0], .events = POLLIN },
						    { .fd = proxy->listener, .events = POLLIN } };
		char byte;

		for (int i = 0; i < MOST; i++) {
			fds[2 + 2 * i] = (struct pollfd){ proxy->pairs[i].client, POLLIN, 0 };
			fds[3 + 2 * i] = (struct pollfd){ proxy->pairs[i].server, POLLIN, 0 };
		}
		if (poll(fds, 2 + 2 * MOST, -1) < 0)
			continue;
		if (fds[0].revents != 0) {
			(void)!read(proxy->bell[0], &byte, 1);
			if (byte == 's')
				return NULL;
			for (int i = 0; i < MOST; i++)
				reset(&proxy->pairs[i]);
			(void)!write(proxy->bell[0], "", 1); /* done */
			continue;
		}
		for (int i = 0; i < MOST; i++) {
			struct pair *pair = &proxy->pairs[i];

			if (fds[2 + 2 * i].revents != 0 && pair->client >= 0)
				flow(proxy, pair, true);
			if (fds[3 + 2 * i].revents != 0 && pair->server >= 0)
				flow(proxy, pair, false);
		}
		if (fds[1].revents != 0)
			welcome(proxy);
	}
}

/* ---- for the tests --------------------------------------------------------------------------- */

struct proxy *proxy_start(const struct proxy_protocol *protocol, uint16_t server_port)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(at);
	struct proxy *proxy = calloc(1, sizeof(*proxy));

	if (proxy == NULL || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, proxy->bell) < 0)
		abort();
	proxy->protocol = protocol;
	proxy->server_port = server_port;
	for (int i = 0; i < MOST; i++) {
		proxy->pairs[i].client = proxy->pairs[i].server = -1;
		proxy->pairs[i].up.bytes = malloc(ROOM);
		proxy->pairs[i].down.bytes = malloc(ROOM);
		if (proxy->pairs[i].up.bytes == NULL || proxy->pairs[i].down.bytes == NULL)
			abort();
	}
	proxy->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(proxy->listener, (struct sockaddr *)&at, sizeof(at)) < 0 ||
	    listen(proxy->listener, 64) < 0 ||
	    getsockname(proxy->listener, (struct sockaddr *)&at, &size) < 0 ||
	    pthread_mutex_init(&proxy->lock, NULL) != 0 ||
	    pthread_create(&proxy->thread, NULL, run, proxy) != 0)
		abort();
	proxy->port = ntohs(at.sin_port);
	return proxy;
}

uint16_t proxy_port(const struct proxy *proxy)
{
	return proxy->port;
}

void proxy_stop(struct proxy *proxy)
{
	(void)!write(proxy->bell[1], "s", 1);
	(void)pthread_join(proxy->thread, NULL);
	for (int i = 0; i < MOST; i++) {
		reset(&proxy->pairs[i]);
		free(proxy->pairs[i].up.bytes);
		free(proxy->pairs[i].down.bytes);
	}
	(void)close(proxy->listener);
	(void)close(proxy->bell[0]);
	(void)close(proxy->bell[1]);
	free(proxy);
}

void proxy_harm(struct proxy *proxy, enum harm harm, int times, const char *text)
{
	(void)pthread_mutex_lock(&proxy->lock);
	proxy->harm = harm;
	proxy->times = times;
	if (text != NULL)
		(void)strncpy(proxy->text, text, sizeof(proxy->text) - 1);
	(void)pthread_mutex_unlock(&proxy->lock);
}

void proxy_storm(struct proxy *proxy, uint64_t seed, uint32_t one_in)
{
	(void)pthread_mutex_lock(&proxy->lock);
	proxy->rng.state = seed;
	proxy->one_in = one_in;
	(void)pthread_mutex_unlock(&proxy->lock);
}

uint32_t proxy_hits(struct proxy *proxy, enum harm harm)
{
	uint32_t hits;

	(void)pthread_mutex_lock(&proxy->lock);
	hits = proxy->hits[harm];
	(void)pthread_mutex_unlock(&proxy->lock);
	return hits;
}

void proxy_cut_all(struct proxy *proxy)
{
	char byte;

	(void)!write(proxy->bell[1], "c", 1);
	(void)!read(proxy->bell[1], &byte, 1);
}

void proxy_retarget(struct proxy *proxy, uint16_t server_port)
{
	__atomic_store_n(&proxy->server_port, server_port, __ATOMIC_RELEASE);
	proxy_cut_all(proxy);
}

void proxy_refuse(struct proxy *proxy, int refuse)
{
	__atomic_store_n(&proxy->refusing, refuse != 0, __ATOMIC_RELEASE);
	proxy_cut_all(proxy);
}
