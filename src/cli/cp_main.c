/* cli: weir-cp(1): the program is one call. */
#include "cli/cp.h"

int main(int argc, char **argv)
{
	return weir__cli_cp(argc, argv);
}
