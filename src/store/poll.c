/* store: asking whether those who wait have been granted. See poll.h. */
#include "store/poll.h"

#include <stdlib.h>
#include <string.h>

#include "store/server.h"

/* Whom to ask about one that waits. */
static struct server *server_of(const struct call *call)
{
	return call->pinned ? call->server : call->desk->kind->server_of(call->desk, call);
}

static int by_name(const void *a, const void *b)
{
	const struct call *one = *(struct call *const *)a, *two = *(struct call *const *)b;
	int order = strcmp(one->name, two->name);

	return order != 0 ? order : one->pinned - two->pinned;
}

/* Those that are due, or nearly so: many in one question are cheaper than each in time. */
static size_t gather(struct desk *desk, const struct poll *poll, struct call **due)
{
	weir_time until = poll->now + desk->store->bounds.heartbeat / 8;
	weir_time next = WEIR_NEVER;
	size_t n = 0;

	for (struct call *call = desk->waiting.first; call != NULL; call = call->next) {
		struct server *server = server_of(call);

		if ((poll->all || call->look_again <= until) &&
		    (poll->of == NULL || poll->of == server)) {
			if (!server->ready)
				desk->kind->connect(server);
			else if (!call->polled && !weir__server_is_held_up(server))
				due[n++] = call;
		} else if (call->look_again < next) {
			next = call->look_again;
		}
	}
	weir__desk_look(desk, next);
	return n;
}

static void ask(const struct poll *poll, struct call **due, size_t n)
{
	size_t end;

	qsort(due, n, sizeof(struct call *), by_name);
	for (size_t i = 0; i < n; i = end) {
		for (end = i + 1; end < n && end - i < WEIR__POLL_AT_ONCE; end++)
			if (by_name(&due[i], &due[end]) != 0)
				break;
		if (!poll->ask(poll->self, server_of(due[i]), due + i, end - i))
			return;
		for (size_t k = i; k < end; k++)
			due[k]->polled = true;
	}
}

void weir__desk_poll(struct desk *desk, const struct poll *poll)
{
	struct call **due;
	size_t n = 0;

	for (struct call *call = desk->waiting.first; call != NULL; call = call->next)
		n++;
	if (n == 0)
		return;
	/* Whatever comes of this: a heartbeat from now it is tried again. */
	weir__desk_look(desk, poll->now + desk->store->bounds.heartbeat);
	due = malloc(n * sizeof(struct call *));
	if (due == NULL)
		return;
	ask(poll, due, gather(desk, poll, due));
	free(due);
}
