/* store/redis: replies. See reply.h. */
#include "store/redis/reply.h"

#include <stdlib.h>
#include <string.h>

enum {
	MOST_ELEMENTS = 1 << 20,
	MOST_BYTES = 1 << 20, /* of one text */
};

static struct weir__reply *new_reply(const redisReadTask *task)
{
	struct weir__reply *reply = malloc(sizeof(*reply)); /* calloc has no quick way */

	if (reply == NULL)
		return NULL;
	*reply = (struct weir__reply){ .type = task->type };
	if (task->parent != NULL) {
		struct weir__reply *parent = task->parent->obj;

		parent->elements[task->idx] = reply;
	}
	return reply;
}

/* Unhooks it again, so that whoever frees the parent does not free it twice. */
static void *no_reply(const redisReadTask *task, struct weir__reply *reply)
{
	if (task->parent != NULL)
		((struct weir__reply *)task->parent->obj)->elements[task->idx] = NULL;
	weir__reply_free(reply);
	return NULL;
}

static void *new_text(const redisReadTask *task, char *text, size_t size)
{
	struct weir__reply *reply = size <= MOST_BYTES ? new_reply(task) : NULL;

	if (reply == NULL)
		return NULL;
	reply->text = malloc(size + 1);
	if (reply->text == NULL)
		return no_reply(task, reply);
	memcpy(reply->text, text, size);
	reply->text[size] = '\0';
	reply->size = size;
	return reply;
}

static void *new_array(const redisReadTask *task, int elements)
{
	struct weir__reply *reply = elements <= MOST_ELEMENTS ? new_reply(task) : NULL;

	if (reply == NULL || elements <= 0)
		return reply;
	reply->elements = calloc((size_t)elements, sizeof(struct weir__reply *));
	if (reply->elements == NULL)
		return no_reply(task, reply);
	reply->size = (size_t)elements;
	return reply;
}

static void *new_integer(const redisReadTask *task, long long value)
{
	struct weir__reply *reply = new_reply(task);

	if (reply != NULL)
		reply->integer = value;
	return reply;
}

static void *new_nil(const redisReadTask *task)
{
	return new_reply(task);
}

static void free_object(void *object)
{
	weir__reply_free(object);
}

redisReplyObjectFunctions weir__reply_functions = {
	.createString = new_text,
	.createArray = new_array,
	.createInteger = new_integer,
	.createNil = new_nil,
	.freeObject = free_object,
};

void weir__reply_free(struct weir__reply *reply)
{
	if (reply == NULL)
		return;
	for (size_t i = 0; reply->elements != NULL && i < reply->size; i++)
		weir__reply_free(reply->elements[i]);
	free(reply->elements);
	free(reply->text);
	free(reply);
}

const struct weir__reply *weir__reply_at(const struct weir__reply *reply, size_t i)
{
	static char nothing[] = "";
	static const struct weir__reply nil = { .type = REDIS_REPLY_NIL, .text = nothing };

	if (reply->type != REDIS_REPLY_ARRAY || i >= reply->size || reply->elements[i] == NULL)
		return &nil;
	return reply->elements[i];
}

long long weir__reply_integer(const struct weir__reply *reply, size_t i)
{
	return weir__reply_at(reply, i)->integer;
}

bool weir__reply_is_error(const struct weir__reply *reply, const char *code)
{
	size_t size = strlen(code);

	return reply->type == REDIS_REPLY_ERROR && strncmp(reply->text, code, size) == 0 &&
	       (reply->text[size] == ' ' || reply->text[size] == '\0');
}
