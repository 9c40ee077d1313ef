/* store/redis: a store on a Redis server.
 *
 * Everything happens in the agent's thread. A CALL is one operation on its way through the engine:
 *
 *     TODO ----send----> SENT ----reply----> answered
 *      ^                  |  \--"it waits"--> WAITING --message, poll--> answered
 *      \---link is lost---/
 *
 * All commands of all callers go out on one link, in a pipeline; replies come back in the same
 * order, so what is awaited is a list. A second link only listens: a grant's message has the whole
 * lease in it. Messages may be lost, so every waiter asks once in a heartbeat, many of one name in
 * one command.
 *
 * UNKNOWN OUTCOMES (L6). A call whose command was sent and not answered when the link was lost is
 * sent again: a request under its token, which finds what the first one has done; a release that
 * then finds nothing to release has succeeded.
 */
#ifndef WEIR_STORE_REDIS_REDIS_H
#define WEIR_STORE_REDIS_REDIS_H

#include "lease/store.h"
#include "store/redis/link.h"
#include "store/redis/script.h"

enum call_state {
	CALL_TODO,
	CALL_SENT,
	CALL_WAITING,
};

/* Names that a listing or a reaping is still to look at. */
struct names {
	char **name;
	size_t count, room, next;
	char cursor[24]; /* of SCAN */
	bool complete;
	uint32_t reaped;
};

struct call {
	struct call *next; /* in the list of its state; SENT ones are in none */
	struct call *previous;
	struct weir__op *op; /* NULL: answered, and only here for replies that are still to come */
	enum call_state state;
	enum weir__script script; /* what is to be sent, or was */
	uint32_t expected;        /* replies that will speak of it */
	bool sent_before;         /* the outcome of an earlier command is unknown */
	bool withdrawn;           /* the asker has given up */
	weir_time sent;           /* before the last command that said something about it */
	weir_time look_again;     /* WAITING: when to ask whether it was granted */
	struct names *names;      /* LIST and REAP */
};

struct calls {
	struct call *first;
	struct call *last;
};

/* A command that was sent, and whom its reply concerns. */
struct awaited {
	struct awaited *next;
	enum weir__script script;
	weir_time sent;
	size_t n;
	struct call *calls[];
};

struct redis {
	struct weir_store *store;
	struct weir__agent *agent;
	struct weir__address address;
	char space[WEIR_NAME_MAX + 1]; /* what all keys and channels begin with */
	char channel[2 * WEIR_NAME_MAX]; /* where this agent hears of its waiters */
	char identity[48];               /* of the server: its run id */
	bool go_on;                      /* failover=continue */
	/* Connections are tried `attempts` times, with growing pauses between. */
	uint32_t attempts;
	uint32_t failed;
	weir_time min_delay, max_delay;
	uint32_t multiplier;

	struct weir__link mouth;
	struct weir__link ear;
	bool ready;         /* the mouth is logged in, and has found a server that will do */
	bool listening;     /* the ear has subscribed */
	uint32_t greetings; /* replies of the mouth that are still to come before it is ready */
	uint32_t loaded;    /* scripts that this server knows, a bit for each */
	struct awaited *awaited_first;
	struct awaited *awaited_last;
	struct calls todo;
	struct calls waiting;
	struct weir__timer pause;     /* until the next attempt, or until the server can again */
	struct weir__timer ear_pause;
	struct weir__timer heartbeat; /* runs while somebody waits */
};

/* send.c */
void weir__redis_send(struct redis *redis);                    /* all that is to do */
void weir__redis_poll(struct redis *redis, bool all);          /* waiters whose time it is, or all */
void weir__redis_heartbeat(struct redis *redis);               /* sets the timer for the next */

/* reply.c's counterpart, heard.c: what the server says. */
void weir__redis_reply(struct redis *redis, const struct weir__reply *reply);
void weir__redis_message(struct redis *redis, const struct weir__reply *reply);

/* call.c */
void weir__redis_take(struct redis *redis, struct weir__op *op);
void weir__redis_withdraw(struct redis *redis, struct weir__op *op);
void weir__redis_move(struct redis *redis, struct call *call, enum call_state state);
void weir__redis_answer(struct redis *redis, struct call *call, int result);
void weir__redis_refuse(struct redis *redis, struct call *call, int error, const char *why);
void weir__redis_refuse_all(struct redis *redis, int error, const char *why);
void weir__redis_unheard(struct call *call); /* one reply less will speak of it */

/* hello.c */
void weir__redis_connect(struct redis *redis);
void weir__redis_later(struct redis *redis); /* sends what is to do again, after a pause */
void weir__redis_lost(struct redis *redis);  /* closes the mouth; what was sent is to do again */
extern const struct weir__link_owner weir__redis_mouth;
extern const struct weir__link_owner weir__redis_ear;

/* survey.c: LIST and REAP */
void weir__redis_survey(struct redis *redis, struct call *call, const struct weir__reply *reply);
void weir__redis_names_free(struct names *names);

#endif
