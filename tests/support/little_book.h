/* support: a book of claims that is an array, for whoever runs the rule book in a test.
 *
 * It can be copied as it stands, which is how a search over all states goes back. Every lookup is a
 * walk over the array: slow, and with no index that could be out of step. What the rules tell the
 * owners of claims is written down.
 *
 * Define LITTLE_CLAIMS, the room for claims, before including it. */
#ifndef TESTS_SUPPORT_LITTLE_BOOK_H
#define TESTS_SUPPORT_LITTLE_BOOK_H

#include "lease/rules.h"

#include <stddef.h>
#include <string.h>

struct little_told {
	enum weir__event event;
	uint8_t token[WEIR_TOKEN_SIZE];
};

struct little_book {
	struct weir__rec rec;
	struct weir__claim claims[LITTLE_CLAIMS]; /* NEW or GONE: free */
	/* Since little_forget(). */
	uint32_t n_told;
	struct little_told told[2 * LITTLE_CLAIMS];
	uint32_t n_waits;
	weir_time waits[LITTLE_CLAIMS];
	uint32_t misuses; /* changed() with a state that the claim was not in */
	enum weir__claim_state known[LITTLE_CLAIMS];
};

static inline struct little_book *little_of(struct weir__rec *rec)
{
	return (struct little_book *)(void *)rec;
}

static inline bool little_live(const struct weir__claim *claim)
{
	return claim->state == WEIR__WAITING || claim->state == WEIR__HOLDING;
}

static inline struct weir__claim *little_by_token(struct weir__rec *rec, const uint8_t *token)
{
	struct little_book *book = little_of(rec);

	for (size_t i = 0; i < LITTLE_CLAIMS; i++)
		if (little_live(&book->claims[i]) &&
		    memcmp(book->claims[i].token, token, WEIR_TOKEN_SIZE) == 0)
			return &book->claims[i];
	return NULL;
}

static inline struct weir__claim *little_by_request(struct weir__rec *rec, const char *request_id)
{
	struct little_book *book = little_of(rec);

	for (size_t i = 0; i < LITTLE_CLAIMS; i++)
		if (little_live(&book->claims[i]) && book->claims[i].request_id != NULL &&
		    strcmp(book->claims[i].request_id, request_id) == 0)
			return &book->claims[i];
	return NULL;
}

static inline struct weir__claim *little_first_to_expire(struct weir__rec *rec)
{
	struct little_book *book = little_of(rec);
	struct weir__claim *first = NULL;

	for (size_t i = 0; i < LITTLE_CLAIMS; i++)
		if (book->claims[i].state == WEIR__HOLDING &&
		    (first == NULL || book->claims[i].expires < first->expires ||
		     (book->claims[i].expires == first->expires &&
		      book->claims[i].fence < first->fence)))
			first = &book->claims[i];
	return first;
}

static inline struct weir__claim *little_first_to_fall_silent(struct weir__rec *rec)
{
	struct little_book *book = little_of(rec);
	struct weir__claim *first = NULL;

	for (size_t i = 0; i < LITTLE_CLAIMS; i++)
		if (book->claims[i].state == WEIR__WAITING &&
		    (first == NULL || book->claims[i].silent < first->silent))
			first = &book->claims[i];
	return first;
}

/* The waiter with the lowest ticket that is higher than this one. */
static inline struct weir__claim *little_next(struct weir__rec *rec, uint64_t ticket)
{
	struct little_book *book = little_of(rec);
	struct weir__claim *next = NULL;

	for (size_t i = 0; i < LITTLE_CLAIMS; i++)
		if (book->claims[i].state == WEIR__WAITING && book->claims[i].ticket > ticket &&
		    (next == NULL || book->claims[i].ticket < next->ticket))
			next = &book->claims[i];
	return next;
}

static inline struct weir__claim *little_head(struct weir__rec *rec)
{
	return little_next(rec, 0);
}

static inline struct weir__claim *little_after(struct weir__rec *rec, struct weir__claim *waiting)
{
	return little_next(rec, waiting->ticket);
}

static inline void little_changed(struct weir__rec *rec, struct weir__claim *claim,
				  enum weir__claim_state before)
{
	struct little_book *book = little_of(rec);
	size_t i = (size_t)(claim - book->claims);

	book->misuses += book->known[i] != before;
	book->known[i] = little_live(claim) ? claim->state : WEIR__NEW;
}

static inline void little_tell(struct weir__rec *rec, struct weir__claim *claim,
			       enum weir__event event)
{
	struct little_book *book = little_of(rec);
	struct little_told *told = &book->told[book->n_told++];

	told->event = event;
	memcpy(told->token, claim->token, WEIR_TOKEN_SIZE);
}

static inline void little_waited(struct weir__rec *rec, weir_time wait)
{
	struct little_book *book = little_of(rec);

	book->waits[book->n_waits++] = wait;
}

/* The place of a waiter in the queue: 1 is next. */
static inline uint32_t little_position(struct weir__rec *rec, const struct weir__claim *waiting)
{
	uint32_t position = 1;

	for (struct weir__claim *claim = little_head(rec); claim != NULL && claim != waiting;
	     claim = little_after(rec, claim))
		position++;
	return position;
}

static const struct weir__book little_table = {
	.by_token = little_by_token,
	.by_request = little_by_request,
	.first_to_expire = little_first_to_expire,
	.first_to_fall_silent = little_first_to_fall_silent,
	.head = little_head,
	.after = little_after,
	.changed = little_changed,
	.tell = little_tell,
	.waited = little_waited,
};

static inline void little_init(struct little_book *book)
{
	*book = (struct little_book){ .rec = { .book = &little_table } };
}

static inline void little_forget(struct little_book *book)
{
	book->n_told = 0;
	book->n_waits = 0;
}

/* Room for a claim, NEW; NULL when the book is full. */
static inline struct weir__claim *little_room(struct little_book *book)
{
	for (size_t i = 0; i < LITTLE_CLAIMS; i++)
		if (!little_live(&book->claims[i])) {
			book->claims[i] = (struct weir__claim){ .state = WEIR__NEW };
			return &book->claims[i];
		}
	return NULL;
}

#endif
