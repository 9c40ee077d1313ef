/* task_pool: twelve clients share three connections, each client a task.
 *
 * The semaphore counts the connections that are free, so whoever is inside its block is certain to
 * find one. The list needs no lock: between two waits a task is alone. */
#include <errno.h>
#include <stdio.h>
#include <weir/weir.h>

enum { CONNECTIONS = 3, CLIENTS = 12, QUERIES = 10 };

struct connection {
	struct connection *next;
	int users;
	int queries;
};

static struct connection connections[CONNECTIONS];
static struct connection *idle;
static struct weir_sem available = WEIR_SEM_INIT(CONNECTIONS);

static struct connection *take(void)
{
	struct connection *connection = idle;

	idle = connection->next;
	return connection;
}

static void put(struct connection *connection)
{
	connection->next = idle;
	idle = connection;
}

/* 0, or what went wrong. */
static int query(void)
{
	int error;

	WEIR_HOLD(&available, 1, &error) {
		struct connection *connection = take();

		if (connection->users++ != 0)
			return -EBUSY;
		error = weir_sleep(WEIR_MS / 2); /* what takes the time of a query */
		connection->queries++;
		connection->users--;
		put(connection);
	}
	return error;
}

static int client(void *arg, intptr_t *value)
{
	int error = 0;

	(void)arg;
	for (int i = 0; i < QUERIES && error == 0; i++) {
		error = query();
		++*value;
	}
	return error;
}

static int pool_example(void *arg, intptr_t *value)
{
	struct weir_future *clients[CLIENTS];
	intptr_t answers[CLIENTS] = { 0 };
	int error;

	(void)arg;
	for (int i = 0; i < CLIENTS; i++)
		clients[i] = weir_spawn(client, NULL);
	error = weir_gather(clients, CLIENTS, WEIR_NEVER, answers);
	for (int i = 0; i < CLIENTS; i++) {
		*value += answers[i];
		weir_future_unref(clients[i]);
	}
	return error;
}

int main(void)
{
	intptr_t answers = 0;
	int queries = 0;
	int error;

	for (int i = 0; i < CONNECTIONS; i++)
		put(&connections[i]);
	error = weir_run(pool_example, NULL, &(struct weir_run_config){ .value = &answers });
	for (int i = 0; i < CONNECTIONS; i++) {
		printf("connection %d served %d queries\n", i, connections[i].queries);
		queries += connections[i].queries;
	}
	return error == 0 && queries == CLIENTS * QUERIES && answers == queries ? 0 : 1;
}
