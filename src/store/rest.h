/* store: calls that cannot be answered just now, though their server can answer others. */
#ifndef WEIR_STORE_REST_H
#define WEIR_STORE_REST_H

#include "store/call.h"

/* One that is to do rests until a time, or is refused if it has rested often enough. */
void weir__rest_call(struct call *call, weir_time until, const char *why);

/* The same of those that were asked together, and taken back; whoever of them only asked whether it
 * was granted asks again in a heartbeat. Until when they rest. */
weir_time weir__rest_calls(struct desk *desk, struct call *const *calls, size_t n, const char *why);

/* For the engine's function of desk.wake_up: those who have rested are to do. */
void weir__rest_over(struct desk *desk);

#endif
