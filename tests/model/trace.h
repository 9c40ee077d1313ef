/* model: an execution as a person can read it. */
#ifndef MODEL_TRACE_H
#define MODEL_TRACE_H

#include "model/engine.h"

/* The step that `thread` has just taken, from engine.step and engine.before. */
void trace_step(const struct thread *thread);

/* Something that happened without a step. */
void trace_event(const struct move *move);

#endif
