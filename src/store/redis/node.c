/* store/redis: the servers of a store, and which of them has a name. See redis.h. */
#include <stdlib.h>
#include <string.h>

#include "store/redis/redis.h"

enum { SLOTS = 16384, MOST_NODES = 1000 };

/* CRC-16 as Redis counts it (XMODEM), of the hash tag, which is the name. */
uint16_t weir__redis_slot(const char *name)
{
	uint32_t crc = 0;

	for (; *name != '\0'; name++) {
		crc = ((crc >> 8) | (crc << 8)) & 0xffff;
		crc ^= (unsigned char)*name;
		crc ^= (crc & 0xff) >> 4;
		crc ^= (crc << 12) & 0xffff;
		crc ^= (crc & 0xff) << 5;
	}
	return (uint16_t)(crc % SLOTS);
}

struct node *weir__redis_node_of(const struct redis *redis, const char *name)
{
	return redis->nodes[redis->slots != NULL ? redis->slots[weir__redis_slot(name)] : 0];
}

size_t weir__redis_serving(const struct redis *redis, size_t from)
{
	while (redis->slots != NULL && from < redis->n_nodes && !redis->nodes[from]->serves)
		from++;
	return from < redis->n_nodes ? from : redis->n_nodes;
}

static struct node *new_node(struct redis *redis, const char *host, const char *port)
{
	struct node *node = calloc(1, sizeof(*node));

	if (node == NULL || weir__address_copy(&node->address, &redis->address, host, port) < 0) {
		free(node);
		return NULL;
	}
	node->redis = redis;
	node->server.desk = &redis->desk;
	node->server.where = node->where;
	node->address.local = port[0] == '\0'; /* the others of a cluster are not */
	node->server.pause.fire = redis->kind->end_pause;
	node->unwritten.fire = redis->kind->write_rest;
	weir__address_print(&node->address, node->where, sizeof(node->where));
	weir__wire_init(&node->mouth, redis->kind->mouth, redis->desk.agent, &redis->lock,
			&node->address);
	return node;
}

struct node *weir__redis_node_at(struct redis *redis, const char *host, const char *port)
{
	struct node **nodes, *node;

	for (size_t i = 0; i < redis->n_nodes; i++) {
		const struct weir__address *address = &redis->nodes[i]->address;

		if (strcmp(address->host, host) == 0 && strcmp(address->port, port) == 0)
			return redis->nodes[i];
	}
	if (redis->n_nodes == MOST_NODES)
		return NULL;
	nodes = realloc(redis->nodes, (redis->n_nodes + 1) * sizeof(struct node *));
	if (nodes == NULL)
		return NULL;
	redis->nodes = nodes;
	node = new_node(redis, host, port);
	if (node != NULL)
		redis->nodes[redis->n_nodes++] = node;
	return node;
}

void weir__redis_nodes_free(struct redis *redis)
{
	for (size_t i = 0; i < redis->n_nodes; i++) {
		weir__address_done(&redis->nodes[i]->address);
		free(redis->nodes[i]);
	}
	free(redis->nodes);
	free(redis->slots);
}
