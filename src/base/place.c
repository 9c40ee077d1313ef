/* base: files that were loaded. */
#include "base/place.h"

#include "base/print.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <link.h>

/* Not dladdr, which takes a lock that a thread in a signal handler may have; and the start of the
 * file in memory, which that tells, is not what addresses of a program at a fixed place count from.
 */
uintptr_t weir__place_in_file(const void *place, const char **file)
{
	uintptr_t offset = (uintptr_t)place;

	*file = NULL;
#ifdef DLFO_STRUCT_HAS_EH_DBASE
	struct dl_find_object found;

	if (_dl_find_object((void *)(uintptr_t)place, &found) == 0) {
		const char *name = found.dlfo_link_map->l_name;

		*file = name && *name ? name : "the program";
		offset -= found.dlfo_link_map->l_addr;
	}
#endif
	return offset;
}

void weir__print_place(FILE *stream, void *place)
{
	Dl_info info = { 0 };
	const char *file;
	uintptr_t offset = weir__place_in_file(place, &file);

	(void)dladdr(place, &info);
	if (info.dli_sname)
		weir__print(stream, "%s+0x%tx", info.dli_sname,
			    (char *)place - (char *)info.dli_saddr);
	else if (file)
		weir__print(stream, "%s+0x%" PRIxPTR, file, offset);
	else if (info.dli_fname)
		weir__print(stream, "%s+0x%tx", info.dli_fname,
			    (char *)place - (char *)info.dli_fbase);
	else
		weir__print(stream, "%p", place);
}
