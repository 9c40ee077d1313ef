/* model: memory that knows when it is dead.
 *
 * The program's shared objects live in a small arena; each thread has a stack. What is freed, and
 * what lies below the stack pointer of a thread that has stopped, is filled with poison: steps that
 * touch it are reported, plain reads find garbage, plain writes are found out later. */
#ifndef MODEL_MEMORY_H
#define MODEL_MEMORY_H

#include "model/world.h"

void memory_init(void);
void memory_reset(void);
char *memory_stack_top(int strand);

void *memory_alloc(size_t size);
void memory_free(void *block);

/* Whether it is in the arena. */
bool memory_is_shared(const void *p);

/* NULL when these bytes are in use, else why not. */
const char *memory_fault(const void *p, size_t size);

/* Poisons the stack below its caller. What calls leave there shows through in the padding of later
 * frames, and makes equal states look different. */
void memory_scrub(void);

/* Poisons what a strand that has just stopped left below its stack pointer; or all of its stack. */
void memory_bury(int strand);
void memory_bury_all(int strand);

/* Fails when anybody wrote where the strand, or the arena, has nothing. */
void memory_check_stack(int strand);
void memory_check_arena(void);

/* Which strand's stack it is; -1 for none. */
int memory_stack_of(const void *p);

#endif
