/* cli: weir-cp, which is weir cp under a name of its own. */
#include "cli/cp.h"

int main(int argc, char **argv)
{
	return weir__cli_cp(argc, argv);
}
