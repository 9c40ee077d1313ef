/* bench: see redis_load.h.
 *
 * The commands are those that the library sends: the server's MONITOR says what it got. Only the
 * token differs, which is the last argument of both. */
#include "redis_load.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <weir/base.h>

enum { CONNECTIONS = 50, PIPELINE = 16, TOKEN = 16, ROOM = 1 << 16 };

struct bytes {
	char at[ROOM];
	size_t size;
};

static void check(int good, const char *what)
{
	if (!good) {
		fprintf(stderr, "bench: %s\n", what);
		exit(1);
	}
}

static void add(struct bytes *to, const void *from, size_t size)
{
	check(to->size + size <= ROOM, "room");
	memcpy(to->at + to->size, from, size);
	to->size += size;
}

static void add_part(struct bytes *to, const char *part, size_t size)
{
	char head[32];

	add(to, head, (size_t)snprintf(head, sizeof(head), "$%zu\r\n", size));
	add(to, part, size);
	add(to, "\r\n", 2);
}

/* ---- what the library sends ------------------------------------------------------------------ */

/* One argument as MONITOR prints it, from after its first quote on. Returns what follows the last.
 */
static const char *read_quoted(const char *text, struct bytes *ret)
{
	ret->size = 0;
	for (; *text != '"'; text++) {
		char byte = *text;

		check(byte != '\0', "MONITOR");
		if (byte == '\\') {
			char hex[3] = { text[1], text[2], '\0' };

			byte = *++text;
			if (byte == 'x') {
				snprintf(hex, sizeof(hex), "%.2s", text + 1);
				byte = (char)strtoul(hex, NULL, 16);
				text += 2;
			} else {
				const char *from = "nrtab", *to = "\n\r\t\a\b";
				const char *found = strchr(from, byte);

				byte = found != NULL ? to[found - from] : byte;
			}
		}
		add(ret, &byte, 1);
	}
	return text + 1;
}

/* The command of one line, but for its token: that is to be put at the end. */
static void read_command(const char *line, struct bytes *ret)
{
	struct bytes *part = malloc(sizeof(*part));
	struct bytes *parts = malloc(sizeof(*parts));
	size_t last = 0;
	int n = 0;
	char head[32];

	check(part != NULL && parts != NULL, "memory");
	parts->size = 0;
	for (const char *at = strchr(line, '"'); at != NULL && *at == '"'; n++) {
		at = read_quoted(at + 1, part);
		last = parts->size;
		add_part(parts, part->at, part->size);
		at = *at == ' ' ? at + 1 : NULL;
	}
	check(part->size == TOKEN, "a token at the end");
	ret->size = 0;
	add(ret, head, (size_t)snprintf(head, sizeof(head), "*%d\r\n", n));
	add(ret, parts->at, last);
	free(part);
	free(parts);
}

static void read_line(int fd, char *line, size_t room)
{
	size_t size = 0;

	do
		check(size + 1 < room && read(fd, line + size, 1) == 1, "MONITOR");
	while (line[size++] != '\n');
	line[size] = '\0';
}

/* The second pair's commands: the first one may have had to load the scripts. */
static void watch(int fd, void (*pair)(void *), void *arg, struct bytes commands[2])
{
	static char line[ROOM];

	check(write(fd, "*1\r\n$7\r\nMONITOR\r\n", 17) == 17, "MONITOR");
	read_line(fd, line, sizeof(line));
	pair(arg);
	pair(arg);
	for (int seen = 0; seen < 4;) {
		read_line(fd, line, sizeof(line));
		if (strstr(line, "\"EVAL") == NULL)
			continue;
		if (seen >= 2)
			read_command(line, &commands[seen - 2]);
		seen++;
	}
}

/* ---- sending it ------------------------------------------------------------------------------ */

static void send_batch(int fd, const struct bytes commands[2], uint64_t *token)
{
	static struct bytes batch;

	batch.size = 0;
	for (int i = 0; i < PIPELINE; i++) {
		char text[TOKEN + 1];

		/* An acquire, and its release. */
		*token += i % 2 == 0;
		snprintf(text, sizeof(text), "%016llx", (unsigned long long)*token);
		add(&batch, commands[i % 2].at, commands[i % 2].size);
		add_part(&batch, text, TOKEN);
	}
	check(send(fd, batch.at, batch.size, MSG_NOSIGNAL) == (ssize_t)batch.size, "send");
}

/* How many whole replies there are, each a number or a text; what is left stays. */
static int count_replies(struct bytes *in)
{
	size_t at = 0;
	int count = 0;

	while (at < in->size) {
		const char *line = in->at + at;
		const char *end = memchr(line, '\n', in->size - at);
		size_t next;

		if (end == NULL)
			break;
		check(line[0] == '$' || (line[0] == ':' && line[1] != '-'), "refused");
		next = (size_t)(end + 1 - in->at);
		if (line[0] == '$')
			next += strtoul(line + 1, NULL, 10) + 2;
		if (next > in->size)
			break;
		at = next;
		count++;
	}
	in->size -= at;
	memmove(in->at, in->at + at, in->size);
	return count;
}

double redis_load(int (*dial)(void), void (*pair)(void *arg), void *arg, int count)
{
	static struct bytes commands[2];
	static struct bytes in[CONNECTIONS]; /* all of it is read before this ends */
	struct pollfd fds[CONNECTIONS];
	int missing[CONNECTIONS];
	int monitor = dial();
	int sent = 0, done = 0;
	uint64_t token = 0;
	weir_time begun;

	watch(monitor, pair, arg, commands);
	close(monitor);
	for (int i = 0; i < CONNECTIONS; i++)
		fds[i] = (struct pollfd){ .fd = dial(), .events = POLLIN };
	begun = weir_now();
	for (int i = 0; i < CONNECTIONS; i++, sent += PIPELINE) {
		send_batch(fds[i].fd, commands, &token);
		missing[i] = PIPELINE;
	}
	while (done < sent) {
		check(poll(fds, CONNECTIONS, -1) > 0, "poll");
		for (int i = 0; i < CONNECTIONS; i++) {
			ssize_t size;
			int replies;

			if (fds[i].revents == 0)
				continue;
			size = recv(fds[i].fd, in[i].at + in[i].size, ROOM - in[i].size, 0);
			check(size > 0, "recv");
			in[i].size += (size_t)size;
			replies = count_replies(&in[i]);
			missing[i] -= replies;
			done += replies;
			if (missing[i] == 0 && sent < 2 * count) {
				send_batch(fds[i].fd, commands, &token);
				missing[i] = PIPELINE;
				sent += PIPELINE;
			}
		}
	}
	for (int i = 0; i < CONNECTIONS; i++)
		close(fds[i].fd);
	return done / 2 / ((double)(weir_now() - begun) / 1e9);
}
