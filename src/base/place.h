/* base: where an instruction is from. */
#ifndef WEIR_BASE_PLACE_H
#define WEIR_BASE_PLACE_H

#include <stdint.h>
#include <stdio.h>

/* How far into its file a place is, as addr2line counts that, and in *file the file's name; where
 * the file is not known, the bare address and NULL. A signal handler may ask. */
uintptr_t weir__place_in_file(const void *place, const char **file);

/* Prints its function, if that has a name at run time, or else its file, and how far into it. */
void weir__print_place(FILE *stream, void *place);

#endif
