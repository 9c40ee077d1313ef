/* store/postgres: the library that only this engine needs, loaded when the first PostgreSQL store
 * is opened.
 *
 * A program that never uses PostgreSQL, such as `weir run` on a file, does not pay for linking with
 * it and with all that it needs. */
#ifndef WEIR_STORE_POSTGRES_LIBRARY_H
#define WEIR_STORE_POSTGRES_LIBRARY_H

#include <libpq-fe.h>
#include <stdbool.h>

#define WEIR__PQ_FUNCTIONS(X)   \
	X(PQbackendPID)         \
	X(PQclear)              \
	X(PQconnectPoll)        \
	X(PQconnectStartParams) \
	X(PQconninfo)           \
	X(PQconninfoFree)       \
	X(PQconninfoParse)      \
	X(PQconsumeInput)       \
	X(PQenterPipelineMode)  \
	X(PQerrorMessage)       \
	X(PQfinish)             \
	X(PQflush)              \
	X(PQfreemem)            \
	X(PQgetisnull)          \
	X(PQgetlength)          \
	X(PQgetResult)          \
	X(PQgetvalue)           \
	X(PQhost)               \
	X(PQisBusy)             \
	X(PQnfields)            \
	X(PQnotifies)           \
	X(PQntuples)            \
	X(PQpipelineSync)       \
	X(PQport)               \
	X(PQresultErrorField)   \
	X(PQresultStatus)       \
	X(PQsendPrepare)        \
	X(PQsendQuery)          \
	X(PQsendQueryParams)    \
	X(PQsendQueryPrepared)  \
	X(PQsetErrorVerbosity)  \
	X(PQsetNoticeReceiver)  \
	X(PQsetnonblocking)     \
	X(PQsocket)             \
	X(PQsslInUse)           \
	X(PQstatus)

#define WEIR__MEMBER(function) __typeof__(&function) function;
struct weir__pq {
	WEIR__PQ_FUNCTIONS(WEIR__MEMBER)
};
#undef WEIR__MEMBER

/* Filled by weir__pq_load; read-only from then on. */
extern struct weir__pq weir__pq;

/* From any thread. Whether it is there. */
bool weir__pq_load(void);

#endif
