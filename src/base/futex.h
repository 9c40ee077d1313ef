/* base: sleeping on a 32-bit word in the kernel. The only place that does. */
#ifndef WEIR_BASE_FUTEX_H
#define WEIR_BASE_FUTEX_H

#include <stdint.h>
#include <weir/base.h>

/* Sleeps while *word is `expected`, until woken or until `deadline`.
 * 0: woken, perhaps for no reason. -EAGAIN: *word was not `expected`. -EINTR: a signal handler ran.
 * -ETIMEDOUT: the deadline has passed. None of them says anything about the state that the caller
 * waits for: look at it again, in a loop. */
int weir__futex_wait(const uint32_t *word, uint32_t expected, weir_time deadline);

/* Wakes up to `count` sleepers. Only the address is used, the memory is not touched: it may be gone
 * already, and a stranger who sleeps there now sees a wake-up for no reason. */
void weir__futex_wake(const uint32_t *word, int count);

/* Likewise for many who sleep at one word, each with a bit: all are woken whose bits are among
 * these. None may be 0. */
int weir__futex_wait_bits(const uint32_t *word, uint32_t expected, weir_time deadline,
			  uint32_t bits);
void weir__futex_wake_bits(const uint32_t *word, uint32_t bits);

#endif
