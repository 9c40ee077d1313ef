/* store/postgres: a store in a PostgreSQL database.
 *
 * Everything happens in the agent's thread. Calls, from the operation that is asked to its answer,
 * are as store/call.h says.
 *
 * BATCHES. All that is to do goes out together on one wire, the mouth, as one transaction: one
 * statement for each QUESTION, in libpq's pipeline mode, and one synchronisation at the end, which
 * is the commit. What queues up meanwhile is the next batch, so many callers share one wait for
 * the disk. Nobody is answered before the commit. The questions of a batch are in the order of
 * names: whoever locks several semaphores locks them in that order, so no deadlock can form. If
 * one statement fails, the transaction has done nothing, and its questions are asked again, each
 * in a batch of its own. If it fails because somebody else sits on the row of its semaphore, all
 * that is to be asked under that name rests for a while, and the others are asked without it.
 *
 * The mouth has also said LISTEN to a channel of this agent alone: a grant's notification has the
 * whole lease in it. The server wakes up every session that listens, whatever is said and to whom,
 * so one for each agent is enough. Notifications may be lost, and cannot be had through a pooler
 * that pools transactions, so every waiter asks once in a heartbeat, many of one name in one
 * question. Behind a pooler a second wire, the ear, listens, if somebody has said where the server
 * itself is.
 *
 * WHO CALLS WHOM, from the top: engine.c (open, close, what comes from askers), hello.c (wires come
 * up and go down), heard.c (answers and notifications), remedy.c (what to do for those who may
 * not), rest.c (names that cannot be asked about), survey.c (listings), remark.c (what there is to
 * say about the server), ask.c (when to send what), question.c (how), retry.c (connections that
 * fail). */
#ifndef WEIR_STORE_POSTGRES_POSTGRES_H
#define WEIR_STORE_POSTGRES_POSTGRES_H

#include "store/hear.h"
#include "store/poll.h"
#include "store/postgres/wire.h"
#include "store/server.h"
#include "store/tell.h"

/* What is asked, each a function of the schema; see verbs.sql and short.sql. */
enum weir__pg_verb {
	WEIR__PG_ENSURE,
	WEIR__PG_LIMIT,
	WEIR__PG_ACQUIRE, /* a REQUEST that may find a short way */
	WEIR__PG_JOIN,    /* the same, probably beside others */
	WEIR__PG_REQUEST,
	WEIR__PG_POLL,
	WEIR__PG_WITHDRAW,
	WEIR__PG_RENEW,
	WEIR__PG_RELEASE,
	WEIR__PG_LEAVE, /* the same, probably beside others */
	WEIR__PG_EVICT,
	WEIR__PG_REAP,
	WEIR__PG_NAMES,
	WEIR__PG_LIST,
	WEIR__PG_VERBS,
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
	struct desk desk;
	struct server primary;
	struct weir__pg_address address; /* of the mouth */
	struct weir__pg_address direct;  /* of the ear */
	bool has_direct;                 /* the option said where it is */
	char *direct_host, *direct_port;
	const char *synchronous_commit; /* NULL: as the server has it */
	char schema[64];
	char *admit;           /* a role to let in; NULL: none */
	char listen[64];       /* a statement: LISTEN and */
	const char *channel;   /* where this agent hears of its waiters */
	char *settings;        /* what a session is told, to be selected */
	char *pooled_settings; /* a statement that a pooled transaction begins with */
	char *text[WEIR__PG_VERBS];
	weir_time reaper_cadence;
	uint32_t reaper_batch;

	/* What it has said about itself when it was greeted. */
	struct {
		char version[32];
		char commit[16]; /* synchronous_commit */
		bool safe;       /* its data survive a crash of its machine */
	} self;
	char server[160]; /* its identity and the incarnation of its memory, two words */
	char shared[WEIR_NAME_MAX + 1]; /* under which somebody was last granted beside others */
	char handed[WEIR_NAME_MAX + 1]; /* under which a release last found somebody waiting */

	struct weir__pg_wire mouth;
	struct weir__pg_wire ear;
	enum hello hello;
	PGresult *greeting; /* the last answer to it so far */
	int found;          /* the version of the schema that is being migrated; -1: made */
	char user[128];     /* as the server knows us, and where we are */
	char database[128];
	bool pooled; /* somebody stands between us and the server */
	bool ear_pausing;
	bool listening;           /* the ear has been heard */
	bool hears;               /* the mouth has said LISTEN */
	bool beginning_to_hear;   /* the answer to that comes next */
	uint32_t prepared;        /* statements that this connection knows, a bit for each */
	uint32_t preparing;       /* synchronisations of those that are on their way */
	bool settling;            /* the answer to the settings comes next */
	struct question *asked;   /* the batch that is on its way */
	struct question *hearing; /* of it, the one whose answer comes next */
	char error_code[8];       /* the first error of it; empty: there was none */
	char error[400];
	bool held_up;                   /* the last batch was, by one of its questions */
	const struct question *culprit; /* whose error that is; NULL: the whole batch's */
	weir_time sent;                 /* when it was */
	struct weir__timer ear_pause;
	struct weir__timer reaper;
	struct weir__op reaping;
	bool is_reaping;
};

static inline struct postgres *weir__pg_of(struct desk *desk)
{
	return (struct postgres *)(void *)((char *)desk - offsetof(struct postgres, desk));
}

/* retry.c: see struct desk_kind */
void weir__pg_connect(struct server *server);
void weir__pg_unsend(struct server *server);
void weir__pg_listen(struct desk *desk);
void weir__pg_part(struct desk *desk);
void weir__pg_free_batch(struct postgres *pg);

/* options.c */
extern const char *const weir__pg_options[];
int weir__pg_read_url(struct postgres *pg, const struct weir__url *url, char **ret_error);
void weir__pg_url_done(struct postgres *pg);

/* question.c */
/* The slot of a lease, or a number that no slot has: the asker does not know it, or has been wrong.
 */
int64_t weir__pg_slot_of(const struct call *call);
int weir__pg_write_texts(struct postgres *pg); /* 0 or -ENOMEM */
/* Gives libpq a question; false: there is no memory. */
bool weir__pg_send_question(struct postgres *pg, const struct question *question);
/* Sends what is needed before the questions of a batch. */
bool weir__pg_prepare(struct postgres *pg, const struct question *questions);
bool weir__pg_send_settings(struct postgres *pg);

/* ask.c */
void weir__pg_send(struct postgres *pg);        /* what is to do, if nothing is on its way */
void weir__pg_look_at_all(struct postgres *pg); /* whoever waits is asked about now */

/* rest.c */
/* Of a question that was taken back: its calls, and all others that are to ask under its name. */
void weir__pg_rest(struct postgres *pg, const struct question *question, const char *why);
void weir__pg_wake_up(struct weir__timer *timer);

/* survey.c */
bool weir__pg_survey_start(struct call *call);
/* An answer; whether there is more to ask. A negative errno in *ret_error. */
bool weir__pg_survey(struct call *call, const struct question *question, int *ret_error);

/* remark.c */
int weir__pg_remark(const struct postgres *pg, struct weir__picture *picture);

/* heard.c */
void weir__pg_input(struct postgres *pg);
void weir__pg_notifications(struct postgres *pg, const struct weir__pg_wire *wire);
/* The server's words about an error, as far as they can be shown. */
void weir__pg_quote(struct postgres *pg, const PGresult *result, char *why, size_t size);

/* remedy.c: the command that lets whoever was refused in, for weir__free. NULL: no memory. */
char *weir__pg_remedy(const struct postgres *pg);

/* hello.c */
extern const struct weir__pg_owner weir__pg_mouth;
extern const struct weir__pg_owner weir__pg_ear;

#endif
