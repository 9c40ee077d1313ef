"""Every header compiles alone: a public one as C11 and as C++17, a private one as the C we write.

Uses whichever of gcc and clang is there.
"""

import shutil
import subprocess

from lint import PUBLIC_HEADERS, ROOT, report, skip

WARNINGS = ["-pedantic", "-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Werror"]
PUBLIC = [("c", "c11"), ("c++", "c++17")]
COMPILERS = {"c": ["gcc", "clang"], "c++": ["g++", "clang++"]}


def compile_alone(compiler, language, standard, include, *flags):
    """What the compiler says of a file that consists of this include, twice; nothing if all is well."""
    command = [compiler, "-x", language, f"-std={standard}", "-fsyntax-only", *WARNINGS, *flags, "-"]
    source = f"#include {include}\n" * 2 + "extern int not_empty;\n"
    done = subprocess.run(command, input=source, text=True, capture_output=True, check=False)
    if done.returncode == 0:
        return []
    return [f"{include} alone, {compiler} -std={standard}:\n{done.stderr}"]


def library_flags():
    """Where the headers of the libraries are that have a directory of their own."""
    if shutil.which("pkg-config") is None:
        return []
    done = subprocess.run(["pkg-config", "--cflags", "libpq"], text=True, capture_output=True,
                          check=False)
    return done.stdout.split()


def main():
    problems, count = [], 0
    include = f"-I{ROOT / 'include'}"
    for language, standard in PUBLIC:
        for compiler in filter(shutil.which, COMPILERS[language]):
            for header in PUBLIC_HEADERS:
                problems += compile_alone(
                    compiler, language, standard, f"<weir/{header.name}>", include
                )
                count += 1
    for compiler in filter(shutil.which, COMPILERS["c"]):
        for header in sorted((ROOT / "src").rglob("*.h")):
            name = f'"{header.relative_to(ROOT / "src")}"'
            flags = [include, f"-I{ROOT / 'src'}", "-D_GNU_SOURCE", "-Wno-pedantic",
                     *library_flags()]
            problems += compile_alone(compiler, "c", "gnu11", name, *flags)
            count += 1
    if count == 0:
        skip("neither gcc nor clang is installed")
    report(problems, f"{count} compilations")


main()
