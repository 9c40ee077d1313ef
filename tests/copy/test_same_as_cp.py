"""C4, C7: on random trees of everything there is, the copy is the one that cp -a makes."""

import os
from pathlib import Path

from trees import Forest, compare, cp, done, manifest, place, run

VARIANTS = [
    [], ["--no-io-uring"], ["-j1"], ["-j2", "--threads", "1"], ["--threads", "7"],
    ["--copy-method", "read-write", "--buffer-size", "4096"], ["--copy-method", "copy-file-range"],
    ["--copy-method", "splice"], ["--max-bytes-in-flight", "1"], ["--verify"], ["--fsync"],
    ["--parallel-min-size", "50000", "--threads", "3"], ["--queue-depth", "1"],
]


def forget():
    """What was read comes from the disk again, where we may ask for that: opens and reads wait."""
    os.sync()
    try:
        Path("/proc/sys/vm/drop_caches").write_text("3\n", encoding="ascii")
    except OSError:
        print("the caches stay warm: may not drop them")


def allow_data(by_cp, source, copied):
    """cp makes a hole of a last block that is all zero: who has data there as the source does is right."""
    for path, fact in copied.items():
        kept = "holes" in fact and fact["holes"] == source.get(path, {}).get("holes")
        if kept and path in by_cp:
            by_cp[path]["holes"] = fact["holes"]


def edges(directory):
    """Files from the disk that end on, before and behind every border that reading knows."""
    source = f"{directory}/edges"
    os.mkdir(source)
    for border in (1, 512, 4096, 8192, 65536, 131072, 262144):
        for size in (border - 1, border, border + 1):
            Path(f"{source}/{size}").write_bytes(os.urandom(size))
    wanted = manifest(source)
    for number, options in enumerate(([], ["--verify"], ["-j1"], ["--buffer-size", "4096"])):
        forget()
        cp("-a", *options, source, f"{directory}/edges{number}")
        compare(wanted, manifest(f"{directory}/edges{number}"), f"edges {options}")


def main():
    seeds = int(os.environ.get("WEIR_SEEDS", "13"))
    first = int(os.environ.get("WEIR_SEED", "1"))
    for seed in range(first, first + seeds):
        with place() as directory:
            source = Forest(seed).grow(f"{directory}/source")
            wanted = manifest(source, atimes=True)
            options = VARIANTS[seed % len(VARIANTS)]
            finished = run("cp", "-a", source.decode(), f"{directory}/by-cp")
            assert finished.returncode == 0, finished.stderr
            by_cp = manifest(f"{directory}/by-cp")
            if seed % 4 == 0 or not options:
                forget()
            cp("-a", *options, source.decode(), f"{directory}/copy")
            copied = manifest(f"{directory}/copy")
            allow_data(by_cp, wanted, copied)
            compare(by_cp, copied, f"seed {seed} {options}")
            if seed % 3 == 0:  # and once more, onto itself
                cp("-a", *options, "-T", source.decode(), f"{directory}/copy")
                compare(by_cp, manifest(f"{directory}/copy"), f"seed {seed} {options}, again")
    with place() as directory:
        edges(directory)
    done(f"{seeds} trees from seed {first}")


main()
