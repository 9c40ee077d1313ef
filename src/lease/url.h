/* lease: the URL of a store, taken apart. */
#ifndef WEIR_LEASE_URL_H
#define WEIR_LEASE_URL_H

#include "lease/engine.h"

/* Takes it apart; what it points to is one allocation, in *ret_text, for weir__free. 0; -EINVAL and
 * a sentence; -ENOMEM. */
int weir__url_parse(const char *text, struct weir__url *ret_url, char **ret_text);

/* Whether the engine knows the options that are not every engine's. 0; -EINVAL and a sentence. */
int weir__url_check(const struct weir__url *url, const struct weir__engine *engine);

#endif
