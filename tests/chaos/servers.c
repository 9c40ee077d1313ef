/* chaos: what is said to Redis servers beside the store. See servers.h. */
#include "chaos/servers.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

static const char *place;

void servers_are_in(const char *directory)
{
	place = directory;
}

const char *cli(int server, const char *format, ...)
{
	static char answer[16384];
	char command[1200], number[16] = "";
	int size;
	va_list arguments;
	size_t read;
	FILE *pipe;

	if (server >= 0)
		(void)snprintf(number, sizeof(number), "%d/", server);
	size = snprintf(command, sizeof(command), "redis-cli -s %s/%ss ", place, number);
	va_start(arguments, format);
	(void)vsnprintf(command + size, sizeof(command) - (size_t)size, format, arguments);
	va_end(arguments);
	pipe = popen(command, "re");
	if (pipe == NULL) {
		perror("popen");
		exit(3);
	}
	read = fread(answer, 1, sizeof(answer) - 1, pipe);
	answer[read > 0 ? read - 1 : 0] = '\0';
	(void)pclose(pipe);
	return answer;
}

long number_in(const char *answer, const char *key)
{
	const char *at = strstr(answer, key);

	return at != NULL ? strtol(at + strlen(key), NULL, 10) : 0;
}

uint16_t port_of(int server)
{
	return (uint16_t)number_in(cli(server, "config get port"), "port\n");
}

int kill_server(int server)
{
	long pid = number_in(cli(server, "info server"), "process_id:");

	return pid > 0 && kill((pid_t)pid, SIGKILL) == 0;
}

void await_replica(int master)
{
	const char *info = cli(master, "info replication");

	while (number_in(info, "connected_slaves:") < 1 ||
	       number_in(info, ",offset=") < number_in(info, "master_repl_offset:")) {
		nap(10);
		info = cli(master, "info replication");
	}
}
