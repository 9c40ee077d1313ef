/* cli: the terminal of this process, for weir and for weir-cp. */
#ifndef WEIR_CLI_TERMINAL_H
#define WEIR_CLI_TERMINAL_H

#include <stdbool.h>

/* Whether this process is in the foreground of the terminal. */
bool in_foreground(int terminal);
/* Ends the process by a signal, if it is in the foreground of its terminal. tell_group: the others
 * of our process group have not seen that signal yet. Returns where it does not apply, or where the
 * signal is ignored. May be called in a handler, that of the signal, too. */
void die_on_terminal(int number, bool tell_group);

#endif
