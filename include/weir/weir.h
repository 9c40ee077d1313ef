/* weir/weir.h - all of libweir in one include. */
#ifndef WEIR_WEIR_H
#define WEIR_WEIR_H

#include <weir/base.h>
#include <weir/sem.h>
#include <weir/task.h>

#endif
