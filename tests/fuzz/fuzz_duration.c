/* fuzz: a duration is a number of nanoseconds, never negative; a number is within its bounds. */
#include "base/parse.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	weir_time duration = -7;
	uint32_t number = 0;

	if (weir__duration_parse(text, &duration) == 0)
		REQUIRE(duration >= 0);
	else
		REQUIRE(duration == -7); /* untouched */
	if (weir__number_parse(text, 3, 1000, &number) == 0)
		REQUIRE(number >= 3 && number <= 1000);
	free(text);
	return 0;
}
