/* store/redis: connections. See wire.h. */
#include "store/redis/wire.h"

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
	WHY_SIZE = 300,
	/* What a server may have sent of one reply before it is taken to be no Redis. */
	MOST_UNREAD = 64 << 20,
};

static void ready(struct weir__watch *watch, uint32_t events);
static void late(struct weir__timer *timer);
static void try_next(struct weir__wire *wire, int error, const char *why);

static struct weir__wire *wire_of_watch(struct weir__watch *watch)
{
	return (struct weir__wire *)(void *)((char *)watch - offsetof(struct weir__wire, watch));
}

static struct weir__wire *wire_of_timer(struct weir__timer *timer)
{
	return (struct weir__wire *)(void *)((char *)timer - offsetof(struct weir__wire, timer));
}

void weir__wire_init(struct weir__wire *wire, const struct weir__wire_owner *owner,
		     struct weir__agent *agent, struct weir__lock *lock,
		     const struct weir__address *address)
{
	*wire = (struct weir__wire){
		.owner = owner,
		.lock = lock,
		.agent = agent,
		.address = address,
		.watch = { .fd = -1, .ready = ready },
		.timer = { .fire = late },
	};
}

/* ---- the end --------------------------------------------------------------------------------- */

static void hang_up(struct weir__wire *wire)
{
	int fd = wire->watch.fd;

	if (wire->ssl != NULL)
		weir__tls.SSL_free(wire->ssl);
	wire->ssl = NULL;
	if (fd < 0)
		return;
	if (wire->watched)
		weir__agent_unwatch(wire->agent, &wire->watch);
	wire->watch.fd = -1;
	wire->watched = false;
	close(fd);
}

void weir__wire_close(struct weir__wire *wire)
{
	hang_up(wire);
	weir__agent_timer_unset(wire->agent, &wire->timer);
	if (wire->found != NULL)
		freeaddrinfo(wire->found);
	wire->found = NULL;
	if (wire->reader != NULL)
		weir__hiredis.redisReaderFree(wire->reader);
	wire->reader = NULL;
	weir__tls_done(wire);
	weir__out_done(&wire->out);
	wire->awaited = 0;
	wire->timed = false;
	wire->failed = false;
	wire->state = WEIR__WIRE_DOWN;
}

static void fail(struct weir__wire *wire, int error, const char *why)
{
	if (wire->state == WEIR__WIRE_DOWN)
		return;
	weir__wire_close(wire);
	wire->owner->down(wire, error, why);
}

/* Of the two errors that mean that nobody is there. */
static const char *words_for(int error)
{
	switch (error) {
	case ECONNREFUSED:
		return "Connection refused: is the server running, and the address right?";
	case ENOENT:
		return "there is no such socket: is the server running, and the path right?";
	default:
		return strerror(error);
	}
}

static void fail_errno(struct weir__wire *wire, int error)
{
	fail(wire, -EHOSTUNREACH, words_for(error));
}

static void check_deadline(struct weir__wire *wire)
{
	if (wire->state != WEIR__WIRE_UP) {
		try_next(wire, -EHOSTUNREACH, "it does not answer within the connect timeout");
		return;
	}
	wire->timed = false;
	if (wire->awaited == 0)
		return;
	/* The timer is not moved with each reply; it looks when it comes to it. */
	wire->timed = weir__boottime() < wire->deadline;
	if (wire->timed)
		weir__agent_timer_set(wire->agent, &wire->timer, wire->deadline);
	else
		fail(wire, -EHOSTUNREACH, "it does not answer within the timeout");
}

static void late(struct weir__timer *timer)
{
	struct weir__wire *wire = wire_of_timer(timer);

	weir__lock(wire->lock);
	check_deadline(wire);
	weir__unlock(wire->lock);
}

/* ---- the beginning --------------------------------------------------------------------------- */

static int new_socket(struct weir__wire *wire, int family, const struct sockaddr *to,
		      socklen_t size)
{
	const int on = 1, idle = 15, interval = 5, count = 3;
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	if (!wire->address->local) {
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

/* That there is room to write is told only to those who need it, for there nearly always is. */
static int watch(struct weir__wire *wire, bool for_room)
{
	int fd = wire->watch.fd;
	int error;

	if (wire->watched) {
		weir__agent_unwatch(wire->agent, &wire->watch);
		wire->watch.fd = fd;
	}
	error = weir__agent_watch(wire->agent, &wire->watch,
				  EPOLLIN | EPOLLRDHUP | (for_room ? EPOLLOUT : 0U));
	wire->watched = error == 0;
	wire->watched_for_room = for_room;
	return error;
}

static int start(struct weir__wire *wire, int family, const struct sockaddr *to, socklen_t size)
{
	int fd = new_socket(wire, family, to, size);
	int error;

	if (fd < 0)
		return fd;
	wire->watch.fd = fd;
	error = watch(wire, true);
	if (error < 0) {
		wire->watch.fd = -1;
		close(fd);
		return error;
	}
	wire->state = WEIR__WIRE_CONNECTING;
	weir__agent_timer_set(wire->agent, &wire->timer,
			      weir__time_add(weir__boottime(), wire->address->connect_timeout));
	return 0;
}

/* The next of the host's addresses; `why` is how the one before has failed. */
static void try_next(struct weir__wire *wire, int error, const char *why)
{
	char text[WHY_SIZE];

	weir__format(text, sizeof(text), "%s", why);
	hang_up(wire);
	while (wire->next != NULL) {
		struct addrinfo *to = wire->next;

		wire->next = to->ai_next;
		int result = start(wire, to->ai_family, to->ai_addr, to->ai_addrlen);

		if (result == 0)
			return;
		error = -EHOSTUNREACH;
		weir__format(text, sizeof(text), "%s", words_for(-result));
	}
	fail(wire, error, text);
}

/* In the agent's thread, but not within the call that asked for the wire. */
static void begin_local(struct weir__wire *wire)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int error;

	if (strlen(wire->address->host) >= sizeof(to.sun_path)) {
		fail(wire, -EACCES, "the path of the socket is too long");
		return;
	}
	memcpy(to.sun_path, wire->address->host, strlen(wire->address->host) + 1);
	error = start(wire, AF_UNIX, (struct sockaddr *)&to, sizeof(to));
	if (error < 0)
		fail_errno(wire, -error);
}

static void look_up(struct weir__wire *wire)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG };
	char why[WHY_SIZE];
	int error;

	wire->timer.fire = late;
	wire->reader = weir__hiredis.redisReaderCreateWithFunctions(&weir__reply_functions);
	if (wire->reader == NULL) {
		fail(wire, -ENOMEM, "there is no memory");
		return;
	}
	if (wire->address->tls && weir__tls_init(wire, why, sizeof(why)) < 0) {
		fail(wire, -EACCES, why);
		return;
	}
	if (wire->address->local) {
		begin_local(wire);
		return;
	}
	error = getaddrinfo(wire->address->host, wire->address->port, &hints, &wire->found);
	if (error != 0) {
		fail(wire, error == EAI_AGAIN ? -EHOSTUNREACH : -EACCES, gai_strerror(error));
		return;
	}
	wire->next = wire->found;
	try_next(wire, -EHOSTUNREACH, "the host has no address");
}

static void begin(struct weir__timer *timer)
{
	struct weir__wire *wire = wire_of_timer(timer);

	weir__lock(wire->lock);
	look_up(wire);
	weir__unlock(wire->lock);
}

void weir__wire_open(struct weir__wire *wire)
{
	wire->state = WEIR__WIRE_CONNECTING;
	wire->opened++;
	wire->timer.fire = begin;
	weir__agent_timer_set(wire->agent, &wire->timer, weir__boottime());
}

static void come_up(struct weir__wire *wire)
{
	wire->state = WEIR__WIRE_UP;
	wire->timed = false;
	wire->next = NULL;
	weir__agent_timer_unset(wire->agent, &wire->timer);
	wire->owner->up(wire);
}

static void connected(struct weir__wire *wire)
{
	socklen_t size = sizeof(int);
	int error = 0;

	if (getsockopt(wire->watch.fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
		error = errno;
	if (error != 0) {
		try_next(wire, -EHOSTUNREACH, words_for(error));
		return;
	}
	if (!wire->address->tls) {
		come_up(wire);
		return;
	}
	wire->state = WEIR__WIRE_SHAKING_HANDS;
}

static void await_room(struct weir__wire *wire, bool needed)
{
	int error;

	if (wire->watched_for_room == needed)
		return;
	error = watch(wire, needed);
	if (error < 0)
		fail_errno(wire, -error);
}

static void shake_hands(struct weir__wire *wire)
{
	char why[WHY_SIZE];
	int result = weir__tls_connect(wire, why, sizeof(why));

	if (result == 0)
		come_up(wire);
	else if (result == -EAGAIN || result == -ENOBUFS)
		await_room(wire, result == -ENOBUFS);
	else
		try_next(wire, result, why);
}

/* ---- writing --------------------------------------------------------------------------------- */

void weir__wire_send(struct weir__wire *wire, size_t n, const char *const *parts,
		     const size_t *size)
{
	if (wire->failed || !weir__out_add(&wire->out, n, parts, size)) {
		wire->failed = true;
		return;
	}
	if (wire->awaited++ == 0) {
		wire->deadline = weir__time_add(weir__boottime(), wire->address->timeout);
		if (!wire->timed)
			weir__agent_timer_set(wire->agent, &wire->timer, wire->deadline);
		wire->timed = true;
	}
}

/* Bytes, 0 when the other side has closed, or a negative errno. */
static ssize_t put_bytes(struct weir__wire *wire, const char *bytes, size_t size)
{
	ssize_t done;

	if (wire->ssl != NULL)
		return weir__tls_write(wire, bytes, size);
	done = send(wire->watch.fd, bytes, size, MSG_NOSIGNAL);
	return done < 0 ? -errno : done;
}

static ssize_t get_bytes(struct weir__wire *wire, char *bytes, size_t size)
{
	ssize_t done;

	if (wire->ssl != NULL)
		return weir__tls_read(wire, bytes, size);
	done = recv(wire->watch.fd, bytes, size, 0);
	return done < 0 ? -errno : done;
}

bool weir__wire_try_flush(struct weir__wire *wire)
{
	ssize_t done;

	if (wire->failed || wire->state != WEIR__WIRE_UP || wire->watched_for_room)
		return false;
	done = put_bytes(wire, weir__out_first(&wire->out), weir__out_left(&wire->out));
	if (done > 0)
		weir__out_wrote(&wire->out, (size_t)done);
	return weir__out_left(&wire->out) == 0;
}

void weir__wire_flush(struct weir__wire *wire)
{
	if (wire->failed) {
		fail(wire, -ENOMEM, "there is no memory");
		return;
	}
	while (wire->state == WEIR__WIRE_UP && weir__out_left(&wire->out) != 0) {
		ssize_t done = put_bytes(wire, weir__out_first(&wire->out),
					 weir__out_left(&wire->out));

		if (done == -EAGAIN) {
			await_room(wire, true);
			return;
		}
		if (done == -EINTR)
			continue;
		if (done < 0) {
			fail_errno(wire, (int)-done);
			return;
		}
		weir__out_wrote(&wire->out, (size_t)done);
	}
	if (wire->state == WEIR__WIRE_UP)
		await_room(wire, false);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Whether the wire is still the same and up. */
static bool hand_out(struct weir__wire *wire)
{
	uint32_t opened = wire->opened;

	while (true) {
		void *reply = NULL;

		if (weir__hiredis.redisReaderGetReply(wire->reader, &reply) != REDIS_OK) {
			fail(wire, -EPROTO, "what it says is not Redis");
			return false;
		}
		if (reply == NULL)
			return true;
		if (wire->awaited > 0)
			wire->awaited--;
		wire->deadline = weir__time_add(weir__boottime(), wire->address->timeout);
		wire->owner->reply(wire, reply);
		weir__reply_free(reply);
		if (wire->opened != opened || wire->state != WEIR__WIRE_UP)
			return false;
	}
}

/* `ended`: the other side may have closed, which comes after all that it has said. */
static void take_in(struct weir__wire *wire, bool ended)
{
	while (wire->state == WEIR__WIRE_UP) {
		ssize_t size = get_bytes(wire, wire->in, sizeof(wire->in));

		if (size == -EAGAIN)
			return;
		if (size == -EINTR)
			continue;
		if (size == 0) {
			fail(wire, -EHOSTUNREACH, "it has closed the connection");
			return;
		}
		if (size < 0) {
			fail_errno(wire, (int)-size);
			return;
		}
		if (weir__hiredis.redisReaderFeed(wire->reader, wire->in, (size_t)size) !=
			    REDIS_OK ||
		    wire->reader->len - wire->reader->pos > MOST_UNREAD) {
			fail(wire, -EPROTO, "what it says is not Redis");
			return;
		}
		if (!hand_out(wire))
			return;
		/* Less than there was room for: that was all. TLS has a buffer of its own. */
		if (!ended && wire->ssl == NULL && (size_t)size < sizeof(wire->in))
			return;
	}
}

static void work(struct weir__wire *wire, uint32_t events)
{
	if (wire->state == WEIR__WIRE_CONNECTING) {
		if ((events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) == 0)
			return;
		connected(wire);
	}
	if (wire->state == WEIR__WIRE_SHAKING_HANDS)
		shake_hands(wire);
	if (wire->state == WEIR__WIRE_UP)
		weir__wire_flush(wire);
	if (wire->state == WEIR__WIRE_UP)
		take_in(wire, (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0);
}

static void ready(struct weir__watch *watch, uint32_t events)
{
	struct weir__wire *wire = wire_of_watch(watch);

	weir__lock(wire->lock);
	work(wire, events);
	weir__unlock(wire->lock);
}
