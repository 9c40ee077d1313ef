/* support: the seam of weir/base.h with steps that are counted: how much work something is,
 * whatever the machine. */
#ifndef TESTS_SUPPORT_COUNTING_H
#define TESTS_SUPPORT_COUNTING_H

#include <stdbool.h>
#include <stdint.h>

/* Of this thread, since it began. */
extern _Thread_local uint64_t counting_steps;

/* Weak: inline functions that are not static call it, too. */
__attribute__((weak)) _Thread_local uint64_t counting_steps;
__attribute__((weak)) void counting_step(void);
void counting_step(void)
{
	counting_steps++;
}

#define WEIR__LOAD(p, order) (counting_step(), __atomic_load_n((p), (order)))
#define WEIR__STORE(p, value, order) (counting_step(), __atomic_store_n((p), (value), (order)))
#define WEIR__XCHG(p, value, order) (counting_step(), __atomic_exchange_n((p), (value), (order)))
#define WEIR__ADD(p, value, order) (counting_step(), __atomic_add_fetch((p), (value), (order)))
#define WEIR__SUB(p, value, order) (counting_step(), __atomic_sub_fetch((p), (value), (order)))
#define WEIR__CAS(p, expected, value, order) \
	(counting_step(),                    \
	 __atomic_compare_exchange_n((p), (expected), (value), false, (order), __ATOMIC_RELAXED))
#define WEIR__PEEK(p) (counting_step(), __atomic_load_n((p), __ATOMIC_RELAXED))
#define WEIR__POKE(p, value) (counting_step(), __atomic_store_n((p), (value), __ATOMIC_RELAXED))
#define WEIR__RELAX() counting_step()
#define WEIR__TLS _Thread_local __attribute__((tls_model("initial-exec")))
#define WEIR__TLS_EXTERN extern WEIR__TLS
#define WEIR__GLOBAL

#endif
