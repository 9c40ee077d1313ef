"""What is installed can be used: by C and C++, against the shared and the static library.

    install.py MESON BUILD-DIRECTORY C-COMPILER [C++-COMPILER]
"""

import os
import re
import sys
import tempfile
from pathlib import Path

from lint import PUBLIC_HEADERS, ROOT, report, run

PROGRAM = """
#include <stdio.h>
#include <weir/weir.h>

static struct weir_sem sem = WEIR_SEM_INIT(2);

int main(void)
{
	int error;

	WEIR_HOLD(&sem, 2, &error) {
		if (weir_sem_try_acquire(&sem, 1) == 0)
			return 1;
	}
	puts(weir_version());
	return error != 0 || weir_sem_try_acquire(&sem, 2) != 0;
}
"""

LEASE_PROGRAM = """
#include <stdio.h>
#include <weir/lease.h>

int main(void)
{
	static struct weir_request request;
	struct weir_store *store;
	struct weir_lease *lease;

	request.name = "a";
	request.limit = 1;
	if (weir_store_open("memory:", &store) < 0 || weir_acquire(store, &request, &lease) < 0) {
		puts(weir_store_error(NULL));
		return 1;
	}
	weir_lease_unref(lease);
	weir_store_close(store);
	return 0;
}
"""

COPY_PROGRAM = """
#include <weir/copy.h>

int main(void)
{
	static struct weir_copy_config config;

	return weir_copy(&config, 0) < 0 ? 0 : 1;
}
"""

# Each library: its pkg-config module, its file, and a program that uses it.
LIBRARIES = {
    "weir": ("libweir", PROGRAM),
    "weir-lease": ("libweir-lease", LEASE_PROGRAM),
    "weir-copy": ("libweir-copy", COPY_PROGRAM),
}


def only(root, pattern):
    """The one file that matches."""
    found = sorted(root.rglob(pattern))
    if len(found) != 1:
        report([f"{len(found)} files installed as {pattern}, not 1"], "")
    return found[0]


def use(compiler, source, binary, flags, library_directory):
    """Compiles, runs, and says which shared libraries the program needs."""
    run(compiler, source, "-o", binary, "-Wall", "-Wextra", "-Werror", *flags)
    run(binary, env=os.environ | {"LD_LIBRARY_PATH": str(library_directory)}, timeout=60)
    return run("readelf", "-d", binary)


def main():
    meson, build, *compilers = sys.argv[1:]
    problems = []
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory) / "root"
        run(meson, "install", "-C", build, "--destdir", root, "--no-rebuild", "--quiet")
        pc_file = only(root, "weir.pc")
        environment = os.environ | {
            "PKG_CONFIG_PATH": str(pc_file.parent),
            "PKG_CONFIG_SYSROOT_DIR": str(root),
        }
        libraries = only(root, "libweir.a").parent
        for module, (library, program) in LIBRARIES.items():
            flags = run("pkg-config", "--cflags", "--libs", module, env=environment).split()
            private = run("pkg-config", "--libs", "--static", module, env=environment).split()
            static = [f"-l:lib{flag[2:]}.a" if flag.startswith("-lweir") else flag
                      for flag in flags + [f for f in private if f not in flags]]
            if not only(root, f"{module}.pc").is_file():
                problems.append(f"no {module}.pc")
            for compiler in compilers:
                suffix = "cpp" if re.search(r"\+\+", compiler) else "c"
                source = Path(directory) / f"{module}.{suffix}"
                source.write_text(program)
                for kind, words in ("shared", flags), ("static", static):
                    needed = use(compiler, source, source.with_suffix(f".{kind}"), words, libraries)
                    if (f"{library}.so.0" in needed) != (kind == "shared"):
                        problems.append(f"{compiler}: not linked against the {kind} {library}")
                    if "RUNPATH" in run("readelf", "-d", only(root, f"{library}.so.0.*")):
                        problems.append(f"{library}: a search path is built in")

        for header in PUBLIC_HEADERS:
            only(root, f"include/weir/{header.name}")
        pages = sorted((ROOT / "man").glob("*.[0-9]"))
        for page in pages:
            only(root, f"man{page.suffix[1:]}/{page.name}")
        # What is written from the tables of the command when it is built.
        for name in ("bin/weir", "man1/weir.1", "completions/weir.bash", "site-functions/_weir"):
            only(root, name)
        # They run wherever they are put.
        for command in ("weir", "weir-cp"):
            version = run(only(root, f"bin/{command}"), "--version")
            if not version.startswith("weir "):
                problems.append(f"the installed {command} does not say its version")
    report(problems, f"{len(compilers)} compilers, shared and static; {len(pages)} manual pages")


main()
