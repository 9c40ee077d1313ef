/* task_channel: producers and consumers with a bounded buffer between them.
 *
 * Two semaphores count the two things that somebody may have to wait for: room in the buffer, and
 * items in it. Full, it holds the producers back; empty, the consumers. */
#include <errno.h>
#include <stdio.h>
#include <weir/weir.h>

enum { ROOM = 4, PRODUCERS = 3, CONSUMERS = 2, EACH = 100 };

struct channel {
	struct weir_sem room;
	struct weir_sem items;
	intptr_t buffer[ROOM];
	unsigned put;
	unsigned taken;
};

static struct channel channel = { .room = WEIR_SEM_INIT(ROOM), .items = WEIR_SEM_INIT(ROOM) };

static int send(intptr_t item)
{
	int error = weir_sem_acquire(&channel.room, 1);

	if (error == 0) {
		channel.buffer[channel.put++ % ROOM] = item;
		weir_sem_release(&channel.items, 1);
	}
	return error;
}

static int receive(intptr_t *item)
{
	int error = weir_sem_acquire(&channel.items, 1);

	if (error == 0) {
		*item = channel.buffer[channel.taken++ % ROOM];
		weir_sem_release(&channel.room, 1);
	}
	return error;
}

static int producer(void *arg, intptr_t *value)
{
	int error = 0;

	(void)value;
	for (intptr_t i = 0; i < EACH && error == 0; i++)
		error = send((intptr_t)arg * EACH + i);
	return error;
}

/* Adds up what it receives until the channel is closed. */
static int consumer(void *arg, intptr_t *value)
{
	intptr_t item;
	int error;

	(void)arg;
	while ((error = receive(&item)) == 0)
		*value += item;
	return error == -ESHUTDOWN ? 0 : error;
}

static int channel_example(void *arg, intptr_t *value)
{
	struct weir_future *producers[PRODUCERS];
	struct weir_future *consumers[CONSUMERS];
	intptr_t sums[CONSUMERS] = { 0 };
	int error;

	(void)arg;
	/* A semaphore is born with all its permits free, but there are no items yet. */
	weir_sem_acquire(&channel.items, ROOM);
	for (intptr_t i = 0; i < PRODUCERS; i++)
		producers[i] = weir_spawn(producer, (void *)i);
	for (int i = 0; i < CONSUMERS; i++)
		consumers[i] = weir_spawn(consumer, NULL);

	error = weir_gather(producers, PRODUCERS, WEIR_NEVER, NULL);
	/* When all room is free again, everything has been received. */
	if (error == 0)
		error = weir_sem_acquire(&channel.room, ROOM);
	weir_sem_close(&channel.items);
	if (error == 0)
		error = weir_gather(consumers, CONSUMERS, WEIR_NEVER, sums);
	for (int i = 0; i < CONSUMERS; i++) {
		*value += sums[i];
		weir_future_unref(consumers[i]);
	}
	for (int i = 0; i < PRODUCERS; i++)
		weir_future_unref(producers[i]);
	return error;
}

int main(void)
{
	const intptr_t count = PRODUCERS * EACH;
	intptr_t sum = 0;
	int error = weir_run(channel_example, NULL, &(struct weir_run_config){ .value = &sum });

	if (error < 0)
		fprintf(stderr, "%s\n", weir_strerror(error));
	printf("%d items, sum %d\n", (int)count, (int)sum);
	return error == 0 && sum == count * (count - 1) / 2 ? 0 : 1;
}
