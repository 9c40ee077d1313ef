/* lease: the sentence behind an error code, for weir_store_error(). */
#ifndef WEIR_LEASE_SAY_H
#define WEIR_LEASE_SAY_H

#include "lease/engine.h"

/* Remembers the sentence for the calling thread and returns the error. */
__attribute__((format(printf, 2, 3))) int weir__fail(int error, const char *format, ...);

/* The same with weir_strerror's words. */
int weir__fail_plainly(int error);

/* The same for an operation that was answered: the engine's own words if it had any, which are
 * freed, or else what the code means for what was asked. Returns op->result; 0 and more is no
 * failure, and nothing is remembered. */
int weir__fail_op(struct weir__op *op);

#endif
