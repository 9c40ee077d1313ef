/* store/redis: numbers as the scripts pack them: eight bytes each, a double, little-endian. */
#ifndef WEIR_STORE_REDIS_PACKED_H
#define WEIR_STORE_REDIS_PACKED_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

enum { WEIR__PACKED = 8 };

/* The i-th of them; 0 if it is none of ours, which must not be converted. */
static inline int64_t weir__packed_number(const char *packed, size_t i)
{
	const double most = 9007199254740992.0;
	uint64_t bits;
	double number;

	memcpy(&bits, packed + WEIR__PACKED * i, sizeof(bits));
	bits = le64toh(bits);
	memcpy(&number, &bits, sizeof(number));
	return number >= -most && number <= most ? (int64_t)number : 0;
}

/* Returns where the next one goes. */
static inline char *weir__pack_number(char *to, int64_t value)
{
	double number = (double)value;
	uint64_t bits;

	memcpy(&bits, &number, sizeof(bits));
	bits = htole64(bits);
	memcpy(to, &bits, sizeof(bits));
	return to + WEIR__PACKED;
}

#endif
