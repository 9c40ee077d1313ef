/* bench: our own scripts, sent to a Redis server as redis-benchmark sends commands. */
#ifndef WEIR_BENCH_REDIS_LOAD_H
#define WEIR_BENCH_REDIS_LOAD_H

/* Pairs in a second of a semaphore's scripts by one thread, over 50 connections with pipelines of
 * 16: no leases, no handles, nobody waits. `dial` opens a connection; `pair` is called twice and
 * acquires and releases once, so that the commands can be seen. */
double redis_load(int (*dial)(void), void (*pair)(void *arg), void *arg, int count);

#endif
