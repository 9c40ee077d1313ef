"""C4: what is mounted inside a source (-x), and file systems that share extents (reflink)."""

import os
import shutil
import subprocess

from trees import ROOT, compare, cp, done, expect, manifest, place, run, skip


def mount(*words):
    if subprocess.run(["mount", *words], capture_output=True, check=False).returncode != 0:
        skip(f"this system does not let us mount: {' '.join(words)}")


def one_file_system(directory):
    """As with cp -ax: mount points are copied and stay empty."""
    source = f"{directory}/source"
    os.makedirs(f"{source}/mounted")
    os.makedirs(f"{source}/own/below")
    mount("-t", "tmpfs", "-o", "size=1m,mode=0751", "tmpfs", f"{source}/mounted")
    try:
        for name in ("mounted/inside", "own/file", "own/below/file"):
            with open(f"{source}/{name}", "w", encoding="ascii") as file:
                file.write(name)
        for number, sources in enumerate(([source], [f"{source}/"])):
            by_cp, copy = f"{directory}/by-cp{number}", f"{directory}/copy{number}"
            expect(run("cp", "-ax", source, by_cp).returncode == 0, "cp -ax")
            cp("-ax", *sources, copy)
            expect(os.listdir(f"{copy}/mounted") == [], "what is mounted was copied")
            compare(manifest(by_cp), manifest(copy), f"-x of {sources}")
        cp("-a", source, f"{directory}/all")
        expect(os.listdir(f"{directory}/all/mounted") == ["inside"], "without -x it is copied")
        cp("-ax", f"{source}/mounted", f"{directory}/itself")
        expect(os.listdir(f"{directory}/itself") == ["inside"], "a mount point as the source")
    finally:
        run("umount", f"{source}/mounted")


def reflinks(directory, kind, megabytes):
    """On a file system that shares extents, a copy takes no room, and says so if it cannot."""
    image, disk = f"{directory}/{kind}.img", f"{directory}/{kind}"
    if not shutil.which(f"mkfs.{kind}"):
        print(f"no mkfs.{kind} here")
        return 0
    with open(image, "wb") as file:
        file.truncate(megabytes << 20)
    os.mkdir(disk)
    expect(run(f"mkfs.{kind}", "-q", image).returncode == 0, f"mkfs.{kind}")
    mount("-o", "loop", image, disk)
    try:
        os.mkdir(f"{disk}/source")
        with open(f"{disk}/source/large", "wb") as file:
            file.write(os.urandom(32 << 20))
        os.sync()
        free = shutil.disk_usage(disk).free
        for method in ("reflink", "auto"):
            cp("-a", "--copy-method", method, "--fsync", f"{disk}/source", f"{disk}/{method}")
            compare(manifest(f"{disk}/source"), manifest(f"{disk}/{method}"), f"{kind} {method}")
        os.sync()
        used = free - shutil.disk_usage(disk).free
        expect(used < 16 << 20, f"{kind}: two copies of 32 MiB took {used >> 20} MiB")
        finished = cp("-a", "--copy-method", "reflink", f"{disk}/source", f"{directory}/{kind}-out",
                      code=23)
        expect(b"large" in finished.stderr, "a file that cannot share is named")
        expect(os.listdir(f"{directory}/{kind}-out") == [], "and is not there")
    finally:
        run("umount", disk)
    return 1


def main():
    if not ROOT:
        skip("mounting takes root")
    with place() as directory:
        one_file_system(directory)
        kinds = reflinks(directory, "btrfs", 300) + reflinks(directory, "xfs", 400)
    done(f"mounts, and {kinds} file systems that share extents")


main()
