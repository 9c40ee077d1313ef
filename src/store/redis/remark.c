/* store/redis: what servers have said about themselves, for whoever looks after them. See redis.h.
 */
#include <stdlib.h>
#include <string.h>

#include "base/print.h"
#include "store/redis/redis.h"
#include "store/remark.h"

enum { NEARLY_FULL = 90 }; /* percent */

static uint64_t find_number(const char *info, const char *key)
{
	char word[WEIR__INFO_WORD];

	weir__info_find(info, key, word);
	return strtoull(word, NULL, 10);
}

void weir__redis_note(struct node *node, const char *info)
{
	struct self *self = &node->self;

	weir__info_find(info, "\nredis_version:", self->version);
	self->memory = find_number(info, "\nused_memory:");
	self->most_memory = find_number(info, "\nmaxmemory:");
	self->clients = find_number(info, "\nconnected_clients:");
	self->most_clients = find_number(info, "\nmaxclients:");
	self->replicas = find_number(info, "\nconnected_slaves:");
	self->logs = strstr(info, "\naof_enabled:1") != NULL;
	self->cannot_write = strstr(info, "\nrdb_last_bgsave_status:err") != NULL ||
			     strstr(info, "\naof_last_write_status:err") != NULL;
}

static int on_server(struct weir__picture *picture, const struct node *node)
{
	char replicas[40] = "without a replica";

	if (node->self.replicas > 0)
		weir__format(replicas, sizeof(replicas), "with %llu replica%s",
			     (unsigned long long)node->self.replicas,
			     node->self.replicas == 1 ? "" : "s");
	return weir__picture_remark(picture, false, "server", "%s is Redis %s, %s", node->where,
				    node->self.version, replicas);
}

static int on_disk(struct weir__picture *picture, const struct node *node)
{
	if (node->self.cannot_write)
		return weir__picture_remark(picture, true, "disk",
					    "%s could not write to its disk the last time, and may "
					    "take no orders until it can: see its log",
					    node->where);
	if (node->redis->durable && !node->durable)
		return weir__picture_remark(picture, true, "disk",
					    "failover=durable is in vain: %s must have appendonly "
					    "yes and appendfsync always, and let this user look "
					    "by CONFIG GET",
					    node->where);
	if (node->durable)
		return weir__picture_remark(picture, false, "disk",
					    "%s loses nothing that was answered when it is started "
					    "again",
					    node->where);
	if (node->self.logs)
		return weir__picture_remark(
			picture, false, "disk",
			"%s may lose the last second when it is started again%s", node->where,
			remark_after_loss(node->redis->desk.go_on));
	return weir__picture_remark(picture, true, "disk",
				    "%s may forget everything when it is started again, and who "
				    "has not known it before is granted at once: set appendonly "
				    "yes there",
				    node->where);
}

static bool is_nearly_full(uint64_t used, uint64_t most)
{
	return most > 0 && used * 100 >= most * NEARLY_FULL;
}

static int on_memory(struct weir__picture *picture, const struct node *node)
{
	const struct self *self = &node->self;

	if (!is_nearly_full(self->memory, self->most_memory))
		return 0;
	return weir__picture_remark(picture, true, "memory",
				    "%s uses %llu of %llu bytes, and when they are full nobody "
				    "gets a permit: raise its maxmemory",
				    node->where, (unsigned long long)self->memory,
				    (unsigned long long)self->most_memory);
}

static int on_clients(struct weir__picture *picture, const struct node *node)
{
	const struct self *self = &node->self;

	if (!is_nearly_full(self->clients, self->most_clients))
		return 0;
	return weir__picture_remark(picture, true, "clients",
				    "%s has %llu of at most %llu clients, and turns away those who "
				    "come then: raise its maxclients",
				    node->where, (unsigned long long)self->clients,
				    (unsigned long long)self->most_clients);
}

static int on_reach(struct weir__picture *picture, const struct node *node)
{
	const struct weir__address *address = &node->address;
	struct weir__reach reach = {
		.where = node->where,
		.hosts = address->host,
		.tls = address->master != NULL ? "rediss+sentinel:" : "rediss:",
		.encrypted = address->tls,
		.has_password = address->password != NULL,
		.is_open = address->password == NULL && address->cert_file == NULL,
		.goes_on = node->redis->desk.go_on,
	};

	return weir__remark_reach(picture, &reach);
}

int weir__redis_remark(const struct redis *redis, struct weir__picture *picture)
{
	static int (*const on_all[])(struct weir__picture * picture, const struct node *node) = {
		on_server, on_disk, on_memory, on_clients, on_reach,
	};
	int error = 0;

	for (size_t i = 0; i < redis->n_nodes; i++) {
		const struct node *node = redis->nodes[i];

		if (!node->server.ready || (redis->slots != NULL && !node->serves))
			continue;
		for (size_t k = 0; k < sizeof(on_all) / sizeof(on_all[0]) && error == 0; k++)
			error = on_all[k](picture, node);
	}
	return error;
}
