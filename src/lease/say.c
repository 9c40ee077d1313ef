/* lease: sentences. */
#include "lease/say.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/print.h"

/* What is longer is cut off; the names and paths in it come last for that reason. */
static WEIR__TLS char sentence[768];

int weir__fail(int error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	weir__format_list(sentence, sizeof(sentence), format, arguments);
	va_end(arguments);
	return error;
}

int weir__fail_plainly(int error)
{
	return weir__fail(error, "%s", weir_strerror(error));
}

const char *weir_store_error(const struct weir_store *store)
{
	(void)store;
	return sentence[0] != '\0' ? sentence : weir_strerror(0);
}

static int fail_limit(const struct weir__op *op)
{
	if (op->found_limit == 0)
		return weir__fail(op->result, "the semaphore exists with another limit than %u: %s",
				  op->limit, op->name);
	return weir__fail(op->result,
			  "the semaphore exists with limit %u, not %u: ask for that one or for "
			  "none, or change it with weir_set_limit (weir limit): %s",
			  op->found_limit, op->limit, op->name);
}

static int fail_weight(const struct weir__op *op)
{
	if (op->found_limit == 0)
		return weir__fail(op->result,
				  "%u permits are more than the limit, so they could never be "
				  "granted: %s",
				  op->weight, op->name);
	return weir__fail(op->result,
			  "%u permits are more than the limit of %u, so they could never be "
			  "granted: %s",
			  op->weight, op->found_limit, op->name);
}

static int fail_by_code(const struct weir__op *op)
{
	switch (op->result) {
	case -ENOENT:
		return weir__fail(-ENOENT,
				  "no such semaphore: create it with weir_ensure, or ask with a "
				  "limit: %s",
				  op->name);
	case -EEXIST:
		return fail_limit(op);
	case -E2BIG:
		return fail_weight(op);
	case -EAGAIN:
		return weir__fail(-EAGAIN, "no permit is free, or others wait: %s", op->name);
	case -ETIMEDOUT:
		return weir__fail(-ETIMEDOUT, "not granted before the deadline: %s", op->name);
	case -ENOBUFS:
		return weir__fail(-ENOBUFS,
				  "too many wait already (max_waiting of the store's URL): %s",
				  op->name);
	case -ESTALE:
		return weir__fail(-ESTALE,
				  "the lease is lost: it expired, was released or was evicted: %s",
				  op->name);
	case -ESHUTDOWN:
		return weir__fail(-ESHUTDOWN, "the store is closed");
	default:
		return weir__fail_plainly(op->result);
	}
}

int weir__fail_op(struct weir__op *op)
{
	int result = op->result;

	if (result < 0 && op->error != NULL)
		(void)weir__fail(result, "%s", op->error);
	else if (result < 0)
		(void)fail_by_code(op);
	weir__free(op->error);
	op->error = NULL;
	return result;
}
