/* store/redis: what a server says about itself. See identity.h. */
#include "store/redis/identity.h"

#include <string.h>

#include "base/print.h"

enum { OF_PROCESS = 20, OF_DATA = 12 }; /* hexadecimal digits that are kept of the 40 */

void weir__info_find(const char *info, const char *key, char word[WEIR__INFO_WORD])
{
	const char *at = strstr(info, key);
	size_t size = 0;

	if (at != NULL) {
		at += strlen(key);
		size = strcspn(at, "\r\n");
		size = size < WEIR__INFO_WORD ? size : WEIR__INFO_WORD - 1;
		memcpy(word, at, size);
	}
	word[size] = '\0';
}

void weir__info_identity(const char *info, char identity[WEIR__IDENTITY])
{
	char run[WEIR__INFO_WORD], data[WEIR__INFO_WORD];

	weir__info_find(info, "\nrun_id:", run);
	weir__info_find(info, "\nmaster_replid:", data);
	weir__format(identity, WEIR__IDENTITY, "%.*s%.*s", OF_PROCESS, run, OF_DATA, data);
}

bool weir__identity_same_process(const char *a, const char *b)
{
	return strncmp(a, b, OF_PROCESS) == 0;
}

bool weir__info_took_over(const char *info)
{
	char before[WEIR__INFO_WORD];

	weir__info_find(info, "\nmaster_replid2:", before);
	return strspn(before, "0") != strlen(before);
}

bool weir__info_is_master(const char *info)
{
	char role[WEIR__INFO_WORD];

	weir__info_find(info, "\nrole:", role);
	return strcmp(role, "master") == 0;
}
