/* store/postgres: a store in a PostgreSQL database.
 *
 * Everything happens in the agent's thread. A CALL is one operation on its way through the engine:
 *
 *     NEXT ----send----> SENT ----commit----> answered
 *      ^                  |  \--"it waits"--> WAITING --notification, poll--> answered
 *      \---wire is lost---/
 *
 * BATCHES. All that is to do goes out together on one wire, the mouth, as one transaction: one
 * statement for each QUESTION, in libpq's pipeline mode, and one synchronisation at the end, which
 * is the commit. What queues up meanwhile is the next batch, so many callers share one wait for
 * the disk. Nobody is answered before the commit. The questions of a batch are in the order of
 * names: whoever locks several semaphores locks them in that order, so no deadlock can form. If
 * one statement fails, the transaction has done nothing, and its questions are asked again, each
 * in a batch of its own.
 *
 * A second wire, the ear, has said LISTEN to a channel of this agent alone: a grant's notification
 * has the whole lease in it. Notifications may be lost, and cannot be had through a pooler that
 * pools transactions, so every waiter asks once in a heartbeat, many of one name in one question.
 *
 * UNKNOWN OUTCOMES (L6). A call whose batch was sent and not answered when the wire was lost is
 * sent again: a request under its token, which finds what the first one has done, be it later; a
 * release that then finds nothing to release has succeeded.
 *
 * ORPHANS. Whoever gives up while the server cannot be asked, and whoever is told that it cannot be
 * reached, is answered at once. The call stays behind without its operation, and takes back what
 * the server may have granted as soon as there is one again.
 *
 * WHO CALLS WHOM, from the top: engine.c (open, close, what comes from askers), hello.c (wires come
 * up and go down), heard.c (answers and notifications), survey.c (listings), ask.c (when to send
 * what), question.c (how), retry.c (connections that fail), call.c. */
#ifndef WEIR_STORE_POSTGRES_POSTGRES_H
#define WEIR_STORE_POSTGRES_POSTGRES_H

#include "base/table.h"
#include "lease/store.h"
#include "store/postgres/wire.h"

/* What is asked, each a function of the schema; see verbs.sql. */
enum weir__pg_verb {
	WEIR__PG_ENSURE,
	WEIR__PG_LIMIT,
	WEIR__PG_ACQUIRE, /* a REQUEST that may find a short way */
	WEIR__PG_REQUEST,
	WEIR__PG_POLL,
	WEIR__PG_WITHDRAW,
	WEIR__PG_RENEW,
	WEIR__PG_RELEASE,
	WEIR__PG_EVICT,
	WEIR__PG_REAP,
	WEIR__PG_NAMES,
	WEIR__PG_LIST,
	WEIR__PG_VERBS,
	WEIR__PG_HELLO = WEIR__PG_VERBS, /* nothing; the answer is that the server is there */
};

enum call_state {
	CALL_NEXT,
	CALL_SENT,
	CALL_WAITING,
	CALL_PARKED, /* an orphan, until there is a server again */
};

/* Names that a listing looks at. */
struct names {
	char **name;
	size_t count, room;
	size_t asked, heard; /* how many */
	bool complete;       /* all names are there */
};

struct call {
	struct weir__link by_token; /* of a REQUEST that may wait, until it is answered */
	struct call *next;          /* in the list of its state; SENT ones are in none */
	struct call *previous;
	struct weir__op *op; /* NULL: answered */
	enum call_state state;
	enum weir__pg_verb verb; /* what is to be asked, or was */
	uint32_t expected;       /* answers that will speak of it */
	bool sent_before;        /* the outcome of an earlier question is unknown */
	bool alone;              /* its batch has failed: it is to have one of its own */
	bool withdrawn;          /* the asker has given up */
	bool orphan;
	bool findable;   /* by its token */
	bool early;      /* a notification has told of the grant before the answer that it waits */
	bool polled;     /* the answer to a poll is on its way */
	bool poll_again; /* a notification has told that there is something to hear */
	weir_time sent;  /* before the last question that said something about it */
	weir_time look_again;           /* WAITING: when to ask whether it was granted */
	struct names *names;            /* LIST */
	uint8_t token[WEIR_TOKEN_SIZE]; /* of its claim: its own, or of an earlier one of its id */
	char name[];
};

struct calls {
	struct call *first;
	struct call *last;
};

/* One statement of a batch, and whom its answer concerns. */
struct question {
	struct question *next;
	enum weir__pg_verb verb;
	const char *name;
	PGresult *result;
	size_t n;
	struct call *calls[];
};

enum hello { HELLO_FACTS, HELLO_INIT, HELLO_VERSION, HELLO_ADMIT, HELLO_DONE };

struct postgres {
	struct weir_store *store;
	struct weir__agent *agent;
	struct weir__pg_address address; /* of the mouth */
	struct weir__pg_address direct;  /* of the ear */
	bool has_direct;                 /* the option said where it is */
	char *direct_host, *direct_port;
	const char *synchronous_commit; /* NULL: as the server has it */
	char schema[64];
	char *admit;           /* a role to let in; NULL: none */
	char channel[64];      /* where this agent hears of its waiters */
	char *settings;        /* what a session is told, to be selected */
	char *pooled_settings; /* a statement that a pooled transaction begins with */
	char *text[WEIR__PG_VERBS];
	/* Connections are tried `attempts` times, with growing pauses between. */
	uint32_t attempts, multiplier;
	weir_time min_delay, max_delay;
	bool go_on; /* failover=continue */
	weir_time reaper_cadence;
	uint32_t reaper_batch;

	char server[160];  /* its identity and the incarnation of its memory, two words */
	weir_time longest; /* the longest TTL of a lease that was granted through this handle */
	weir_time
		cautious; /* until then, a name that is new may have been known to another server */
	uint32_t failed;  /* attempts in a row */
	bool gave_up;     /* the last one has failed, too */

	struct weir__pg_wire mouth;
	struct weir__pg_wire ear;
	enum hello hello;
	PGresult *greeting; /* the last answer to it so far */
	char user[128];     /* as the server knows us, and where we are */
	char database[128];
	bool pooled;  /* somebody stands between us and the server */
	bool ready;   /* the mouth has found a server that will do */
	bool pausing; /* until the timer `pause` */
	bool ear_pausing;
	bool listening;           /* the ear has been heard */
	bool wants_ear;           /* somebody may have to be told something */
	uint32_t prepared;        /* statements that this connection knows, a bit for each */
	uint32_t preparing;       /* synchronisations of those that are on their way */
	bool settling;            /* the answer to the settings comes next */
	struct question *asked;   /* the batch that is on its way */
	struct question *hearing; /* of it, the one whose answer comes next */
	char error_code[8];       /* the first error of it; empty: there was none */
	char error[400];
	weir_time sent; /* when it was */
	struct calls todo;
	struct calls waiting;
	struct calls parked;
	uint32_t n_parked;
	struct weir__table tokens;
	struct weir__timer pause; /* until the next attempt, or until the server can again */
	struct weir__timer ear_pause;
	struct weir__timer heartbeat;
	struct weir__timer reaper;
	struct weir__op reaping;
	bool is_reaping;
	weir_time beats_at;       /* when the heartbeat is set for */
	struct weir__op *goodbye; /* answered when nothing is to do any more */
};

/* call.c */
/* Names of operations that are the engine's own: whether the server is there and will do, and
 * whether all is done. */
extern const char weir__pg_hello[], weir__pg_goodbye[];
bool weir__pg_take(struct postgres *pg, struct weir__op *op);
void weir__pg_withdraw(struct postgres *pg, struct weir__op *op);
void weir__pg_move(struct postgres *pg, struct call *call, enum call_state state);
/* Those that may wait under a token, the first and the next. */
struct call *weir__pg_waiter(struct postgres *pg, const void *token);
struct call *weir__pg_next_waiter(struct call *call);
void weir__pg_set_token(struct postgres *pg, struct call *call, const void *token);
void weir__pg_answer(struct postgres *pg, struct call *call, int result);
void weir__pg_refuse(struct postgres *pg, struct call *call, int error, const char *why);
void weir__pg_refuse_all(struct postgres *pg, int error, const char *why);
/* Answers, and makes an orphan of what may have left something behind. */
void weir__pg_abandon(struct postgres *pg, struct call *call, int result);
void weir__pg_unpark(struct postgres *pg);                  /* all orphans are to do */
void weir__pg_bury(struct postgres *pg, struct call *call); /* an orphan that is done */
void weir__pg_heard_of(struct call *call);                  /* one answer less will speak of it */
void weir__pg_names_free(struct names *names);

/* retry.c */
void weir__pg_connect(struct postgres *pg);                /* unless it is connected or about to */
void weir__pg_lost(struct postgres *pg, const char *why);  /* hangs up, and tries again */
void weir__pg_later(struct postgres *pg, const char *why); /* the server cannot now */
void weir__pg_give_up(struct postgres *pg, int error, const char *why);
void weir__pg_listen(struct postgres *pg); /* opens the ear, if it is wanted and not open */
void weir__pg_part(struct postgres *pg);   /* says goodbye, if that is all there is to do */
void weir__pg_free_batch(struct postgres *pg);

/* options.c */
extern const char *const weir__pg_options[];
int weir__pg_read_url(struct postgres *pg, const struct weir__url *url, char **ret_error);
void weir__pg_url_done(struct postgres *pg);

/* question.c */
int weir__pg_write_texts(struct postgres *pg); /* 0 or -ENOMEM */
/* Gives libpq a question; false: there is no memory. */
bool weir__pg_send_question(struct postgres *pg, const struct question *question);
/* Sends what the questions of a batch need to be prepared. */
bool weir__pg_prepare(struct postgres *pg, const struct question *questions);
bool weir__pg_send_settings(struct postgres *pg);
enum { WEIR__PG_AT_ONCE = 128 }; /* waiters in one question */

/* ask.c */
void weir__pg_send(struct postgres *pg); /* what is to do, if nothing is on its way */
void weir__pg_look(struct postgres *pg, weir_time time); /* polls then, at the latest */

void weir__pg_look_at_all(struct postgres *pg); /* whoever waits is asked about now */

/* survey.c */
bool weir__pg_survey_start(struct call *call);
/* An answer; whether there is more to ask. A negative errno in *ret_error. */
bool weir__pg_survey(struct call *call, const struct question *question, int *ret_error);

/* heard.c */
void weir__pg_input(struct postgres *pg);
void weir__pg_notification(struct postgres *pg, const char *text);
/* The server's words about an error, as far as they can be shown. */
void weir__pg_quote(struct postgres *pg, const PGresult *result, char *why, size_t size);

/* hello.c */
extern const struct weir__pg_owner weir__pg_mouth;
extern const struct weir__pg_owner weir__pg_ear;

#endif
