/* fuzz: feeds a target with made-up bytes, where there is no libFuzzer. Understands
 * -max_total_time=N as that does. */
#include "fuzz/fuzz.h"
#include "support/stress.h"

#include <stdio.h>

int main(int argc, char **argv)
{
	static const char words[] =
		"sqlite:memory:?min_ttl=max_ttlmax_limit=1s30ms5m1h&/._-0123456789";
	uint8_t bytes[512];
	struct rng rng = { 1 };
	weir_time end = weir_after(WEIR_SECOND);
	uint64_t runs = 0;

	if (argc > 1 && strncmp(argv[1], "-max_total_time=", 16) == 0)
		end = weir_after(atoi(argv[1] + 16) * WEIR_SECOND);
	for (; weir_now() < end; runs++) {
		size_t size = rng_below(&rng, sizeof(bytes));
		bool text = rng_one_in(&rng, 2);

		for (size_t i = 0; i < size; i++)
			bytes[i] = text ? (uint8_t)words[rng_below(&rng, sizeof(words) - 1)] :
					  (uint8_t)rng_next(&rng);
		(void)LLVMFuzzerTestOneInput(bytes, size);
	}
	(void)printf("%llu runs\n", (unsigned long long)runs);
	return 0;
}
