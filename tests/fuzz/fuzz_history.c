/* fuzz: a file that says it is a history is read or refused, and what was read can be checked. */
#include "chaos/history.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FILE *file = size > 0 ? fmemopen((void *)(uintptr_t)data, size, "r") : NULL;
	struct history history = { .slack = 10 };
	struct history_report report;
	size_t line;

	if (file == NULL)
		return 0;
	if (history_read(file, &history, &line) == 0) {
		REQUIRE(history_check(&history, &report) == 0);
		free(history.ops);
	}
	(void)fclose(file);
	return 0;
}
