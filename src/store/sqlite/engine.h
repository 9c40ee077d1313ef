/* store/sqlite: one file, for the processes of one machine. */
#ifndef WEIR_STORE_SQLITE_ENGINE_H
#define WEIR_STORE_SQLITE_ENGINE_H

#include "lease/engine.h"

extern const struct weir__engine weir__sqlite_engine;

#endif
