/* lease: the ledger. See ledger.h. */
#include "lease/ledger.h"

#include <string.h>

#include "lease/lease.h"

static struct weir_lease *of_token(struct weir__link *link)
{
	return (struct weir_lease *)(void *)((char *)link - offsetof(struct weir_lease, by_token));
}

static struct weir_lease *of_stack(struct weir__link *link)
{
	return (struct weir_lease *)(void *)((char *)link - offsetof(struct weir_lease, on_stack));
}

static struct weir__ledger_part *part_of(struct weir__ledger *ledger, uint64_t hash)
{
	return &ledger->parts[hash >> 60 & (WEIR__LEDGER_PARTS - 1)];
}

static uint64_t stack_hash(uint64_t holder, const char *name)
{
	return weir__hash(name, strlen(name), holder);
}

void weir__ledger_done(struct weir__ledger *ledger)
{
	for (int i = 0; i < WEIR__LEDGER_PARTS; i++) {
		weir__table_done(&ledger->parts[i].by_token);
		weir__table_done(&ledger->parts[i].stacks);
	}
}

void weir__ledger_add(struct weir__ledger *ledger, struct weir_lease *lease)
{
	uint64_t hash = weir__token_hash(lease->token);
	struct weir__ledger_part *part = part_of(ledger, hash);

	weir__lock(&part->lock);
	weir__table_add(&part->by_token, &lease->by_token, hash);
	weir__unlock(&part->lock);
}

void weir__ledger_remove(struct weir__ledger *ledger, struct weir_lease *lease)
{
	struct weir__ledger_part *part = part_of(ledger, lease->by_token.hash);

	weir__lock(&part->lock);
	weir__table_remove(&part->by_token, &lease->by_token);
	weir__unlock(&part->lock);
}

/* What has reached nothing never comes back. */
static bool add_one(uint32_t *count)
{
	uint32_t found = WEIR__LOAD(count, __ATOMIC_RELAXED);

	while (found != 0) {
		if (WEIR__CAS(count, &found, found + 1, __ATOMIC_ACQUIRE))
			return true;
	}
	return false;
}

bool weir__ledger_ref(struct weir_lease *lease)
{
	return add_one(&lease->refs);
}

struct weir_lease *weir__ledger_find(struct weir__ledger *ledger, const uint8_t *token,
				     bool (*wanted)(const struct weir_lease *lease))
{
	uint64_t hash = weir__token_hash(token);
	struct weir__ledger_part *part = part_of(ledger, hash);
	struct weir_lease *found = NULL;

	weir__lock(&part->lock);
	for (struct weir__link *link = weir__table_find(&part->by_token, hash);
	     link != NULL && found == NULL; link = weir__table_again(link)) {
		struct weir_lease *lease = of_token(link);

		if (memcmp(lease->token, token, WEIR_TOKEN_SIZE) == 0 && wanted(lease) &&
		    add_one(&lease->pins))
			found = lease;
	}
	weir__unlock(&part->lock);
	return found;
}

struct weir_lease *weir__ledger_any(struct weir__ledger *ledger,
				    bool (*wanted)(const struct weir_lease *lease))
{
	struct weir_lease *found = NULL;

	for (int i = 0; i < WEIR__LEDGER_PARTS && found == NULL; i++) {
		struct weir__ledger_part *part = &ledger->parts[i];
		struct weir__link *link = NULL;

		weir__lock(&part->lock);
		while (found == NULL && (link = weir__table_next(&part->by_token, link)) != NULL) {
			struct weir_lease *lease = of_token(link);

			if (wanted(lease) && add_one(&lease->pins))
				found = lease;
		}
		weir__unlock(&part->lock);
	}
	return found;
}

void weir__ledger_push(struct weir__ledger *ledger, struct weir_lease *lease, uint64_t holder)
{
	uint64_t hash = stack_hash(holder, lease->name);
	struct weir__ledger_part *part = part_of(ledger, hash);

	weir__lock(&part->lock);
	weir__table_add(&part->stacks, &lease->on_stack, hash);
	lease->holder = holder;
	lease->stacked = true;
	weir__unlock(&part->lock);
}

static void leave(struct weir__ledger_part *part, struct weir_lease *lease)
{
	if (lease->stacked)
		weir__table_remove(&part->stacks, &lease->on_stack);
	lease->stacked = false;
}

struct weir_lease *weir__ledger_pop(struct weir__ledger *ledger, uint64_t holder, const char *name)
{
	uint64_t hash = stack_hash(holder, name);
	struct weir__ledger_part *part = part_of(ledger, hash);
	struct weir_lease *found = NULL;

	weir__lock(&part->lock);
	for (struct weir__link *link = weir__table_find(&part->stacks, hash);
	     link != NULL && found == NULL; link = weir__table_again(link)) {
		struct weir_lease *lease = of_stack(link);

		if (lease->holder == holder && strcmp(lease->name, name) == 0 &&
		    add_one(&lease->pins))
			found = lease;
	}
	if (found != NULL)
		leave(part, found);
	weir__unlock(&part->lock);
	return found;
}

void weir__ledger_leave(struct weir__ledger *ledger, struct weir_lease *lease)
{
	struct weir__ledger_part *part;

	if (lease->holder == 0) /* it never was on one */
		return;
	part = part_of(ledger, lease->on_stack.hash);
	weir__lock(&part->lock);
	leave(part, lease);
	weir__unlock(&part->lock);
}

uint64_t weir__ledger_caller(void)
{
	static uint64_t threads;
	static WEIR__TLS uint64_t number;
	struct weir_future *task = weir_self();

	if (task != NULL)
		return (uint64_t)(uintptr_t)task;
	if (number == 0)
		number = 2 * WEIR__ADD(&threads, 1, __ATOMIC_RELAXED) + 1;
	return number;
}
