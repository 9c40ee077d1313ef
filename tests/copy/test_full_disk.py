"""C3: a disk that is full at every point: failures are named, nothing is half-written (110)."""

import os
import subprocess

from trees import ROOT, cp, done, expect, leftovers, manifest, place, run, skip


def main():
    if not ROOT:
        skip("mounting a small file system takes root")
    with place() as directory:
        source, disk = f"{directory}/source", f"{directory}/disk"
        os.makedirs(f"{source}/sub")
        os.mkdir(disk)
        for number in range(40):
            with open(f"{source}/sub/f{number}", "wb") as file:
                file.write(os.urandom(100_000 + number * 7919))
        with open(f"{source}/large", "wb") as file:
            file.write(os.urandom(6_000_000))
        wanted = manifest(source)
        full = 0
        for megabytes in range(1, 19):
            options = f"size={megabytes}m"
            if subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", disk],
                              capture_output=True, check=False).returncode != 0:
                skip("this system does not let us mount a tmpfs")
            try:
                method = ["auto", "read-write", "copy-file-range"][megabytes % 3]
                finished = cp("-a", "--copy-method", method, "--parallel-min-size", "4M", source,
                              f"{disk}/copy", code=None)
                copied = manifest(f"{disk}/copy")
                expect(finished.returncode in (0, 23), f"{megabytes} MiB: {finished.returncode}")
                missing = set(wanted) - set(copied)
                expect(bool(missing) == (finished.returncode == 23),
                       f"{megabytes} MiB: exit {finished.returncode}, {len(missing)} missing")
                for name in missing:
                    expect(name in finished.stderr, f"{megabytes} MiB: {name!r} is not named")
                for name, fact in copied.items():
                    expect(fact.get("content") == wanted[name].get("content"),
                           f"{megabytes} MiB: {name!r} is half-written")
                expect(not leftovers(disk), f"{megabytes} MiB: temporary names are left")
                full += finished.returncode == 23
            finally:
                run("umount", disk)
        expect(0 < full < 18, f"{full} of 18 disks were full")
    done(f"{full} full disks of 18")


main()
