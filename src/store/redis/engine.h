/* store/redis: the engines of redis:, rediss:, redis+unix:, redis+sentinel: and rediss+sentinel:.
 * See weir-redis(7). */
#ifndef WEIR_STORE_REDIS_ENGINE_H
#define WEIR_STORE_REDIS_ENGINE_H

#include "lease/engine.h"

extern const struct weir__engine weir__redis_engine;
extern const struct weir__engine weir__rediss_engine;
extern const struct weir__engine weir__redis_unix_engine;
extern const struct weir__engine weir__redis_sentinel_engine;
extern const struct weir__engine weir__rediss_sentinel_engine;

#endif
