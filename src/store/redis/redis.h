/* store/redis: a store on a Redis server, or on the servers of a cluster.
 *
 * Everything happens in the agent's thread, with one exception: whoever asks while nothing is in
 * the way writes its command itself, which spares waking the agent. So there is a lock. A CALL is
 * one operation on its way through the engine:
 *
 *     NEXT ----send----> SENT ----reply----> answered
 *      ^                  |  \--"it waits"--> WAITING --message, poll--> answered
 *      \---wire is lost---/
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
 * UNKNOWN OUTCOMES (L6). A call whose command was sent and not answered when the wire was lost is
 * sent again: a request under its token, which finds what the first one has done; a release that
 * then finds nothing to release has succeeded.
 *
 * ORPHANS. Whoever gives up while the server cannot be asked, and whoever is told that it cannot be
 * reached, is answered at once. The call stays behind without its operation, and takes back what
 * the server may have granted as soon as there is one again.
 *
 * WHO CALLS WHOM, from the top: engine.c (open, close, what comes from askers), hello.c (wires come
 * up and go down), heard.c (replies and messages), cluster.c (maps and redirections), doubt.c
 * (servers that are not who they were), rest.c (names that cannot be asked about), ask.c (when
 * to send what), command.c (how), retry.c (connections that fail), sentinel.c (where to connect),
 * call.c, survey.c (listings), node.c.
 */
#ifndef WEIR_STORE_REDIS_REDIS_H
#define WEIR_STORE_REDIS_REDIS_H

#include "base/table.h"
#include "lease/store.h"
#include "store/redis/identity.h"
#include "store/redis/script.h"
#include "store/redis/wire.h"

enum call_state {
	CALL_NEXT,
	CALL_SENT,
	CALL_WAITING,
	CALL_PARKED,  /* an orphan, until there is a server again */
	CALL_RESTING, /* its name cannot be asked about now; NEXT after a while */
};

/* Names that a listing or a reaping looks at. */
struct names {
	char **name;
	size_t count, room;
	size_t asked, heard; /* how many */
	uint32_t round;      /* replies to what was asked in an earlier one are of no use */
	size_t scanning;     /* which node */
	char cursor[24];     /* of SCAN */
	bool complete;       /* all names are there */
	uint32_t reaped;
};

struct call {
	struct weir__link by_token; /* of a REQUEST that may wait, until it is answered */
	struct call *next;          /* in the list of its state; SENT ones are in none */
	struct call *previous;
	struct weir__op *op; /* NULL: answered */
	struct node *node;   /* NEXT, SENT: whom to ask, or who was; of `asking`, too */
	enum call_state state;
	enum weir__script script; /* what is to be sent, or was */
	uint32_t expected;        /* replies that will speak of it */
	bool sent_before;         /* the outcome of an earlier command is unknown */
	bool withdrawn;           /* the asker has given up */
	bool orphan;
	bool findable;        /* by its token */
	bool early;           /* a message has told of the grant before the reply that it waits */
	bool polled;          /* the answer to a poll is on its way */
	bool poll_again;      /* a message has told that there is something to hear */
	bool asking;          /* its node was named by another one, for this once (ASK) */
	uint8_t hops;         /* how often it was sent to another node */
	uint32_t rests;       /* how often it has rested */
	weir_time sent;       /* before the last command that said something about it */
	weir_time look_again; /* WAITING: when to ask whether it was granted; RESTING: until when */
	struct names *names;  /* LIST and REAP */
	uint8_t token[WEIR_TOKEN_SIZE]; /* of its claim: its own, or of an earlier one of its id */
	char name[];
};

struct calls {
	struct call *first;
	struct call *last;
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

/* A server. */
struct node {
	struct redis *redis;
	struct weir__address address;
	char where[2 * WEIR_NAME_MAX]; /* the address, for people */
	char identity[WEIR__IDENTITY];
	bool durable; /* what it answers is on its disk */
	/* Who has answered before under some name, and is known to be somebody else: a + if that
	 * one has lost nothing, or a -, and its identity; see doubt.c. */
	char doubt[WEIR__IDENTITY + 1];
	char suspect[WEIR__IDENTITY]; /* about to be known, of a name */
	char suspect_name[WEIR_NAME_MAX + 1];
	bool verifying;       /* and nothing is sent meanwhile */
	bool asking_around;   /* among the other nodes */
	struct node *witness; /* the suspect, when it was asked */
	bool given_away;      /* what it said */
	bool tried;           /* as a witness */
	weir_time
		cautious; /* until then, a name that is new may have been known to another server */
	uint32_t failed;  /* attempts in a row */
	bool gave_up;     /* the last one has failed, too */
	bool serves;      /* the cluster's map has it */
	struct weir__wire mouth;
	enum hello hello; /* what the mouth's next reply is about */
	bool pausing;     /* until the timer `pause` */
	bool ready;       /* the mouth is logged in, and has found a server that will do */
	uint32_t loaded;  /* scripts that this server knows, a bit for each */
	struct awaited *awaited_first;
	struct awaited *awaited_last;
	struct calls todo;
	struct weir__timer pause;     /* until the next attempt, or until the server can again */
	struct weir__timer unwritten; /* has the agent write what an asker could not */
};

/* What is set in each node. */
struct node_kind {
	const struct weir__wire_owner *mouth;
	void (*end_pause)(struct weir__timer *timer);
	void (*write_rest)(struct weir__timer *timer);
};

struct redis {
	struct weir_store *store;
	struct weir__agent *agent;
	struct weir__lock lock; /* of all that follows and changes */
	uint32_t queued; /* operations on their way to the agent, which nobody may overtake */
	struct weir__address address; /* as it was named: of the first node, and how to log in */
	char *space;                  /* what all keys and channels begin with */
	char channel[WEIR_NAME_MAX + 64]; /* where this agent hears of its waiters */
	/* Connections are tried `attempts` times, with growing pauses between. */
	uint32_t attempts, multiplier;
	weir_time min_delay, max_delay;
	bool go_on;        /* failover=continue */
	bool durable;      /* failover=durable */
	weir_time longest; /* the longest TTL of a lease that was granted through this handle */

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
	bool wants_ear; /* somebody may have to be told something */
	struct calls waiting;
	struct calls parked;
	struct calls resting;
	struct weir__timer wake_up; /* for those */
	weir_time wakes_at;
	uint32_t n_parked;
	struct weir__table tokens;
	struct weir__timer ear_pause;
	struct weir__timer heartbeat;
	weir_time beats_at;       /* when that is set for */
	struct command *command;  /* in the making; askers may have little stack */
	struct weir__op *goodbye; /* answered when nothing is to do any more */
};

/* node.c */
/* The one at that address, new if there is none yet. NULL: no memory, or too many. */
struct node *weir__redis_node_at(struct redis *redis, const char *host, const char *port);
struct node *weir__redis_node_of(const struct redis *redis, const char *name);
/* The next node that serves from that number on, or n_nodes. */
size_t weir__redis_serving(const struct redis *redis, size_t from);
void weir__redis_nodes_free(struct redis *redis);
/* Whether nothing may be sent to it just now. */
static inline bool weir__redis_held_up(const struct node *node)
{
	return node->pausing || node->verifying;
}
uint16_t weir__redis_slot(const char *name);

/* call.c */
/* Names of operations that are the engine's own: whether the server is there and will do, and
 * whether all is done. */
extern const char weir__redis_hello[], weir__redis_goodbye[];
bool weir__redis_take(struct redis *redis, struct weir__op *op);
void weir__redis_withdraw(struct redis *redis, struct weir__op *op);
void weir__redis_move(struct redis *redis, struct call *call, enum call_state state);
/* Those that may wait under a token, the first and the next. */
struct call *weir__redis_waiter(struct redis *redis, const void *token);
struct call *weir__redis_next_waiter(struct call *call);
void weir__redis_set_token(struct redis *redis, struct call *call, const void *token);
void weir__redis_answer(struct redis *redis, struct call *call, int result);
void weir__redis_refuse(struct redis *redis, struct call *call, int error, const char *why);
/* Answers one that could not be asked for; what it may have left behind is taken back later. */
void weir__redis_fail(struct node *node, struct call *call, int error, const char *why);
/* All that is to be asked of that node, or waits there. */
void weir__redis_refuse_all(struct node *node, int error, const char *why);
bool weir__redis_is_idle(const struct node *node); /* there is nothing of that kind */
/* Answers, and makes an orphan of what may have left something behind. */
void weir__redis_abandon(struct redis *redis, struct call *call, int result);
void weir__redis_unpark(struct node *node);                    /* its orphans are to do */
void weir__redis_bury(struct redis *redis, struct call *call); /* an orphan that is done */
void weir__redis_heard_of(struct call *call);                  /* one reply less will speak of it */

/* sentinel.c */
int weir__redis_guide_init(struct redis *redis); /* 0 or -ENOMEM */
void weir__redis_open_mouth(struct node *node);  /* once it is known where */
void weir__redis_log_in(struct weir__wire *wire);

/* retry.c */
void weir__redis_connect(struct node *node);                /* unless it is connected or about to */
void weir__redis_lost(struct node *node, const char *why);  /* hangs up, and tries again */
void weir__redis_later(struct node *node, const char *why); /* the server cannot now */
void weir__redis_give_up(struct node *node, int error, const char *why);
weir_time weir__redis_delay(const struct redis *redis, uint32_t failed); /* how long to wait */
/* Those calls are to do again, or asked about again; at that node, if it is not NULL. */
void weir__redis_take_back(struct redis *redis, const struct awaited *awaited, struct node *ask);
void weir__redis_listen(struct redis *redis);     /* opens the ear, if it is wanted and not open */
void weir__redis_reconsider(struct redis *redis); /* doubts: a node has come or gone */
void weir__redis_part(struct redis *redis);       /* says goodbye, if that is all there is to do */

/* command.c */
struct command *weir__redis_command_new(void); /* NULL: no memory; else for free() */
bool weir__redis_say(struct redis *redis, struct call *call);
bool weir__redis_say_poll(struct node *node, struct call *const *calls, size_t n);
bool weir__redis_say_asking(struct node *node);
bool weir__redis_say_map(struct node *node);
bool weir__redis_say_who(struct node *node, struct node *about);
bool weir__redis_say_look(struct node *node, const char *name, struct node *about);
enum { WEIR__REDIS_AT_ONCE = 128 }; /* waiters in one command */

/* ask.c */
/* Sends what was just taken, from any thread, if nothing is in the way. */
bool weir__redis_can_send_now(const struct redis *redis, const struct node *node);
void weir__redis_send_now(struct node *node);
void weir__redis_send(struct redis *redis); /* all that is to do */
/* Waiters whose time it is, or all; of that node, if it is not NULL. */
void weir__redis_poll(struct redis *redis, const struct node *node, bool all);
void weir__redis_look(struct redis *redis, weir_time time); /* polls then, at the latest */

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
bool weir__redis_survey_start(struct redis *redis, struct call *call);
struct node *weir__redis_survey_node(const struct redis *redis, const struct names *names);
/* A reply; whether there is more to ask. A negative errno in *ret_error. */
bool weir__redis_survey(struct redis *redis, struct call *call, const struct weir__reply *reply,
			int *ret_error);
void weir__redis_names_free(struct names *names);

/* heard.c */
void weir__redis_reply(struct node *node, const struct weir__reply *reply);
void weir__redis_message(struct redis *redis, const struct weir__reply *reply);

/* hello.c */
extern const struct weir__wire_owner weir__redis_mouth;
extern const struct weir__wire_owner weir__redis_ear;

#endif
