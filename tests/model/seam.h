/* model: the seam of weir/base.h, as the explorer wants it.
 *
 * All threads of a model live in one OS thread. Each macro below first lets the engine choose who
 * goes on (a yield point) and then does its work with plain loads and stores. The engine says
 * where: at the very address, or in the thread's store buffer when those are modelled. Of the
 * memory orders only that of a store makes a difference then, as on x86. */
#ifndef MODEL_SEAM_H
#define MODEL_SEAM_H

#include <stdbool.h>
#include <stdint.h>

const void *seam_load(const void *p, unsigned size, const char *where);
void *seam_store(void *p, unsigned size, int order, const char *where);
void *seam_update(void *p, unsigned size, const char *where);
void seam_peek(const void *p, unsigned size, const char *where);
void seam_poke(const void *p, unsigned size, const char *where);
void seam_interrupt(void);
void seam_relax(void);

#define WEIR__LOAD(p, order) (*(const __typeof__(*(p)) *)seam_load((p), sizeof(*(p)), __func__))

#define WEIR__STORE(p, value, order)                                        \
	__extension__({                                                     \
		__typeof__(*(p)) seam_value = (value);                      \
		*(__typeof__(*(p)) *)seam_store((p), sizeof(*(p)), (order), \
						__func__) = seam_value;     \
	})

#define WEIR__XCHG(p, value, order)                                                   \
	__extension__({                                                               \
		__typeof__(*(p)) seam_value = (value);                                \
		__typeof__(*(p)) *seam_at = seam_update((p), sizeof(*(p)), __func__); \
		__typeof__(*(p)) seam_found = *seam_at;                               \
		*seam_at = seam_value;                                                \
		seam_found;                                                           \
	})

#define WEIR__ADD(p, value, order)                                                    \
	__extension__({                                                               \
		__typeof__(*(p)) seam_value = (value);                                \
		__typeof__(*(p)) *seam_at = seam_update((p), sizeof(*(p)), __func__); \
		*seam_at += seam_value;                                               \
	})

#define WEIR__SUB(p, value, order)                                                    \
	__extension__({                                                               \
		__typeof__(*(p)) seam_value = (value);                                \
		__typeof__(*(p)) *seam_at = seam_update((p), sizeof(*(p)), __func__); \
		*seam_at -= seam_value;                                               \
	})

#define WEIR__CAS(p, expected, value, order)                                          \
	__extension__({                                                               \
		__typeof__(*(p)) seam_value = (value);                                \
		__typeof__(*(p)) *seam_at = seam_update((p), sizeof(*(p)), __func__); \
		bool seam_equal = *seam_at == *(expected);                            \
		if (seam_equal)                                                       \
			*seam_at = seam_value;                                        \
		else                                                                  \
			*(expected) = *seam_at;                                       \
		seam_equal;                                                           \
	})

/* A signal handler may come around each of these, for they are what a thread does with its own
 * variables, too. Only a look at shared memory is a yield point: what is poked is under a lock. */
#define WEIR__PEEK(p)                                   \
	__extension__({                                 \
		seam_peek((p), sizeof(*(p)), __func__); \
		__typeof__(*(p)) seam_found = *(p);     \
		seam_interrupt();                       \
		seam_found;                             \
	})
#define WEIR__POKE(p, value)                            \
	__extension__({                                 \
		seam_poke((p), sizeof(*(p)), __func__); \
		*(p) = (value);                         \
		seam_interrupt();                       \
	})
#define WEIR__RELAX() seam_relax()

/* The engine keeps a copy of this section for each thread and exchanges it when it switches. `used`
 * keeps the compiler from believing that it sees every access. */
#define WEIR__TLS __attribute__((section("weir_tls"), used))
#define WEIR__TLS_EXTERN extern __attribute__((section("weir_tls")))

/* Part of the program's state: as it was at the start of each execution. */
#define WEIR__GLOBAL __attribute__((section("weir_global")))

#endif
