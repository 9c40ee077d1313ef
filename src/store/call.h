/* store: the life of a call, for engines that ask servers.
 *
 * The DESK is what an engine keeps its calls at; struct postgres and struct redis have one each. A
 * CALL is one operation on its way through the engine:
 *
 *     NEXT ----send----> SENT ----answer----> answered
 *      ^                  |  \--"it waits"--> WAITING --message, poll--> answered
 *      \---wire is lost---/
 *
 * A SERVER is whoever calls are sent to, and may be gone: server.h. PostgreSQL has one, a Redis
 * cluster many. What is to be asked of it is its list `todo`.
 *
 * The engine sends what is to do, and says here what came of it (hear.c). All else that becomes of
 * a call is decided here, once for all engines. What differs is the table struct desk_kind.
 *
 * WAITERS are found by the token of their claim. A server tells of a grant in a message, with the
 * whole lease in it. Messages may be lost, so every waiter asks once in a heartbeat (`look_again`).
 *
 * UNKNOWN OUTCOMES (L6). A call that was sent and not answered when the wire was lost is sent
 * again: a request under its token, which finds what the first one has done; a release that then
 * finds nothing to release has succeeded.
 *
 * ORPHANS. Whoever gives up while the server cannot be asked, and whoever is told that it cannot be
 * reached, is answered at once. The call stays behind without its operation, and takes back what
 * the server may have granted as soon as there is one again. Unless somebody asks under the same
 * request id again, as one should (L6): what the server has is that one's then, its HEIR's.
 *
 * MEMORY. A call goes when it was answered, is no orphan, and no answer that speaks of it is on its
 * way (`expected`). So whoever hears an answer may look at its calls, but not after
 * weir__call_heard_of. Functions that answer may free the call.
 *
 * THREADS. One at a time; whoever has the engine's lock, or its agent's thread if it has none.
 */
#ifndef WEIR_STORE_CALL_H
#define WEIR_STORE_CALL_H

#include "base/table.h"
#include "lease/store.h"
#include "store/backoff.h"
#include "store/names.h"

/* What is asked: the verbs of an operation, and two of the desk's own. */
enum call_verb {
	CALL_ENSURE = WEIR__ENSURE,
	CALL_SET_LIMIT = WEIR__SET_LIMIT,
	CALL_REQUEST = WEIR__REQUEST,
	CALL_RENEW = WEIR__RENEW,
	CALL_RELEASE = WEIR__RELEASE,
	CALL_EVICT = WEIR__EVICT,
	CALL_REAP = WEIR__REAP,
	CALL_LIST = WEIR__LIST,
	CALL_WITHDRAW, /* of a request */
	CALL_HELLO,    /* nothing; the answer is that the server is there */
};

enum call_state {
	CALL_NEXT,
	CALL_SENT,
	CALL_WAITING,
	CALL_PARKED,  /* an orphan, until there is a server again */
	CALL_RESTING, /* its name cannot be asked about now; NEXT after a while */
};

struct call {
	struct weir__link by_token; /* of a REQUEST that may wait, until it is answered; then, of
				       an orphan, by its id */
	struct call *next;          /* in the list of its state; SENT ones are in none */
	struct call *previous;
	struct desk *desk;
	struct weir__op *op;   /* NULL: answered */
	struct server *server; /* NEXT, SENT: whom to ask, or who was */
	enum call_state state;
	enum call_verb verb; /* what is to be asked, or was */
	uint32_t expected;   /* answers that will speak of it */
	bool sent_before;    /* what came of asking it before is unknown */
	bool withdrawn;      /* the asker has given up */
	bool orphan;
	bool inherited;  /* an orphan that is SENT: there is an heir, it ends with its answer */
	bool heir;       /* of an orphan whose token is `left` */
	bool findable;   /* by its token */
	bool listed;     /* an orphan, by its request id */
	bool early;      /* a message has told of the grant before the answer that it waits */
	bool polled;     /* the answer to a poll is on its way */
	bool poll_again; /* a message has told that there is something to hear */
	bool pinned;     /* it goes to `server` once, whoever has its name */
	bool alone;      /* the engine's: it is not to be sent together with others */
	uint8_t hops;    /* the engine's: how often it was sent to another server */
	uint32_t rests;  /* the engine's: how often it has rested */
	weir_time sent;  /* before the last question that said something about it */
	weir_time look_again; /* WAITING: when to ask whether it was granted; RESTING: until when */
	struct names *names;  /* of one that looks at many */
	uint8_t token[WEIR_TOKEN_SIZE]; /* of its claim: its own, or of an earlier one of its id */
	uint8_t left[WEIR_TOKEN_SIZE];
	char name[];
};

struct calls {
	struct call *first;
	struct call *last;
};

struct server {
	struct desk *desk;
	const char *where; /* for people */
	struct calls todo;
	bool ready;               /* it was found, and will do */
	bool pausing;             /* until the timer `pause` */
	bool verifying;           /* the engine's: who it is; nothing is sent meanwhile */
	bool gave_up;             /* the last attempt to reach it has failed, too */
	weir_time cautious;       /* until then, a name that is new may have been another one's */
	uint32_t failed;          /* attempts in a row */
	struct weir__timer pause; /* until the next attempt, or until the server can again */
};

struct desk_kind {
	const char *product; /* for people */
	/* Whom to ask, by the name, or by the names it looks at. */
	struct server *(*server_of)(struct desk *desk, const struct call *call);
	/* Before it is to do for the first time. False: there is no memory. */
	bool (*prepare)(struct call *call);
	void (*listen)(struct desk *desk);      /* for messages, if it is wanted and not done yet */
	void (*connect)(struct server *server); /* unless it is connected or about to */
	void (*hang_up)(struct server *server);
	/* weir__call_unsend for all that was sent and not answered, which is forgotten. */
	void (*unsend)(struct server *server);
	/* The server is in trouble: another one may have what it had. NULL: there is no other. */
	void (*look_elsewhere)(struct desk *desk);
	void (*part)(struct desk *desk); /* answers goodbye, if that is all there is to do */
};

/* All zero but for the first three is one without calls. */
struct desk {
	const struct desk_kind *kind;
	struct weir_store *store;
	struct weir__agent *agent;
	struct weir__backoff backoff;
	bool go_on;        /* nobody need wait because the server is another one */
	weir_time longest; /* the longest TTL of a lease that was granted through this handle */
	struct calls waiting;
	struct calls parked;
	struct calls resting;
	uint32_t n_parked;
	struct weir__table tokens;
	struct weir__table orphans;   /* by name and request id */
	bool wants_ear;               /* somebody may have to be told something */
	struct weir__timer heartbeat; /* the engine polls then */
	weir_time beats_at;           /* when that is set for */
	struct weir__timer wake_up;   /* the engine has those go on who have rested */
	weir_time wakes_at;           /* likewise */
	struct weir__op *goodbye;     /* answered when nothing is to do any more */
};

void weir__desk_init(struct desk *desk, const struct desk_kind *kind, struct weir_store *store);
void weir__desk_done(struct desk *desk); /* nothing but orphans is left */
/* Wait until the agent knows that the server is there and will do, or why not; and until all is
 * done. */
int weir__desk_say_hello(struct desk *desk, char **ret_error);
void weir__desk_say_goodbye(struct desk *desk);

/* ---- from askers ----------------------------------------------------------------------------- */

/* Names of operations that are the engine's own: whether the server is there and will do, and
 * whether all is done. */
extern const char weir__hello[], weir__goodbye[];

/* False: there is no memory, and it has its answer. */
bool weir__desk_take(struct desk *desk, struct weir__op *op);
/* What comes from the agent. How many operations that was. */
uint32_t weir__desk_serve(struct desk *desk, struct weir__op *operations,
			  struct weir__op *withdrawn);
void weir__desk_withdraw(struct weir__op *op);

/* ---- for the engine -------------------------------------------------------------------------- */

static inline bool weir__call_is_live(const struct call *call)
{
	return call->op != NULL || call->orphan;
}

/* To the end of the list of that state; NEXT: of the server that is to be asked. */
void weir__call_move(struct call *call, enum call_state state);
void weir__call_answer(struct call *call, int result);
/* Answers one that the server will not have. */
void weir__call_refuse(struct call *call, int error, const char *why);
/* Answers one that could not be asked for; what it may have left behind is taken back later. */
void weir__call_fail(struct call *call, const struct server *server, int error, const char *why);
/* Likewise, without a sentence: whoever has given up. */
void weir__call_abandon(struct call *call, int result);
void weir__call_bury(struct call *call); /* an orphan that is done */
/* It is to do again, or to be asked about again. It has done nothing. */
void weir__call_take_back(struct call *call);
/* Likewise, and nobody knows what it has done. */
void weir__call_unsend(struct call *call);
void weir__call_heard_of(struct call *call); /* one answer less will speak of it */

/* Polls then, at the latest. */
void weir__desk_look(struct desk *desk, weir_time time);

/* Those that may wait under a token, the first and the next. */
struct call *weir__desk_waiter(struct desk *desk, const void *token);
struct call *weir__call_next_waiter(struct call *call);
void weir__call_set_token(struct call *call, const void *token);

/* What is in a list comes behind what will be put there until weir__calls_behind. */
static inline struct calls weir__calls_aside(struct calls *list)
{
	struct calls aside = *list;

	*list = (struct calls){ NULL, NULL };
	return aside;
}

void weir__calls_behind(struct calls *list, struct calls aside);

#endif
