/* fuzz: bytes are operations; the rule book and the naive account of leases must agree.
 *
 * tests/unit/test_rules.c visits every state of a few claims; this one goes on for longer, with
 * more of them, and with times of any length. */
#define LITTLE_CLAIMS 24
#define NAIVE_CLAIMS 25
#include "fuzz/fuzz.h"
#include "support/little_book.h"
#include "support/naive_leases.h"

static struct little_book book;
static struct naive naive;
static weir_time now;
static uint32_t next_token;

static const char *const ids[] = { NULL, "a", "b", "c" };

static void request(uint8_t a, uint8_t b)
{
	struct weir__claim *claim = little_room(&book), *got = NULL;
	struct naive_claim asked = { .weight = 1U + a % 4,
				     .ttl = 1 + b % 16,
				     .max_hold = b / 64 * 9 };
	struct naive_claim *naive_got = NULL;
	bool wait = a & 128;

	if (claim == NULL)
		return;
	next_token++;
	memcpy(asked.token, &next_token, sizeof(next_token));
	asked.request_id = ids[a / 4 % 4];
	claim->weight = asked.weight;
	claim->ttl = asked.ttl;
	claim->max_hold = asked.max_hold;
	claim->request_id = asked.request_id;
	memcpy(claim->token, asked.token, WEIR_TOKEN_SIZE);

	int result = weir__rules_request(&book.rec, now, claim, wait, 20, &got);

	REQUIRE(result == naive_request(&naive, now, &asked, wait, 20, &naive_got));
	REQUIRE(result < 0 || memcmp(got->token, naive_got->token, WEIR_TOKEN_SIZE) == 0);
}

static void on_token(uint8_t what, uint8_t a, uint8_t b)
{
	uint32_t number = next_token - a % 32;
	uint8_t token[WEIR_TOKEN_SIZE] = { 0 };
	struct weir__claim *got;
	struct naive_claim *naive_got;

	memcpy(token, &number, sizeof(number));
	if (what == 0)
		REQUIRE(weir__rules_poll(&book.rec, now, token, 20, &got) ==
			naive_poll(&naive, now, token, 20, &naive_got));
	else if (what == 1)
		REQUIRE(weir__rules_withdraw(&book.rec, now, token, b & 1, &got) ==
			naive_withdraw(&naive, now, token, b & 1, &naive_got));
	else if (what == 2)
		REQUIRE(weir__rules_renew(&book.rec, now, token, b % 32, &got) ==
			naive_renew(&naive, now, token, b % 32, &naive_got));
	else if (what == 3)
		REQUIRE(weir__rules_release(&book.rec, now, token) ==
			naive_end(&naive, now, token, false));
	else
		REQUIRE(weir__rules_evict(&book.rec, now, token) ==
			naive_end(&naive, now, token, true));
}

static void compare(void)
{
	uint32_t waiting = 0;

	for (size_t i = 0; i < naive.n; i++) {
		const struct naive_claim *b = &naive.all[i];
		const struct weir__claim *a = little_by_token(&book.rec, b->token);

		REQUIRE(a != NULL && (a->state == WEIR__HOLDING) == (b->fence != 0));
		if (b->fence != 0) {
			REQUIRE(a->fence == b->fence && a->slot == b->slot);
			REQUIRE(a->expires == b->expires);
		} else {
			REQUIRE(little_position(&book.rec, a) == ++waiting);
		}
	}
	REQUIRE(book.rec.held == naive_held(&naive) && book.rec.waiting == waiting);
	REQUIRE(book.rec.holders + waiting == naive.n && book.misuses == 0);
	REQUIRE(book.rec.counters.expired == naive.expired);
	REQUIRE(book.rec.counters.refused == naive.refused);
	little_forget(&book);
	naive.n_news = naive.n_waits = 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	little_init(&book);
	memset(&naive, 0, sizeof(naive));
	now = next_token = 0;
	for (size_t i = 0; i + 3 <= size; i += 3) {
		uint8_t what = data[i] % 10, a = data[i + 1], b = data[i + 2];

		if (what < 3) {
			request(a, b);
		} else if (what < 8) {
			on_token(what - 3, a, b);
		} else if (what == 8) {
			REQUIRE(weir__rules_resize(&book.rec, now, a % 7) == 0);
			naive_resize(&naive, now, a % 7);
		} else {
			now += a % 8;
			REQUIRE(weir__rules_expire(&book.rec, now, b) ==
				naive_clear(&naive, now, b));
		}
		compare();
	}
	weir__slots_done(&book.rec.slots);
	return 0;
}
