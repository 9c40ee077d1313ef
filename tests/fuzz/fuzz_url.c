/* fuzz: a URL is taken apart or refused with a sentence; the bounds that come out make sense. */
#include "fuzz/fuzz.h"
#include "lease/url.h"

#include "base/alloc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	char *parts = NULL;
	struct weir__url url;

	if (weir__url_parse(text, &url, &parts) == 0) {
		REQUIRE(url.scheme != NULL && url.rest != NULL && parts != NULL);
		REQUIRE(url.bounds.min_ttl > 0 && url.bounds.min_ttl <= url.bounds.max_ttl);
		REQUIRE(url.bounds.default_ttl >= url.bounds.min_ttl);
		REQUIRE(url.bounds.default_ttl <= url.bounds.max_ttl);
		REQUIRE(url.bounds.heartbeat > 0 && url.bounds.max_limit >= 1);
		weir__free(parts);
	} else {
		REQUIRE(weir_store_error(NULL)[0] != '\0');
	}
	free(text);
	return 0;
}
