/* model: small programs of which it is known what the explorer must find. */
#ifndef MODEL_TOYS_H
#define MODEL_TOYS_H

#include "model/engine.h"

/* Wrong ones. */
extern const struct model toy_check_then_act, toy_lost_wake, toy_use_after_free,
	toy_write_after_free, toy_use_after_return, toy_write_after_return, toy_double_free,
	toy_crash, toy_endless, toy_livelock, toy_held_twice, toy_bad_count;

/* Right ones, whose possible ends are known. */
extern const struct model toy_store_buffering, toy_store_buffering_ordered, toy_message_passing,
	toy_wake_any, toy_signal, toy_timeout;

/* Those that leave a result in the words that follow. */
enum { TOY_X, TOY_Y, TOY_R0, TOY_R1 };

#endif
