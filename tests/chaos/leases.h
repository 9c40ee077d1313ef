/* chaos: leases, as far as they follow from the answers that clients got. */
#ifndef TESTS_CHAOS_LEASES_H
#define TESTS_CHAOS_LEASES_H

#include "chaos/history.h"

/* All that is known of one token, or of one acquire whose outcome is not known (token 0). */
struct lease {
	uint32_t name, slot, weight, client;
	uint64_t token, fence, request;
	int64_t asked;   /* the first invocation */
	int64_t granted; /* the first answer; from then on it must be held */
	int64_t must_end;
	int64_t may_end; /* it may be held from `asked` to this */
	int64_t may_end_if_freed_at_once;
	size_t op; /* the acquire, for reports */
	bool waited, stopped, known;
};

/* A span of time in which the limit may have been this. */
struct limit_span {
	int64_t from, to;
	int64_t reach; /* the latest `to` up to here */
	uint32_t limit;
	uint32_t name;
};

struct account {
	const struct history *history;
	struct history_report *report;
	struct lease *leases; /* by name, then by fence; those not known come first */
	size_t n_leases;
	size_t *by_token; /* operations that have a token: by token, then inv */
	size_t n_by_token;
	struct limit_span *limits; /* by name, then by from */
	size_t n_limits;
	int64_t *death_inv, *death_ret; /* by client */
	uint32_t n_clients;
};

int account_open(struct account *account, const struct history *history,
		 struct history_report *report);
void account_close(struct account *account);

void account_find(struct account *account, int check, size_t op, size_t other);

/* The highest, or lowest, limit that may have been in force between two times. */
uint32_t account_limit_max(const struct account *account, uint32_t name, int64_t from, int64_t to);
uint32_t account_limit_min(const struct account *account, uint32_t name, int64_t from, int64_t to);

/* The first lease of a name, and one past its last. */
void account_leases(const struct account *account, uint32_t name, size_t *ret_first,
		    size_t *ret_end);

/* When an operation was over at the latest. */
int64_t account_over(const struct account *account, const struct history_op *op);

/* An array of 0 to n - 1, sorted by compare(&leases[a], &leases[b]); NULL without memory. */
typedef int lease_order(const struct lease *a, const struct lease *b);
size_t *account_sorted(const struct account *account, lease_order *compare);

/* A time later, without overflow. */
int64_t later(int64_t time, int64_t by);

/* The checks, in check_*.c. 0 or -ENOMEM. */
int check_limit(struct account *account);
int check_fences(struct account *account);
int check_order(struct account *account);
int check_refusals(struct account *account);
int check_idle(struct account *account);
int check_tokens(struct account *account);
int check_identity(struct account *account);
int check_end(struct account *account);

#endif
