/* store/sqlite: what agents tell each other.
 *
 * Each agent has a datagram socket with a name in the directory beside the file, that only its
 * owner can enter. What is told is never the truth, only the news of it: the truth is in the file,
 * and whoever waits asks there at each heartbeat. So a message may be lost (CHECKLIST 55).
 *
 * A datagram has news for one agent: as many as one transaction has.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/print.h"
#include "store/sqlite/lite.h"

#define MAGIC 0x77656901U /* changes with struct weir__news */

enum {
	NEWS_MAX = 64,
	/* More messages at once than a socket's queue may be short of, so some may be missing. */
	MANY = 8,
};

struct datagram {
	uint32_t magic;
	uint32_t count;
	struct weir__news news[NEWS_MAX];
};

/* ---- hearing --------------------------------------------------------------------------------- */

/* Something came to a semaphore, or to one who waits there: that one asks at once what it was, for
 * a look would leave it to the next heartbeat. */
static void look(struct weir__lite *lite, const struct weir__news *news)
{
	struct weir__waiter *waiter = weir__lite_waiter(lite, news->semaphore, news->token);

	if (waiter != NULL)
		waiter->view->polls_at = 0;
	weir__lite_look_soon(lite, news->semaphore);
}

void weir__lite_heard(struct weir__lite *lite, const struct weir__news *news)
{
	struct weir__waiter *waiter;
	struct weir__claim claim = {
		.weight = news->weight,
		.slot = news->slot,
		.fence = news->fence,
		.ttl = news->ttl,
		.expires = news->expires,
		.hard_end = news->hard_end,
	};

	if (news->kind == WEIR__NEWS_LOST) {
		weir__store_lost(lite->store, news->token);
		return;
	}
	/* CHECKLIST 36: a grant may have run out while it was on its way here. */
	if (news->kind != WEIR__NEWS_GRANTED || news->expires <= lite->now) {
		look(lite, news);
		return;
	}
	memcpy(claim.token, news->token, WEIR_TOKEN_SIZE);
	while ((waiter = weir__lite_waiter(lite, news->semaphore, news->token)) != NULL) {
		waiter->op->sent = lite->sent;
		weir__op_grant(waiter->op, lite->now, &claim);
		weir__lite_leave(lite, waiter, 0);
	}
}

static bool hear(struct weir__lite *lite, int fd)
{
	struct datagram datagram;
	ssize_t size = recv(fd, &datagram, sizeof(datagram), MSG_DONTWAIT);
	size_t head = offsetof(struct datagram, news);

	if (size < 0)
		return errno == EINTR;
	if ((size_t)size < head || datagram.magic != MAGIC || datagram.count > NEWS_MAX ||
	    (size_t)size != head + datagram.count * sizeof(struct weir__news))
		return true;
	for (uint32_t i = 0; i < datagram.count; i++)
		weir__lite_heard(lite, &datagram.news[i]);
	return true;
}

static void ready(struct weir__watch *watch, uint32_t events)
{
	struct weir__lite *lite = (void *)((char *)watch - offsetof(struct weir__lite, inbox));
	int count = 0;
	bool over = false;

	(void)events;
	/* Outside of a transaction these two are free. */
	lite->now = weir__lite_clock(lite);
	lite->sent = lite->now + lite->boot_offset;
	/* Whoever leads has often what it waited for, and leaves the rest to the agent's thread. */
	while (!over && count < 100 && hear(lite, watch->fd)) {
		over = lite->leaving != NULL && !weir__agent_is_self(lite->store->agent);
		weir__lite_waits_answer(lite);
		count++;
	}
	if (count >= MANY)
		weir__lite_look_all(lite);
}

void weir__lite_inbox_open(struct weir__lite *lite)
{
	struct sockaddr_un address;
	char name[20];
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return;
	weir__lite_private(&lite->inbox_fd, fd);
	weir__lite_address(lite, lite->self.agent, &address);
	weir__lite_socket_name(name, lite->self.agent);
	lite->inbox = (struct weir__watch){ .fd = fd, .ready = ready };
	weir__lite_lock(lite->lock.fd);
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    fchmodat(lite->dir, name, 0600, 0) < 0 ||
	    weir__agent_watch(lite->store->agent, &lite->inbox, EPOLLIN) < 0) {
		(void)unlinkat(lite->dir, name, 0);
		weir__lite_private_close(&lite->inbox_fd);
		lite->inbox.fd = -1;
	}
	weir__lite_unlock(lite->lock.fd);
}

void weir__lite_inbox_close(struct weir__lite *lite)
{
	char name[20];

	if (lite->inbox.fd < 0)
		return;
	weir__agent_unwatch(lite->store->agent, &lite->inbox);
	weir__lite_socket_name(name, lite->self.agent);
	(void)unlinkat(lite->dir, name, 0);
	weir__lite_private_close(&lite->inbox_fd);
}

/* ---- telling --------------------------------------------------------------------------------- */

/* Those with agent 0 are done. */
static uint32_t collect(struct weir__tiding *tiding, struct datagram *datagram)
{
	int64_t agent = tiding->who.agent;

	datagram->magic = MAGIC;
	datagram->count = 0;
	for (; tiding != NULL && datagram->count < NEWS_MAX; tiding = tiding->next) {
		if (tiding->who.agent == agent) {
			datagram->news[datagram->count++] = tiding->news;
			tiding->who.agent = 0;
		}
	}
	return datagram->count;
}

/* A process that does not listen may be dead. */
static void refused(struct weir__lite *lite, const struct weir__who *who,
		    const struct weir__news *news)
{
	if (lite->n_refused < WEIR__REFUSED_MAX) /* of the others, a look will tell */
		lite->refused[lite->n_refused++] = (struct weir__tiding){ .who = *who,
									  .news = *news };
}

void weir__lite_send(struct weir__lite *lite)
{
	struct sockaddr_un address;
	struct datagram datagram;

	if (lite->inbox.fd < 0)
		return;
	for (struct weir__tiding *tiding = lite->tidings; tiding != NULL; tiding = tiding->next) {
		struct weir__who who = tiding->who;
		size_t size;

		if (who.agent == 0)
			continue;
		weir__lite_mail_address(lite, who.agent, &address);
		size = offsetof(struct datagram, news) +
		       collect(tiding, &datagram) * sizeof(struct weir__news);
		if (sendto(lite->inbox.fd, &datagram, size, MSG_DONTWAIT | MSG_NOSIGNAL,
			   (struct sockaddr *)&address, sizeof(address)) < 0 &&
		    (errno == ECONNREFUSED || errno == ENOENT))
			refused(lite, &who, &tiding->news);
	}
}
