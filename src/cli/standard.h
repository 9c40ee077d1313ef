/* cli: standard input, output and error, for weir and for weir-cp. */
#ifndef WEIR_CLI_STANDARD_H
#define WEIR_CLI_STANDARD_H

/* Takes the place of those that are closed. 0 or -1. */
int take_closed_descriptors(void);

#endif
