/* store/redis: whether a server may have lost leases that another one has granted. See redis.h.
 *
 * A semaphore remembers who has answered last under its name. A script that finds somebody else
 * there than the client believes to talk to changes nothing and says whom it has found. Then
 *
 *   1  the server is asked again who it is: it may have become another one without hanging up.
 *   2  NOTHING WAS LOST if it is the same process and has never been a replica; if it is one that
 *      writes everything to disk before it answers, was started again, and whoever set up this
 *      store says that this is so (failover=durable); and in a cluster, if it is the other one's
 *      doing: that one is alive, has sent us elsewhere for this name, and still is a master. A
 *      master that was replaced becomes a replica in the same step in which it learns that its
 *      slots are gone, so what it says afterwards is proof.
 *   3  Otherwise something may have been lost, and nobody is granted under that name until the
 *      longest lease must be over.
 *
 * What was found goes with every command from then on, so the next names cost nothing. */
#include <errno.h>
#include <string.h>

#include "base/boottime.h"
#include "base/print.h"
#include "store/redis/identity.h"
#include "store/redis/redis.h"

static void conclude(struct node *node, char verdict)
{
	weir__format(node->doubt, sizeof(node->doubt), "%c%s", verdict, node->suspect);
	node->server.verifying = false;
	node->asking_around = false;
	weir__redis_send(node->redis);
	if (node->server.ready)
		weir__redis_poll(node->redis, node, true);
}

static bool lost_nothing(const struct node *node, const char *before, const char *info)
{
	if (weir__info_took_over(info))
		return false;
	return node->durable || weir__identity_same_process(before, node->identity);
}

void weir__redis_doubt(struct node *node, const struct awaited *awaited, const char *found)
{
	const struct call *call = awaited->calls[0];
	const struct names *names = call->names;

	if (!node->server.verifying) {
		node->server.verifying = true;
		node->asking_around = false;
		weir__format(node->suspect, sizeof(node->suspect), "%s", found);
		weir__format(node->suspect_name, sizeof(node->suspect_name), "%s",
			     names != NULL && names->complete ? names->name[names->heard] :
								call->name);
		if (!weir__redis_say_who(node, NULL))
			node->server.verifying = false; /* and it is found again */
		weir__wire_flush(&node->mouth);
	}
	weir__redis_take_back(awaited, NULL);
}

/* Whether an answer of that one is still to come. */
static bool is_pending(struct node *other)
{
	if (!other->server.ready && !other->tried)
		weir__redis_connect(&other->server);
	other->tried = true;
	return !other->server.ready && other->mouth.state != WEIR__WIRE_DOWN;
}

/* Finds the one that has answered before, and asks whether it has given the name away. */
static void ask_around(struct node *node)
{
	struct redis *redis = node->redis;
	bool pending = false;

	for (size_t i = 0; i < redis->n_nodes; i++) {
		struct node *other = redis->nodes[i];

		if (other == node || !other->serves)
			continue;
		pending = is_pending(other) || pending;
		if (!other->server.ready || strcmp(other->identity, node->suspect) != 0)
			continue;
		if (node->witness == other)
			return;
		if (!weir__redis_say_look(other, node->suspect_name, node) ||
		    !weir__redis_say_who(other, node))
			break;
		node->witness = other;
		weir__wire_flush(&other->mouth);
		return;
	}
	if (!pending)
		conclude(node, '-');
}

void weir__redis_verify(struct weir__timer *timer)
{
	struct redis *redis =
		(struct redis *)(void *)((char *)timer - offsetof(struct redis, verify));

	weir__lock(&redis->lock);
	for (size_t i = 0; i < redis->n_nodes; i++)
		if (redis->nodes[i]->server.verifying && redis->nodes[i]->asking_around)
			ask_around(redis->nodes[i]);
	weir__unlock(&redis->lock);
}

void weir__redis_hear_look(struct node *node, const struct awaited *awaited,
			   const struct weir__reply *reply)
{
	if (awaited->about->witness == node)
		awaited->about->given_away = weir__reply_is_error(reply, "MOVED") ||
					     weir__reply_is_error(reply, "ASK");
}

static void hear_witness(struct node *node, struct node *about, const char *info)
{
	char identity[WEIR__IDENTITY];

	if (about->witness != node || !about->server.verifying)
		return;
	weir__info_identity(info, identity);
	about->witness = NULL;
	conclude(about, about->given_away && weir__info_is_master(info) &&
					strcmp(identity, about->suspect) == 0 ?
				'+' :
				'-');
}

static void begin_asking_around(struct node *node)
{
	struct redis *redis = node->redis;

	node->asking_around = true;
	node->witness = NULL;
	node->given_away = false;
	for (size_t i = 0; i < redis->n_nodes; i++)
		redis->nodes[i]->tried = false;
	weir__agent_timer_set(redis->desk.agent, &redis->verify, 0);
}

void weir__redis_hear_who(struct node *node, const struct awaited *awaited,
			  const struct weir__reply *reply)
{
	const char *info = reply->type == REDIS_REPLY_STRING ? reply->text : "";

	if (awaited->about != NULL) {
		hear_witness(node, awaited->about, info);
		return;
	}
	if (!node->server.verifying)
		return;
	weir__redis_recognise(node, info);
	if (strcmp(node->identity, node->suspect) == 0 || lost_nothing(node, node->suspect, info))
		conclude(node, '+');
	else if (node->redis->slots != NULL)
		begin_asking_around(node);
	else
		conclude(node, '-');
}

/* Another server, or the same one started again, may have lost what this handle was granted. */
void weir__redis_recognise(struct node *node, const char *info)
{
	char before[WEIR__IDENTITY];

	memcpy(before, node->identity, sizeof(before));
	weir__info_identity(info, node->identity);
	if (before[0] != '\0' && strcmp(before, node->identity) != 0 &&
	    !lost_nothing(node, before, info))
		node->server.cautious = weir__boottime() + node->redis->desk.longest;
}
