/* store: servers that are lost, and found again or not. See server.h. */
#include "store/server.h"

#include <errno.h>

#include "base/boottime.h"

static struct server *home_of(const struct call *call)
{
	return call->desk->kind->server_of(call->desk, call);
}

bool weir__server_is_idle(const struct server *server)
{
	const struct call *call = server->desk->waiting.first;

	while (call != NULL && home_of(call) != server)
		call = call->next;
	return call == NULL && server->todo.first == NULL;
}

/* Its orphans are to do. */
static void unpark(struct server *server)
{
	struct desk *desk = server->desk;
	struct call *next;

	for (struct call *call = desk->parked.first; call != NULL; call = next) {
		next = call->next;
		if (home_of(call) != server)
			continue;
		weir__call_move(call, CALL_NEXT);
		desk->n_parked--;
	}
}

void weir__server_found(struct server *server)
{
	server->ready = true;
	server->gave_up = false;
	unpark(server);
}

static void refuse_all(struct server *server, int error, const char *why)
{
	struct call *next;

	while (server->todo.first != NULL)
		weir__call_fail(server->todo.first, server, error, why);
	for (struct call *call = server->desk->waiting.first; call != NULL; call = next) {
		next = call->next;
		if (home_of(call) == server)
			weir__call_fail(call, server, error, why);
	}
}

static void dismiss(struct server *server)
{
	struct call *next;

	for (struct call *call = server->todo.first; call != NULL; call = next) {
		next = call->next;
		if (call->withdrawn && call->op != NULL)
			weir__call_abandon(call, call->op->give_up);
	}
}

static void hang_up(struct server *server)
{
	struct calls later;

	server->ready = false;
	server->desk->kind->hang_up(server);
	later = weir__calls_aside(&server->todo);
	server->desk->kind->unsend(server);
	weir__calls_behind(&server->todo, later);
	dismiss(server);
}

uint32_t weir__desk_attempts(const struct desk *desk, uint32_t more)
{
	return weir__gate_is_shut(desk->store) ? 1 : desk->backoff.attempts + more;
}

static void pause_server(struct server *server)
{
	const struct desk *desk = server->desk;

	server->pausing = true;
	weir__agent_timer_set(desk->agent, &server->pause,
			      weir__boottime() +
				      weir__backoff_delay(&desk->backoff, server->failed));
}

static void look_elsewhere(struct desk *desk)
{
	if (desk->kind->look_elsewhere != NULL)
		desk->kind->look_elsewhere(desk);
}

void weir__server_give_up(struct server *server, int error, const char *why)
{
	server->failed = 0;
	server->gave_up = true;
	hang_up(server);
	refuse_all(server, error, why);
	server->desk->kind->part(server->desk);
}

/* Whether there may be another attempt; else all have been refused. */
static bool try_again(struct server *server, uint32_t more, const char *why)
{
	if (++server->failed < weir__desk_attempts(server->desk, more))
		return true;
	weir__server_give_up(server, -EHOSTUNREACH, why);
	return false;
}

void weir__server_lost(struct server *server, const char *why)
{
	struct desk *desk = server->desk;
	bool was_ready = server->ready;

	hang_up(server);
	if (weir__server_is_idle(server)) {
		desk->kind->part(desk);
		return;
	}
	look_elsewhere(desk);
	/* One that was lost is not one that could not be made. */
	if (!try_again(server, was_ready ? 1 : 0, why))
		return;
	if (was_ready && server->failed == 1)
		desk->kind->connect(server);
	else
		pause_server(server);
}

void weir__server_later(struct server *server, const char *why)
{
	look_elsewhere(server->desk);
	if (!server->pausing && try_again(server, 0, why))
		pause_server(server);
}

void weir__server_want(struct server *server)
{
	if (weir__gate_is_shut(server->desk->store) && server->gave_up)
		weir__server_give_up(server, -EHOSTUNREACH, "it could not be reached");
	else
		server->desk->kind->connect(server);
}
