/* store/postgres: the engines of postgres: and postgresql:. See weir-postgres(7). */
#ifndef WEIR_STORE_POSTGRES_ENGINE_H
#define WEIR_STORE_POSTGRES_ENGINE_H

#include "lease/engine.h"

extern const struct weir__engine weir__postgres_engine;
extern const struct weir__engine weir__postgresql_engine;

#endif
