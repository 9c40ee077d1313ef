"""A directory is a layer, and nobody reaches upward.

    layers.py LIBWEIR.A LIBWEIR-LEASE.A LIBWEIR-COPY.A

Three views of the same rule: what the sources include, which object file needs which other one, and
what the objects take from the C library. The second sees a function that somebody declared by hand
instead of including its header; the third sees a seam that somebody went around.
"""

import re
import sys
from collections import defaultdict

from lint import ROOT, report, run

# Each layer and the layers it stands on, its own included. sem and task are siblings.
BASE = {"base"}
PARK = BASE | {"park"}
SEM = PARK | {"sem"}
TASK = PARK | {"task"}
# An engine plugs into a table that lease owns, so store stands on lease. Both use libweir as anybody
# would, by its public headers, and share base with it.
LEASE = BASE | {"lease"}
STORE = LEASE | {"store"}
# io and copy are a library that knows the others by their public headers alone.
IO = {"io"}
COPY = IO | {"copy"}
# The commands are made of public headers alone.
CLI = {"cli"}
LAYERS = {"base": BASE, "park": PARK, "sem": SEM, "task": TASK, "lease": LEASE, "store": STORE,
          "io": IO, "copy": COPY, "cli": CLI}

# Only base calls the C library; an engine also calls what it is an engine of, and the copier's
# business is the kernel. What the compiler itself puts in is nobody's doing, and what only looks at
# the bytes it is given needs no seam.
HARMLESS = re.compile(
    r"memcpy|memmove|memset|memcmp|_GLOBAL_OFFSET_TABLE_|__stack_chk_fail"
    r"|__(memcpy|strncpy|strcpy)_chk|strlen|strcmp|strncmp|strchr|strncpy"
)
CALLS_OUT = {"base", "store", "io", "copy"}
# Libraries that stand on another use its public functions, whatever their layer.
ON_PUBLIC = {"lease", "store", "io", "copy"}
PUBLIC = re.compile(r"weir_[a-z]\w*")


def check_includes(problems):
    files = sorted((ROOT / "src").rglob("*.[ch]"))
    for file in files:
        name = file.relative_to(ROOT / "src")
        layer = name.parts[0]
        if layer not in LAYERS:
            problems.append(f"src/{name}: '{layer}' is not a layer")
            continue
        for number, line in enumerate(file.read_text().splitlines(), 1):
            match = re.match(r'\s*#\s*include\s*"([^"]+)"', line)
            if not match:
                continue
            target = match[1]
            if not (ROOT / "src" / target).is_file():
                problems.append(f'src/{name}:{number}: "{target}" is not a path below src/')
            elif target.split("/")[0] not in LAYERS[layer]:
                problems.append(f'src/{name}:{number}: {layer} must not include "{target}"')
    return len(files)


def read_objects(archive):
    """For each object of the archive, the symbols it defines and those it needs."""
    objects = defaultdict(lambda: (set(), set()))
    for line in run("nm", "-A", "--format=posix", archive).splitlines():
        match = re.match(r".*\[(\w+)\.[cS]\.o\]: (\S+) (\S)", line)
        if match:
            name, symbol, kind = match.groups()
            defines, needs = objects[name]
            if kind in "Uwv":
                needs.add(symbol)
            elif kind.isupper():
                defines.add(symbol)
    return objects


def find_cycle(graph):
    """One cycle as a list of nodes, or None."""
    done, path = set(), []

    def visit(node):
        if node in path:
            return path[path.index(node):] + [node]
        if node in done:
            return None
        path.append(node)
        for following in sorted(graph[node]):
            cycle = visit(following)
            if cycle:
                return cycle
        done.add(path.pop())
        return None

    for node in sorted(graph):
        cycle = visit(node)
        if cycle:
            return cycle
    return None


def check_objects(archives, problems):
    objects = {}
    for archive in archives:
        objects.update(read_objects(archive))
    owner = {symbol: name for name, (defines, _) in objects.items() for symbol in defines}
    graph = {name: set() for name in objects}
    for name, (_, needs) in objects.items():
        layer = name.split("_")[0]
        for symbol in sorted(needs):
            if symbol in owner:
                graph[name].add(owner[symbol])
                below = owner[symbol].split("_")[0] in LAYERS.get(layer, ())
                if not below and not (layer in ON_PUBLIC and PUBLIC.fullmatch(symbol)):
                    problems.append(f"{name}.c uses {symbol} of {owner[symbol]}.c, above it")
            elif layer not in CALLS_OUT and not HARMLESS.fullmatch(symbol):
                problems.append(f"{name}.c calls {symbol}(): that is for base to do")
    cycle = find_cycle(graph)
    if cycle:
        problems.append("objects need each other in a circle: " + " -> ".join(cycle))
    return len(graph)


def main():
    problems = []
    files = check_includes(problems)
    objects = check_objects(sys.argv[1:], problems)
    if objects < 2:
        problems.append(f"only {objects} objects found in {sys.argv[1:]}")
    report(problems, f"includes of {files} files, references of {objects} objects")


main()
