"""Links a program of the build anew, with one of its sources seeded.

Ninja tells by which commands the program comes about. The commands that compile what the bug has changed are run
again on the copy of the sources; the command that links the program is run again with these objects in the place
of its own, or before its libraries: a member of an archive is taken only for symbols that are still missing. All
the rest is what the build has made, so the same program without the bug is the one that its own suite runs.
"""

import os
import pathlib
import re
import shlex
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
COPIED = ("include", "src")
ARGUMENTS_OF_DEPENDENCIES = {"-MD": 1, "-MQ": 2, "-MF": 2}


def ninja(build, *arguments):
    return subprocess.run(["ninja", "-C", build, *arguments], check=True, capture_output=True, text=True).stdout


def make_build(directory, target, compiler):
    """Builds the target from the unchanged sources, for one who has no build directory at hand."""
    print(f"building {target}")
    subprocess.run(["meson", "setup", directory, ROOT, "-Dtests=enabled", "-Dbench=false"], check=True,
                   stdout=subprocess.DEVNULL, env={**os.environ, "CC": compiler})
    ninja(directory, target)


def copy_sources(copy):
    for part in COPIED:
        shutil.copytree(ROOT / part, copy / part)


class Program:
    def __init__(self, build, target):
        if "no work to do" not in ninja(build, "-n", target):
            raise SystemExit(f"{build} is not up to date: run ninja -C {build} {target}")
        self.build = pathlib.Path(build).resolve()
        self.target = target
        self.commands = [shlex.split(line) for line in ninja(build, "-t", "commands", target).splitlines()]
        self.link = self.commands[-1]
        if self.output(self.link) != target:
            raise SystemExit(f"{target}: its last command is another's: {' '.join(self.link)}")

    @staticmethod
    def output(command):
        return command[command.index("-o") + 1] if "-o" in command else None

    def resolve(self, word):
        return pathlib.Path(os.path.normpath(self.build / word))

    def in_copy(self, copy, word):
        """The same word about the copy, where it is about a copied source or the directory of such."""
        option = "-I" if word.startswith("-I") else ""
        path = self.resolve(word[len(option):])
        if any(path.is_relative_to(ROOT / part) for part in COPIED):
            return option + str(copy / path.relative_to(ROOT))
        return word

    def compilations(self, source):
        return [c for c in self.commands if "-c" in c and (source is None or self.resolve(c[-1]) == source)]

    def changed(self, copy, file):
        """The commands that compile what a change of `file` changes."""
        source = ROOT / file
        if source.suffix == ".h":
            return self.compilations(None)
        if source.suffix == ".lua":
            (embed,) = [c for c in self.commands if self.resolve(c[0]) == ROOT / "tools/embed_lua.py"]
            scripts = copy / "scripts.c"
            subprocess.run([*(self.in_copy(copy, word) for word in embed[:-1]), scripts], cwd=self.build, check=True)
            return [[*c[:-1], str(scripts)] for c in self.compilations(self.resolve(embed[-1]))]
        return self.compilations(source)

    def compile(self, copy, command, output):
        words, skip = [], 0
        for word in command:
            skip = skip or ARGUMENTS_OF_DEPENDENCIES.get(word, 0)
            if not skip:
                words.append(self.in_copy(copy, word))
            skip = max(skip - 1, 0)
        words[words.index("-o") + 1] = str(output)
        subprocess.run([*words, "-w"], cwd=self.build, check=True)  # a bug may well deserve a warning

    def seed(self, copy, file, program):
        """Makes `program` from what the build has, and from what `file` of the copy changes."""
        commands = self.changed(copy, file)
        if not commands:
            raise SystemExit(f"{file} is no part of {self.target}")
        link, replaced = list(self.link), []
        link[link.index("-o") + 1] = str(program)
        libraries = max(i for i, word in enumerate(link) if word.endswith(".o")) + 1
        for number, command in enumerate(commands):
            ours, theirs = copy / f"seeded{number}.o", self.output(command)
            self.compile(copy, command, ours)
            if theirs in link:
                link[link.index(theirs)] = str(ours)
            else:  # in a library: it is behind the program's own objects, as before
                link.insert(libraries, str(ours))
                libraries += 1
            replaced.append(pathlib.Path(theirs).name)
        subprocess.run([*link, f"-Wl,-Map={copy}/map"], cwd=self.build, check=True)
        check_map((copy / "map").read_text(), replaced)


def check_map(linked, replaced):
    """The seeded objects are in the program, and none of those they stand for."""
    for number, theirs in enumerate(replaced):
        if f"/seeded{number}.o" not in linked or re.search(rf"[/(]{re.escape(theirs)}\b", linked):
            raise SystemExit(f"the linker did not take the seeded object in the place of {theirs}")
