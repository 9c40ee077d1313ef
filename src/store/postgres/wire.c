/* store/postgres: connections. See wire.h. */
#include "store/postgres/wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/boottime.h"
#include "base/print.h"
#include "store/here.h"
#include "store/postgres/fault.h"

enum { WHY_SIZE = 400, SAID_SIZE = 2000 };

static void ready(struct weir__watch *watch, uint32_t events);
static void fire(struct weir__timer *timer);

void weir__pg_wire_init(struct weir__pg_wire *wire, const struct weir__pg_owner *owner,
			struct weir__agent *agent, struct weir__pg_address *address)
{
	*wire = (struct weir__pg_wire){
		.owner = owner,
		.agent = agent,
		.address = address,
		.watch = { .fd = -1, .ready = ready },
		.timer = { .fire = fire },
		.deadline = WEIR_NEVER,
	};
}

static void unwatch(struct weir__pg_wire *wire)
{
	if (wire->events != 0)
		weir__agent_unwatch(wire->agent, &wire->watch);
	wire->events = 0;
	wire->watch.fd = -1;
}

void weir__pg_wire_close(struct weir__pg_wire *wire)
{
	unwatch(wire);
	weir__agent_timer_unset(wire->agent, &wire->timer);
	if (wire->conn != NULL)
		weir__pq.PQfinish(wire->conn);
	wire->conn = NULL;
	wire->opening = wire->is_up = wire->timed = false;
	wire->deadline = WEIR_NEVER;
}

static void fail(struct weir__pg_wire *wire, int error, const char *why)
{
	char text[WHY_SIZE];

	weir__format(text, sizeof(text), "%s", why);
	weir__pg_redact(wire->address, text);
	weir__pg_wire_close(wire);
	wire->owner->down(wire, error, text);
}

static void fail_as_said(struct weir__pg_wire *wire)
{
	const char *said = weir__pq.PQerrorMessage(wire->conn);

	fail(wire, -EHOSTUNREACH, said[0] != '\0' ? said : "the connection was lost");
}

/* The connection could not be made. */
static void fail_to_connect(struct weir__pg_wire *wire)
{
	char said[SAID_SIZE];
	enum weir__pg_fault fault;

	weir__format(said, sizeof(said), "%s", weir__pq.PQerrorMessage(wire->conn));
	fault = weir__pg_fault_said(said);
	fail(wire,
	     fault == WEIR__PG_FORBIDDEN || fault == WEIR__PG_MISSING ? -EACCES : -EHOSTUNREACH,
	     said[0] != '\0' ? said : "it could not be reached");
}

static bool watch(struct weir__pg_wire *wire, uint32_t events)
{
	int fd = weir__pq.PQsocket(wire->conn);
	int error;

	if (wire->events == events && wire->watch.fd == fd)
		return true;
	unwatch(wire);
	wire->watch.fd = fd;
	error = fd >= 0 ? weir__agent_watch(wire->agent, &wire->watch, events) : -EBADF;
	if (error < 0) {
		wire->watch.fd = -1;
		fail(wire, -EHOSTUNREACH, strerror(-error));
		return false;
	}
	wire->events = events;
	return true;
}

/* ---- the beginning --------------------------------------------------------------------------- */

/* What has no notice receiver is printed by libpq. */
static void ignore_notice(void *arg, const PGresult *notice)
{
	(void)arg;
	(void)notice;
}

static PGconn *start(const struct weir__pg_wire *wire)
{
	return weir__pq.PQconnectStartParams(wire->address->keyword,
					     (const char *const *)wire->address->value, 0);
}

/* Off this host, an encrypted connection to whoever answers is worth little; unless somebody has
 * said otherwise, the server's certificate must be good. The host may come from a service file or
 * from the environment, so libpq must be asked. */
static bool wants_tls(struct weir__pg_wire *wire)
{
	PQconninfoOption *all = weir__pq.PQconninfo(wire->conn);
	const char *host = "", *mode = "";
	bool wants;

	for (PQconninfoOption *at = all; at != NULL && at->keyword != NULL; at++) {
		if (at->val == NULL || at->val[0] == '\0')
			continue;
		if (strcmp(at->keyword, "host") == 0 || strcmp(at->keyword, "hostaddr") == 0)
			host = at->val;
		if (strcmp(at->keyword, "sslmode") == 0)
			mode = at->val;
	}
	wants = !weir__hosts_are_here(host) && strcmp(mode, "prefer") == 0;
	weir__pq.PQconninfoFree(all);
	return wants;
}

static bool secure(struct weir__pg_wire *wire)
{
	if (wire->address->has_sslmode)
		return true;
	wire->address->has_sslmode = true;
	if (!wants_tls(wire))
		return true;
	weir__pq.PQfinish(wire->conn);
	wire->conn = NULL;
	if (weir__pg_address_set(wire->address, "sslmode", "verify-full") < 0)
		return false;
	wire->conn = start(wire);
	return wire->conn != NULL;
}

static void begin(struct weir__pg_wire *wire)
{
	wire->conn = start(wire);
	if (wire->conn == NULL || !secure(wire)) {
		fail(wire, -ENOMEM, "there is no memory");
		return;
	}
	if (weir__pq.PQstatus(wire->conn) == CONNECTION_BAD) {
		fail_to_connect(wire);
		return;
	}
	(void)weir__pq.PQsetErrorVerbosity(wire->conn, PQERRORS_VERBOSE); /* see fault.h */
	(void)weir__pq.PQsetNoticeReceiver(wire->conn, ignore_notice, NULL);
	wire->deadline = weir__time_add(weir__boottime(), wire->address->connect_timeout);
	wire->timed = true;
	weir__agent_timer_set(wire->agent, &wire->timer, wire->deadline);
	(void)watch(wire, EPOLLOUT);
}

void weir__pg_wire_open(struct weir__pg_wire *wire)
{
	wire->opening = true;
	weir__agent_timer_set(wire->agent, &wire->timer, 0);
}

static void go_on(struct weir__pg_wire *wire)
{
	/* It may close the socket and open another one that has the same number. */
	unwatch(wire);
	switch (weir__pq.PQconnectPoll(wire->conn)) {
	case PGRES_POLLING_READING:
		(void)watch(wire, EPOLLIN);
		break;
	case PGRES_POLLING_WRITING:
		(void)watch(wire, EPOLLOUT);
		break;
	case PGRES_POLLING_OK:
		if (weir__pq.PQsetnonblocking(wire->conn, 1) != 0 || !watch(wire, EPOLLIN))
			break;
		(void)weir__pq.PQsetErrorVerbosity(wire->conn, PQERRORS_DEFAULT);
		wire->opening = false;
		wire->is_up = true;
		weir__pg_wire_rest(wire);
		wire->owner->up(wire);
		break;
	default:
		fail_to_connect(wire);
		break;
	}
}

/* ---- afterwards ------------------------------------------------------------------------------ */

static void ready(struct weir__watch *watched, uint32_t events)
{
	struct weir__pg_wire *wire =
		(struct weir__pg_wire *)(void *)((char *)watched -
						 offsetof(struct weir__pg_wire, watch));

	if (!wire->is_up) {
		go_on(wire);
		return;
	}
	if ((events & EPOLLOUT) != 0)
		weir__pg_wire_flush(wire);
	if (wire->conn == NULL || (events & ~(uint32_t)EPOLLOUT) == 0)
		return;
	/* What came before the end is heard first. */
	int more = weir__pq.PQconsumeInput(wire->conn);
	PGconn *conn = wire->conn;

	wire->owner->input(wire);
	if (wire->conn == conn && (more == 0 || weir__pq.PQstatus(conn) == CONNECTION_BAD))
		fail_as_said(wire);
}

static void fire(struct weir__timer *timer)
{
	struct weir__pg_wire *wire =
		(struct weir__pg_wire *)(void *)((char *)timer -
						 offsetof(struct weir__pg_wire, timer));

	wire->timed = false;
	if (wire->conn == NULL) {
		begin(wire);
	} else if (wire->deadline == WEIR_NEVER) {
		return;
	} else if (weir__boottime() < wire->deadline) {
		/* The timer is not moved with each answer; it looks when it comes to it. */
		wire->timed = true;
		weir__agent_timer_set(wire->agent, &wire->timer, wire->deadline);
	} else {
		fail(wire, -EHOSTUNREACH,
		     wire->is_up ? "it does not answer within the timeout" :
				   "it does not answer within the connect timeout");
	}
}

void weir__pg_wire_flush(struct weir__pg_wire *wire)
{
	int left = weir__pq.PQflush(wire->conn);

	if (left < 0) {
		fail_as_said(wire);
		return;
	}
	if (!watch(wire, left > 0 ? EPOLLIN | EPOLLOUT : EPOLLIN))
		return;
	if (wire->deadline == WEIR_NEVER) {
		wire->deadline = weir__time_add(weir__boottime(), wire->address->timeout);
		if (!wire->timed)
			weir__agent_timer_set(wire->agent, &wire->timer, wire->deadline);
		wire->timed = true;
	}
}
