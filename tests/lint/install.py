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
        shared = run("pkg-config", "--cflags", "--libs", "weir", env=environment).split()
        static = ["-l:libweir.a" if flag == "-lweir" else flag for flag in shared]
        libraries = only(root, "libweir.a").parent

        for compiler in compilers:
            suffix = "cpp" if re.search(r"\+\+", compiler) else "c"
            source = Path(directory) / f"program.{suffix}"
            source.write_text(PROGRAM)
            for kind, flags in ("shared", shared), ("static", static):
                needed = use(compiler, source, source.with_suffix(f".{kind}"), flags, libraries)
                if ("libweir.so.0" in needed) != (kind == "shared"):
                    problems.append(f"{compiler}: not linked against the {kind} library")

        for header in PUBLIC_HEADERS:
            only(root, f"include/weir/{header.name}")
        pages = sorted((ROOT / "man").glob("*.[0-9]"))
        for page in pages:
            only(root, f"man{page.suffix[1:]}/{page.name}")
    report(problems, f"{len(compilers)} compilers, shared and static; {len(pages)} manual pages")


main()
