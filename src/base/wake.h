/* base: how long it takes to wake a thread that sleeps.
 *
 * Who watches before he sleeps does so for as long as it would take to wake him: never much worse
 * than twice the best choice. That is a few microseconds where the other processor is awake, a
 * hundred where it has to be woken, too, and some thousand where it is a virtual one and its host
 * has given the real one to somebody else. Two who hand over to each other and watch for less than
 * that, once asleep, find each other asleep for ever. So it is measured whenever it happens. */
#ifndef WEIR_BASE_WAKE_H
#define WEIR_BASE_WAKE_H

#include <stdint.h>

/* By the one who is about to wake another thread. */
void weir__wake_begins(void);

/* By the one who was woken and began to sleep at `slept_at`, in ticks. Returns after how many ticks
 * the other one began to wake him; very many, if that is not known. */
uint64_t weir__wake_ended(uint64_t slept_at);

/* What it took lately, in ticks; 0 when it has not happened yet. */
uint64_t weir__wake_ticks(void);

#endif
