/* model: small programs, wrong and right. */
#include "model/toys.h"

#include "base/futex.h"
#include "model/memory.h"
#include "model/models.h"

#define LOAD(i) WEIR__LOAD(m_word(i), __ATOMIC_RELAXED)
#define STORE(i, value) WEIR__STORE(m_word(i), (value), __ATOMIC_RELAXED)
#define STORE_ORDERED(i, value) WEIR__STORE(m_word(i), (value), __ATOMIC_SEQ_CST)

/* A lock that looks and then takes. */
static void check_then_act(void)
{
	if (LOAD(TOY_X) != 0)
		return;
	STORE(TOY_X, 1);
	m_check(WEIR__ADD(m_word(TOY_Y), 1, __ATOMIC_RELAXED) == 1, "two are inside");
	(void)WEIR__SUB(m_word(TOY_Y), 1, __ATOMIC_RELAXED);
	STORE(TOY_X, 0);
}

const struct model toy_check_then_act = {
	.name = "check_then_act",
	.threads = { check_then_act, check_then_act },
};

/* Sleeps on another word than the one it looked at: a wake-up in between is lost. */
static void sleep_unless_set(void)
{
	if (LOAD(TOY_X) == 0)
		(void)weir__futex_wait(m_word(TOY_Y), 0, WEIR_NEVER);
}

static void set_and_wake(void)
{
	STORE(TOY_X, 1);
	weir__futex_wake(m_word(TOY_Y), 1);
}

const struct model toy_lost_wake = {
	.name = "lost_wake",
	.threads = { sleep_unless_set, set_and_wake },
};

static void make_slot(void)
{
	m_make_slots(1);
}

static void free_it(void)
{
	STORE(TOY_X, 1);
	m_free_slot(0);
}

static void use_it(void)
{
	(void)WEIR__LOAD(&world.slots[0]->state, __ATOMIC_RELAXED);
}

const struct model toy_use_after_free = {
	.name = "use_after_free",
	.prepare = make_slot,
	.threads = { free_it, use_it },
};

static void write_it(void)
{
	STORE(TOY_Y, 1);
	world.slots[0]->n = 7;
}

const struct model toy_write_after_free = {
	.name = "write_after_free",
	.prepare = make_slot,
	.threads = { free_it, write_it },
};

const struct model toy_double_free = {
	.name = "double_free",
	.prepare = make_slot,
	.threads = { free_it, free_it },
};

/* Lets others find a variable of a function that returns. */
__attribute__((noinline)) static void publish(void)
{
	uint32_t local[8] = { 0 };

	world.slots[0] = (struct weir_waiter *)(void *)local;
	STORE(TOY_X, 1);
	(void)LOAD(TOY_X);
}

static void publish_and_go_on(void)
{
	publish();
	STORE(TOY_Y, 1);
}

static void store_to_it(void)
{
	if (LOAD(TOY_X) == 1)
		WEIR__STORE((uint32_t *)(void *)world.slots[0], 7, __ATOMIC_RELAXED);
}

const struct model toy_use_after_return = {
	.name = "use_after_return",
	.threads = { publish_and_go_on, store_to_it },
};

static void write_to_it(void)
{
	if (LOAD(TOY_X) == 1)
		*(uint32_t *)(void *)world.slots[0] = 7;
}

const struct model toy_write_after_return = {
	.name = "write_after_return",
	.threads = { publish_and_go_on, write_to_it },
};

static void crash(void)
{
	volatile uintptr_t nowhere = 64;

	STORE(TOY_X, 1);
	*(volatile int *)nowhere = 1;
}

const struct model toy_crash = {
	.name = "crash",
	.threads = { crash },
};

static void loop(void)
{
	volatile bool on = true;

	STORE(TOY_X, 1);
	while (on)
		;
}

const struct model toy_endless = {
	.name = "endless",
	.threads = { loop },
};

static void spin(void)
{
	while (LOAD(TOY_X) == 0)
		WEIR__RELAX();
}

const struct model toy_livelock = {
	.name = "livelock",
	.threads = { spin, spin },
	.endless_spins = true,
};

/* Changes a semaphore behind the library's back. */
static void steal(void)
{
	struct weir_sem *sem = world.ghosts[0].sem;

	STORE(TOY_X, 1);
	sem->word += WEIR__SEM_HELD(1) - WEIR__SEM_FREE(1);
	STORE(TOY_X, 0);
}

const struct model toy_held_twice = {
	.name = "held_twice",
	.permits = 2,
	.threads = { steal },
};

static void miscount(void)
{
	STORE(TOY_X, 1);
	world.ghosts[0].sem->timed_out = 1;
}

const struct model toy_bad_count = {
	.name = "bad_count",
	.permits = 1,
	.threads = { miscount },
};

/* Litmus tests. */
static void store_x_load_y(void)
{
	STORE(TOY_X, 1);
	*m_word(TOY_R0) = LOAD(TOY_Y);
}

static void store_y_load_x(void)
{
	STORE(TOY_Y, 1);
	*m_word(TOY_R1) = LOAD(TOY_X);
}

const struct model toy_store_buffering = {
	.name = "store_buffering",
	.threads = { store_x_load_y, store_y_load_x },
};

static void store_x_load_y_ordered(void)
{
	STORE_ORDERED(TOY_X, 1);
	*m_word(TOY_R0) = LOAD(TOY_Y);
}

static void store_y_load_x_ordered(void)
{
	STORE_ORDERED(TOY_Y, 1);
	*m_word(TOY_R1) = LOAD(TOY_X);
}

const struct model toy_store_buffering_ordered = {
	.name = "store_buffering_ordered",
	.threads = { store_x_load_y_ordered, store_y_load_x_ordered },
};

static void write_message(void)
{
	STORE(TOY_X, 1);
	STORE(TOY_Y, 1);
}

static void read_message(void)
{
	*m_word(TOY_R0) = LOAD(TOY_Y);
	*m_word(TOY_R1) = LOAD(TOY_X);
}

const struct model toy_message_passing = {
	.name = "message_passing",
	.threads = { write_message, read_message },
};

/* Two sleep, one is woken: R0 says which of them was first. */
static void sleep_as(uint32_t number)
{
	(void)weir__futex_wait(m_word(TOY_X), 0, WEIR_NEVER);
	if (WEIR__XCHG(m_word(TOY_Y), 1, __ATOMIC_RELAXED) == 0)
		*m_word(TOY_R0) = number;
}

static void sleep_as_0(void)
{
	sleep_as(0);
}

static void sleep_as_1(void)
{
	sleep_as(1);
}

static void wake_one_then_all(void)
{
	weir__futex_wake(m_word(TOY_X), 1);
	STORE(TOY_X, 1);
	weir__futex_wake(m_word(TOY_X), 2);
}

const struct model toy_wake_any = {
	.name = "wake_any",
	.threads = { wake_one_then_all, sleep_as_0, sleep_as_1 },
};

/* R0 says where the handler came. */
static void count_to_two(void)
{
	STORE(TOY_X, 1);
	STORE(TOY_X, 2);
}

static void note_x(void)
{
	*m_word(TOY_R0) = LOAD(TOY_X);
	*m_word(TOY_R1) = 1;
}

const struct model toy_signal = {
	.name = "signal",
	.threads = { count_to_two },
	.handler = note_x,
};

/* P9 of the model itself: no timeout before its time. */
static void sleep_until_ten(void)
{
	int result = weir__futex_wait(m_word(TOY_X), 0, 10);

	m_check(result != -ETIMEDOUT || weir_now() >= 10, "a timeout came early");
	*m_word(TOY_R0) = result == -ETIMEDOUT;
}

static void wake_it(void)
{
	STORE(TOY_X, 1);
	weir__futex_wake(m_word(TOY_X), 1);
}

const struct model toy_timeout = {
	.name = "timeout",
	.threads = { sleep_until_ten, wake_it },
};
