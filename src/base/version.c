/* base: which version this is. The build says it (WEIR_VERSION), so that it is written once. */
#include <weir/base.h>

const char *weir_version(void)
{
	return WEIR_VERSION;
}
