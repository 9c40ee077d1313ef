/* model: programs that nobody wrote, one for each number. */
#ifndef MODEL_GENERATED_H
#define MODEL_GENERATED_H

#include "model/engine.h"

#include <stdio.h>

/* The program of this number and the environment to explore it in. The one before is gone. */
const struct model *generated_model(uint64_t number, unsigned *ret_environment);

/* The present one: its number, and itself, written down. */
uint64_t generated_number(void);
void generated_print(FILE *file);

#endif
