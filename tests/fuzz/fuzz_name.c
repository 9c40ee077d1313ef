/* fuzz: a name is accepted exactly when it is 1 to 200 of the allowed bytes. */
#include "fuzz/fuzz.h"

#include <weir/store.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				      "0123456789-_:/.";
	char *text = fuzz_text(data, size);
	size_t length = strlen(text);

	REQUIRE(weir_name_valid(text) ==
		(length >= 1 && length <= WEIR_NAME_MAX && strspn(text, allowed) == length));
	free(text);
	return 0;
}
