/* store/redis: connections. See link.h. */
#include "store/redis/link.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/boottime.h"
#include "base/print.h"
#include "store/redis/tls.h"

enum {
	READ_SIZE = 16 << 10,
	WHY_SIZE = 300,
	/* What a server may have sent of one reply before it is taken to be no Redis. */
	MOST_UNREAD = 64 << 20,
};

static void ready(struct weir__watch *watch, uint32_t events);
static void late(struct weir__timer *timer);
static void try_next(struct weir__link *link, int error, const char *why);

static struct weir__link *link_of_watch(struct weir__watch *watch)
{
	return (struct weir__link *)(void *)((char *)watch - offsetof(struct weir__link, watch));
}

static struct weir__link *link_of_timer(struct weir__timer *timer)
{
	return (struct weir__link *)(void *)((char *)timer - offsetof(struct weir__link, timer));
}

void weir__link_init(struct weir__link *link, const struct weir__link_owner *owner,
		     struct weir__agent *agent, const struct weir__address *address)
{
	*link = (struct weir__link){
		.owner = owner,
		.agent = agent,
		.address = address,
		.watch = { .fd = -1, .ready = ready },
		.timer = { .fire = late },
	};
}

/* ---- the end --------------------------------------------------------------------------------- */

static void hang_up(struct weir__link *link)
{
	int fd = link->watch.fd;

	if (link->ssl != NULL)
		weir__tls.SSL_free(link->ssl);
	link->ssl = NULL;
	if (fd >= 0) {
		weir__agent_unwatch(link->agent, &link->watch);
		close(fd);
	}
}

void weir__link_close(struct weir__link *link)
{
	hang_up(link);
	weir__agent_timer_unset(link->agent, &link->timer);
	if (link->found != NULL)
		freeaddrinfo(link->found);
	link->found = NULL;
	if (link->reader != NULL)
		weir__hiredis.redisReaderFree(link->reader);
	link->reader = NULL;
	weir__tls_done(link);
	if (link->out != NULL)
		explicit_bzero(link->out, link->out_room); /* a password may have been in it */
	free(link->out);
	link->out = NULL;
	link->out_begin = link->out_end = link->out_room = 0;
	link->awaited = 0;
	link->failed = false;
	link->state = WEIR__LINK_DOWN;
}

static void fail(struct weir__link *link, int error, const char *why)
{
	if (link->state == WEIR__LINK_DOWN)
		return;
	weir__link_close(link);
	link->owner->down(link, error, why);
}

static void fail_errno(struct weir__link *link, int error)
{
	fail(link, -EHOSTUNREACH, strerror(error));
}

static void late(struct weir__timer *timer)
{
	struct weir__link *link = link_of_timer(timer);

	if (link->state != WEIR__LINK_UP) {
		try_next(link, -EHOSTUNREACH, "it does not answer within the connect timeout");
		return;
	}
	if (link->awaited == 0)
		return;
	/* The timer is not moved with each reply; it looks when it comes to it. */
	if (weir__boottime() < link->deadline)
		weir__agent_timer_set(link->agent, timer, link->deadline);
	else
		fail(link, -EHOSTUNREACH, "it does not answer within the timeout");
}

/* ---- the beginning --------------------------------------------------------------------------- */

static int new_socket(struct weir__link *link, int family, const struct sockaddr *to,
		      socklen_t size)
{
	const int on = 1, idle = 15, interval = 5, count = 3;
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	if (!link->address->local) {
		/* None of these is needed for a right answer, only for a prompt one. */
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
		(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
		(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof(interval));
		(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
	}
	if (connect(fd, to, size) < 0 && errno != EINPROGRESS) {
		int error = -errno;

		close(fd);
		return error;
	}
	return fd;
}

/* Edge-triggered, both ways: whoever is told reads and writes until the kernel has enough. */
static int start(struct weir__link *link, int family, const struct sockaddr *to, socklen_t size)
{
	int fd = new_socket(link, family, to, size);
	int error;

	if (fd < 0)
		return fd;
	link->watch.fd = fd;
	error = weir__agent_watch(link->agent, &link->watch, EPOLLIN | EPOLLOUT | EPOLLET);
	if (error < 0) {
		link->watch.fd = -1;
		close(fd);
		return error;
	}
	link->state = WEIR__LINK_CONNECTING;
	weir__agent_timer_set(link->agent, &link->timer,
			      weir__time_add(weir__boottime(), link->address->connect_timeout));
	return 0;
}

/* The next of the host's addresses; `why` is how the one before has failed. */
static void try_next(struct weir__link *link, int error, const char *why)
{
	char text[WHY_SIZE];

	weir__format(text, sizeof(text), "%s", why);
	hang_up(link);
	while (link->next != NULL) {
		struct addrinfo *to = link->next;

		link->next = to->ai_next;
		int result = start(link, to->ai_family, to->ai_addr, to->ai_addrlen);

		if (result == 0)
			return;
		error = -EHOSTUNREACH;
		weir__format(text, sizeof(text), "%s", strerror(-result));
	}
	fail(link, error, text);
}

/* In the agent's thread, but not within the call that asked for the link. */
static void begin_local(struct weir__link *link)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int error;

	if (strlen(link->address->host) >= sizeof(to.sun_path)) {
		fail(link, -EINVAL, "the path of the socket is too long");
		return;
	}
	memcpy(to.sun_path, link->address->host, strlen(link->address->host) + 1);
	error = start(link, AF_UNIX, (struct sockaddr *)&to, sizeof(to));
	if (error < 0)
		fail_errno(link, -error);
}

static void begin(struct weir__timer *timer)
{
	struct weir__link *link = link_of_timer(timer);
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG };
	char why[WHY_SIZE];
	int error;

	link->timer.fire = late;
	link->reader = weir__hiredis.redisReaderCreateWithFunctions(&weir__reply_functions);
	if (link->reader == NULL) {
		fail(link, -ENOMEM, "there is no memory");
		return;
	}
	if (link->address->tls && weir__tls_init(link, why, sizeof(why)) < 0) {
		fail(link, -EINVAL, why);
		return;
	}
	if (link->address->local) {
		begin_local(link);
		return;
	}
	error = getaddrinfo(link->address->host, link->address->port, &hints, &link->found);
	if (error != 0) {
		fail(link, -EHOSTUNREACH, gai_strerror(error));
		return;
	}
	link->next = link->found;
	try_next(link, -EHOSTUNREACH, "the host has no address");
}

void weir__link_open(struct weir__link *link)
{
	link->state = WEIR__LINK_CONNECTING;
	link->opened++;
	link->timer.fire = begin;
	weir__agent_timer_set(link->agent, &link->timer, weir__boottime());
}

static void come_up(struct weir__link *link)
{
	link->state = WEIR__LINK_UP;
	link->next = NULL;
	weir__agent_timer_unset(link->agent, &link->timer);
	link->owner->up(link);
}

static void connected(struct weir__link *link)
{
	socklen_t size = sizeof(int);
	int error = 0;

	if (getsockopt(link->watch.fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
		error = errno;
	if (error != 0) {
		try_next(link, -EHOSTUNREACH, strerror(error));
		return;
	}
	if (!link->address->tls) {
		come_up(link);
		return;
	}
	link->state = WEIR__LINK_SHAKING_HANDS;
}

static void shake_hands(struct weir__link *link)
{
	char why[WHY_SIZE];
	int result = weir__tls_connect(link, why, sizeof(why));

	if (result == 0)
		come_up(link);
	else if (result != -EAGAIN)
		try_next(link, -EHOSTUNREACH, why);
}

/* ---- writing --------------------------------------------------------------------------------- */

static bool make_room(struct weir__link *link, size_t size)
{
	size_t used = link->out_end - link->out_begin;
	size_t room = link->out_room != 0 ? link->out_room : READ_SIZE;

	if (link->out_room - link->out_end >= size)
		return true;
	if (link->out_begin != 0) {
		memmove(link->out, link->out + link->out_begin, used);
		link->out_begin = 0;
		link->out_end = used;
	}
	while (room - used < size)
		room *= 2;
	if (room != link->out_room) {
		char *out = realloc(link->out, room);

		if (out == NULL)
			return false;
		link->out = out;
		link->out_room = room;
	}
	return true;
}

static void add(struct weir__link *link, const char *bytes, size_t size)
{
	memcpy(link->out + link->out_end, bytes, size);
	link->out_end += size;
}

static void add_count(struct weir__link *link, char kind, size_t count)
{
	char digits[24];
	size_t at = sizeof(digits);

	digits[--at] = '\n';
	digits[--at] = '\r';
	do {
		digits[--at] = (char)('0' + count % 10);
		count /= 10;
	} while (count != 0);
	digits[--at] = kind;
	add(link, digits + at, sizeof(digits) - at);
}

void weir__link_send(struct weir__link *link, size_t n, const char *const *parts,
		     const size_t *size)
{
	size_t all = 32;

	for (size_t i = 0; i < n; i++)
		all += 32 + (size != NULL ? size[i] : strlen(parts[i]));
	if (link->failed || !make_room(link, all)) {
		link->failed = true;
		return;
	}
	add_count(link, '*', n);
	for (size_t i = 0; i < n; i++) {
		size_t part = size != NULL ? size[i] : strlen(parts[i]);

		add_count(link, '$', part);
		add(link, parts[i], part);
		add(link, "\r\n", 2);
	}
	if (link->awaited++ == 0) {
		link->deadline = weir__time_add(weir__boottime(), link->address->timeout);
		if (!link->timer.set)
			weir__agent_timer_set(link->agent, &link->timer, link->deadline);
	}
}

/* Bytes, 0 when the other side has closed, or a negative errno. */
static ssize_t put_bytes(struct weir__link *link, const char *bytes, size_t size)
{
	ssize_t done;

	if (link->ssl != NULL)
		return weir__tls_write(link, bytes, size);
	done = send(link->watch.fd, bytes, size, MSG_NOSIGNAL);
	return done < 0 ? -errno : done;
}

static ssize_t get_bytes(struct weir__link *link, char *bytes, size_t size)
{
	ssize_t done;

	if (link->ssl != NULL)
		return weir__tls_read(link, bytes, size);
	done = recv(link->watch.fd, bytes, size, 0);
	return done < 0 ? -errno : done;
}

void weir__link_flush(struct weir__link *link)
{
	if (link->failed) {
		fail(link, -ENOMEM, "there is no memory");
		return;
	}
	while (link->state == WEIR__LINK_UP && link->out_begin < link->out_end) {
		ssize_t done = put_bytes(link, link->out + link->out_begin,
					 link->out_end - link->out_begin);

		if (done == -EAGAIN)
			return;
		if (done == -EINTR)
			continue;
		if (done < 0) {
			fail_errno(link, (int)-done);
			return;
		}
		link->out_begin += (size_t)done;
	}
	link->out_begin = link->out_end = 0;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Whether the link is still the same and up. */
static bool hand_out(struct weir__link *link)
{
	uint32_t opened = link->opened;

	while (true) {
		void *reply = NULL;

		if (weir__hiredis.redisReaderGetReply(link->reader, &reply) != REDIS_OK) {
			fail(link, -EPROTO, "what it says is not Redis");
			return false;
		}
		if (reply == NULL)
			return true;
		if (link->awaited > 0)
			link->awaited--;
		link->deadline = weir__time_add(weir__boottime(), link->address->timeout);
		link->owner->reply(link, reply);
		weir__reply_free(reply);
		if (link->opened != opened || link->state != WEIR__LINK_UP)
			return false;
	}
}

static void take_in(struct weir__link *link)
{
	char bytes[READ_SIZE];

	while (link->state == WEIR__LINK_UP) {
		ssize_t size = get_bytes(link, bytes, sizeof(bytes));

		if (size == -EAGAIN)
			return;
		if (size == -EINTR)
			continue;
		if (size == 0) {
			fail(link, -EHOSTUNREACH, "it has closed the connection");
			return;
		}
		if (size < 0) {
			fail_errno(link, (int)-size);
			return;
		}
		if (weir__hiredis.redisReaderFeed(link->reader, bytes, (size_t)size) != REDIS_OK ||
		    link->reader->len - link->reader->pos > MOST_UNREAD) {
			fail(link, -EPROTO, "what it says is not Redis");
			return;
		}
		if (!hand_out(link))
			return;
	}
}

static void ready(struct weir__watch *watch, uint32_t events)
{
	struct weir__link *link = link_of_watch(watch);

	if (link->state == WEIR__LINK_CONNECTING) {
		if ((events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) == 0)
			return;
		connected(link);
	}
	if (link->state == WEIR__LINK_SHAKING_HANDS)
		shake_hands(link);
	if (link->state == WEIR__LINK_UP)
		weir__link_flush(link);
	if (link->state == WEIR__LINK_UP)
		take_in(link);
}
