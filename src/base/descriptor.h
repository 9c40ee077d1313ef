/* base: file descriptors. */
#ifndef WEIR_BASE_DESCRIPTOR_H
#define WEIR_BASE_DESCRIPTOR_H

/* Closes one; none (-1) is fine. */
void weir__descriptor_close(int fd);

#endif
