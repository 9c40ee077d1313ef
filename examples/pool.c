/* pool: twelve clients share three connections.
 *
 * The semaphore counts the connections that are free, so whoever is inside its block is certain to
 * find one. A second semaphore, of one permit, is the mutex of the list. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <weir/weir.h>

enum { CONNECTIONS = 3, CLIENTS = 12, QUERIES = 10 };

struct connection {
	struct connection *next;
	int users;
	int queries;
};

struct pool {
	struct weir_sem available;
	struct weir_sem lock;
	struct connection *free;
};

static struct connection connections[CONNECTIONS];
static struct pool pool = { WEIR_SEM_INIT(CONNECTIONS), WEIR_SEM_INIT(1), NULL };

static struct connection *take(struct pool *from)
{
	struct connection *connection = NULL;

	WEIR_HOLD(&from->lock, 1) {
		connection = from->free;
		from->free = connection->next;
	}
	return connection;
}

static void put(struct pool *into, struct connection *connection)
{
	WEIR_HOLD(&into->lock, 1) {
		connection->next = into->free;
		into->free = connection;
	}
}

/* What takes the time of a query. */
static void talk(void)
{
	struct timespec time = { .tv_nsec = 1000000 };

	nanosleep(&time, NULL);
}

/* 0, or what went wrong. */
static int query(struct pool *with)
{
	int error;

	WEIR_HOLD(&with->available, 1, &error) {
		struct connection *connection = take(with);

		/* Plain members: nobody else has this connection now. */
		if (connection->users++ != 0)
			error = -EBUSY;
		connection->queries++;
		talk();
		connection->users--;
		put(with, connection);
	}
	return error;
}

static void *client(void *arg)
{
	int *failed = arg;

	for (int i = 0; i < QUERIES; i++) {
		if (query(&pool) != 0)
			(*failed)++;
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[CLIENTS];
	int failed[CLIENTS] = { 0 };
	int queries = 0;
	int failures = 0;

	for (int i = 0; i < CONNECTIONS; i++)
		put(&pool, &connections[i]);
	for (int i = 0; i < CLIENTS; i++) {
		if (pthread_create(&threads[i], NULL, client, &failed[i]) != 0)
			return 1;
	}
	for (int i = 0; i < CLIENTS; i++) {
		pthread_join(threads[i], NULL);
		failures += failed[i];
	}
	for (int i = 0; i < CONNECTIONS; i++) {
		printf("connection %d served %d queries\n", i, connections[i].queries);
		queries += connections[i].queries;
	}

	/* A closed pool refuses at once, with an error that says so. */
	weir_sem_close(&pool.available);
	printf("after close: %s\n", weir_strerror(query(&pool)));
	return queries == CLIENTS * QUERIES && failures == 0 && query(&pool) == -ESHUTDOWN ? 0 : 1;
}
