/* store/redis: what a server says about itself, in its answer to INFO. */
#ifndef WEIR_STORE_REDIS_IDENTITY_H
#define WEIR_STORE_REDIS_IDENTITY_H

#include <stdbool.h>

enum { WEIR__INFO_WORD = 64, WEIR__IDENTITY = 40 };

/* What follows `key`, which begins with a line's end, in its line; "" if there is none. */
void weir__info_find(const char *info, const char *key, char word[WEIR__INFO_WORD]);

/* Who it is: which process, and which history of its data. Another process may have lost something,
 * and so may one that was a replica in between. */
void weir__info_identity(const char *info, char identity[WEIR__IDENTITY]);

/* Whether two identities are of one process. */
bool weir__identity_same_process(const char *a, const char *b);

/* Whether its data were somebody else's: it was a replica, or was started with what one saved. */
bool weir__info_took_over(const char *info);

bool weir__info_is_master(const char *info);

#endif
