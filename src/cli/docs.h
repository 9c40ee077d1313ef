/* cli: what weir-docs writes for shells. */
#ifndef WEIR_CLI_DOCS_H
#define WEIR_CLI_DOCS_H

/* To standard output; 0. */
int write_bash(void);
int write_zsh(void);

#endif
