/* store/redis: a store on a Redis server, or on the servers of a cluster.
 *
 * Everything happens in the agent's thread, with one exception: whoever asks while nothing is in
 * the way writes its command itself, which spares waking the agent. So there is a lock. Calls, from
 * the operation that is asked to its answer, are as store/call.h says.
 *
 * All commands of all callers go out on one wire to the server, its mouth, in a pipeline; replies
 * come back in the same order, so what is awaited is a list. A second wire, the ear, only listens:
 * a grant's message has the whole lease in it. Messages may be lost, so every waiter asks once in a
 * heartbeat, many of one name in one command.
 *
 * CLUSTERS. A server is a NODE; a store on one server has one node. In a cluster each name belongs
 * to a slot and each slot to a node, as the servers say in their map. A call goes to the node of
 * its name; one that says MOVED changes the map, one that says ASK sends this call elsewhere once.
 * Servers pass messages on to each other, so one ear at any of them hears everything.
 *
 * WHO CALLS WHOM, from the top: engine.c (open, close, what comes from askers), hello.c (wires come
 * up and go down), heard.c (replies and messages), cluster.c (maps and redirections), doubt.c
 * (servers that are not who they were), rest.c (names that cannot be asked about), ask.c (when
 * to send what), command.c (how), retry.c (connections that fail), sentinel.c (where to connect),
 * survey.c (listings), remark.c (what there is to say about servers), node.c.
 */
#ifndef WEIR_STORE_REDIS_REDIS_H
#define WEIR_STORE_REDIS_REDIS_H

#include "store/hear.h"
#include "store/poll.h"
#include "store/redis/identity.h"
#include "store/redis/script.h"
#include "store/redis/wire.h"
#include "store/server.h"
#include "store/tell.h"

/* Names that are looked for with SCAN. */
struct scan {
	struct names names;
	size_t node; /* which is asked */
	char cursor[24];
};

/* A command that was sent, and whom its reply concerns. */
struct awaited {
	struct awaited *next;
	enum weir__script script;
	uint32_t round;     /* of a survey */
	struct node *about; /* of a witness */
	weir_time sent;
	size_t n;
	struct call *calls[];
};

enum hello { HELLO_AUTH, HELLO_SELECT, HELLO_CONFIG, HELLO_INFO, HELLO_MAP, HELLO_DONE };

struct command;

/* What a server has said about itself when it was greeted. */
struct self {
	char version[WEIR__INFO_WORD];
	uint64_t memory, most_memory; /* bytes; most 0: no bound */
	uint64_t clients, most_clients;
	uint64_t replicas;
	bool logs;         /* it writes down what it is told */
	bool cannot_write; /* to its disk */
};

/* A server. */
struct node {
	struct server server;
	struct redis *redis;
	struct weir__address address;
	char where[2 * WEIR_NAME_MAX]; /* the address, for people */
	char identity[WEIR__IDENTITY];
	bool durable; /* what it answers is on its disk */
	struct self self;
	/* Who has answered before under some name, and is known to be somebody else: a + if that
	 * one has lost nothing, or a -, and its identity; see doubt.c. */
	char doubt[WEIR__IDENTITY + 1];
	char suspect[WEIR__IDENTITY]; /* about to be known, of a name */
	char suspect_name[WEIR_NAME_MAX + 1];
	bool asking_around;   /* among the other nodes */
	struct node *witness; /* the suspect, when it was asked */
	bool given_away;      /* what it said */
	bool tried;           /* as a witness */
	bool serves;          /* the cluster's map has it */
	struct weir__wire mouth;
	enum hello hello; /* what the mouth's next reply is about */
	uint32_t loaded;  /* scripts that this server knows, a bit for each */
	struct awaited *awaited_first;
	struct awaited *awaited_last;
	struct weir__timer unwritten; /* has the agent write what an asker could not */
};

/* What is set in each node. */
struct node_kind {
	const struct weir__wire_owner *mouth;
	void (*end_pause)(struct weir__timer *timer);
	void (*write_rest)(struct weir__timer *timer);
};

struct redis {
	struct desk desk;
	struct weir__lock lock; /* of all that follows and changes */
	uint32_t queued; /* operations on their way to the agent, which nobody may overtake */
	struct weir__address address; /* as it was named: of the first node, and how to log in */
	char *space;                  /* what all keys and channels begin with */
	char channel[WEIR_NAME_MAX + 64]; /* where this agent hears of its waiters */
	bool durable;                     /* failover=durable */

	const struct node_kind *kind;
	struct node **nodes; /* the first is the one that was named; none goes before the end */
	size_t n_nodes;
	uint16_t *slots; /* of a cluster: which node has which; NULL: it is none */
	size_t teacher;  /* the node that was asked for the map last */
	struct weir__timer learn;
	size_t seed; /* which of the hosts that were named is to be tried, or asked, next */
	/* Where sentinels are asked: the wire to one of them, and how many may still be. */
	struct weir__wire guide;
	struct weir__address sentinel;
	size_t seeds_left;
	bool sentinel_auth, guide_logged_in;
	struct weir__timer verify;

	struct weir__wire ear;
	size_t ear_at; /* which node it is at, or is to be tried at next */
	bool ear_pausing;
	bool ear_logged_in;
	bool listening; /* the ear has subscribed */
	struct weir__timer ear_pause;
	struct command *command; /* in the making; askers may have little stack */
};

static inline struct redis *weir__redis_of(struct desk *desk)
{
	return (struct redis *)(void *)((char *)desk - offsetof(struct redis, desk));
}

static inline struct node *weir__redis_node(struct server *server)
{
	return (struct node *)(void *)((char *)server - offsetof(struct node, server));
}

static inline struct scan *weir__redis_scan(struct names *names)
{
	return (struct scan *)(void *)((char *)names - offsetof(struct scan, names));
}

/* node.c */
/* The one at that address, new if there is none yet. NULL: no memory, or too many. */
struct node *weir__redis_node_at(struct redis *redis, const char *host, const char *port);
struct node *weir__redis_node_of(const struct redis *redis, const char *name);
/* The next node that serves from that number on, or n_nodes. */
size_t weir__redis_serving(const struct redis *redis, size_t from);
void weir__redis_nodes_free(struct redis *redis);
uint16_t weir__redis_slot(const char *name);

/* sentinel.c */
int weir__redis_guide_init(struct redis *redis); /* 0 or -ENOMEM */
void weir__redis_open_mouth(struct node *node);  /* once it is known where */
void weir__redis_log_in(struct weir__wire *wire);

/* retry.c: see struct desk_kind */
void weir__redis_connect(struct server *server);
void weir__redis_unsend(struct server *server);
void weir__redis_listen(struct desk *desk);
void weir__redis_look_elsewhere(struct desk *desk);
void weir__redis_part(struct desk *desk);
/* Those calls are to do again, or asked about again; at that node, if it is not NULL. */
void weir__redis_take_back(const struct awaited *awaited, struct node *ask);
void weir__redis_reconsider(struct redis *redis); /* doubts: a node has come or gone */

/* command.c */
struct command *weir__redis_command_new(void); /* NULL: no memory; else for free() */
bool weir__redis_say(struct redis *redis, struct call *call);
bool weir__redis_say_poll(struct node *node, struct call *const *calls, size_t n);
bool weir__redis_say_asking(struct node *node);
bool weir__redis_say_map(struct node *node);
bool weir__redis_say_who(struct node *node, struct node *about);
bool weir__redis_say_look(struct node *node, const char *name, struct node *about);

/* ask.c */
/* Sends what was just taken, from any thread, if nothing is in the way. */
bool weir__redis_can_send_now(const struct redis *redis, const struct node *node);
void weir__redis_send_now(struct node *node);
void weir__redis_send(struct redis *redis); /* all that is to do */
/* Waiters whose time it is, or all; of that node, if it is not NULL. */
void weir__redis_poll(struct redis *redis, const struct node *node, bool all);

/* cluster.c */
/* What MOVED and ASK say; false: it cannot be followed. */
bool weir__redis_redirect(struct node *node, const struct awaited *awaited,
			  const struct weir__reply *reply);
/* What a node says about who has which slots. 0, -EPROTO, -ENOMEM. */
int weir__redis_take_map(struct node *from, const struct weir__reply *reply);
void weir__redis_learn(struct weir__timer *timer); /* asks somebody for the map */

/* rest.c */
/* Those calls are to do again, after a while. */
void weir__redis_rest(struct redis *redis, const struct awaited *awaited, const char *why);
void weir__redis_wake_up(struct weir__timer *timer);

/* doubt.c */
/* `found` has answered last where this node has now. */
void weir__redis_doubt(struct node *node, const struct awaited *awaited, const char *found);
void weir__redis_hear_who(struct node *node, const struct awaited *awaited,
			  const struct weir__reply *reply);
void weir__redis_hear_look(struct node *node, const struct awaited *awaited,
			   const struct weir__reply *reply);
void weir__redis_verify(struct weir__timer *timer); /* a node has come or gone meanwhile */
void weir__redis_recognise(struct node *node, const char *info);

/* survey.c */
bool weir__redis_survey_start(struct call *call);
struct node *weir__redis_survey_node(const struct redis *redis, struct names *names);
/* A reply; whether there is more to ask. A negative errno in *ret_error. */
bool weir__redis_survey(struct redis *redis, struct call *call, const struct weir__reply *reply,
			int *ret_error);

/* remark.c */
void weir__redis_note(struct node *node, const char *info);
int weir__redis_remark(const struct redis *redis, struct weir__picture *picture);

/* heard.c */
void weir__redis_reply(struct node *node, const struct weir__reply *reply);
void weir__redis_message(struct redis *redis, const struct weir__reply *reply);

/* hello.c */
extern const struct weir__wire_owner weir__redis_mouth;
extern const struct weir__wire_owner weir__redis_ear;

#endif
