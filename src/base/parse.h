/* base: numbers and durations as people write them. */
#ifndef WEIR_BASE_PARSE_H
#define WEIR_BASE_PARSE_H

#include <weir/base.h>

/* A duration: `30` and `30s` are seconds, `250ms`, `5m`, `1h`; a decimal fraction is fine (`0.5`,
 * `1.5h`), a sign or a blank is not. 0; -EINVAL: not understood; -ERANGE: too long for a weir_time.
 */
int weir__duration_parse(const char *text, weir_time *ret_duration);

/* A number from `least` to `most`, decimal digits alone. 0; -EINVAL; -ERANGE. */
int weir__number_parse(const char *text, uint32_t least, uint32_t most, uint32_t *ret_number);

#endif
