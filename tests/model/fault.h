/* model: crashes and endless loops become failures that can be replayed. */
#ifndef MODEL_FAULT_H
#define MODEL_FAULT_H

void fault_init(void);

#endif
