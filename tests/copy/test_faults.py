"""C3, C6, C7: every call failing in every way, kill -9 at every n-th call, io_uring forbidden."""

import json
import os
import re
import resource
import shutil
import subprocess

from trees import (
    SHORT, WEIR_CP, Forest, compare, cp, done, expect, leftovers, manifest, place, run, skip,
)

# Calls that the copier makes, and errors they can really have.
FAULTS = {
    "openat2": ["EMFILE", "ENFILE", "ENOMEM", "EACCES", "EIO"],
    "openat": ["EMFILE", "ENOSPC", "EACCES", "EROFS", "EDQUOT", "ENOMEM"],
    "getdents64": ["EIO", "ENOMEM"],
    "mkdirat": ["ENOSPC", "EACCES", "EMLINK", "EROFS"],
    "preadv2": ["EAGAIN", "EOPNOTSUPP"],
    "pwrite64": ["ENOSPC", "EIO", "EDQUOT", "EFBIG"],
    "copy_file_range": ["EXDEV", "EINVAL", "EOPNOTSUPP", "ENOSPC", "EIO", "EINTR"],
    "ioctl": ["EIO", "ENOTTY"],
    "fchmod": ["EPERM", "EIO"],
    "fchownat": ["EPERM", "EINVAL"],
    "utimensat": ["EPERM", "EIO"],
    "fsetxattr": ["ENOSPC", "EPERM", "EOPNOTSUPP"],
    "flistxattr": ["EOPNOTSUPP", "EIO"],
    "linkat": ["EEXIST", "EMLINK", "EACCES", "ENOSPC"],
    "renameat": ["EIO", "EACCES"],
    "symlinkat": ["ENOSPC", "EACCES"],
    "mknodat": ["EPERM", "ENOSPC"],
    "readlinkat": ["EIO"],
    "lseek": ["EINVAL"],
    "ftruncate": ["ENOSPC"],
    "newfstatat": ["EIO"],
}
# What the copier copes with, so that everything arrives nevertheless.
HARMLESS = {
    ("openat2", "EMFILE"), ("openat2", "ENFILE"), ("openat2", "ENOMEM"), ("openat", "EMFILE"),
    ("openat", "ENOMEM"), ("preadv2", "EAGAIN"), ("preadv2", "EOPNOTSUPP"), ("ioctl", "EIO"),
    ("copy_file_range", "EXDEV"), ("copy_file_range", "EINVAL"), ("getdents64", "ENOMEM"),
    ("copy_file_range", "EOPNOTSUPP"), ("copy_file_range", "EINTR"), ("ioctl", "ENOTTY"),
    ("fsetxattr", "EOPNOTSUPP"), ("flistxattr", "EOPNOTSUPP"),
    ("lseek", "EINVAL"),
}


def strace(directory, inject, *arguments, code=None):
    return run(
        "strace", "-f", "-o", f"{directory}/trace", "-e", f"inject={inject}",
        WEIR_CP, "-a", "--threads", "1", *arguments, timeout=120)


def whole_or_absent(directory, wanted, copied, what):
    """Whatever is there under a final name is complete."""
    for name, fact in copied.items():
        if "content" in fact:
            expect(fact["content"] == wanted[name]["content"], f"{what}: {name!r} is half-written")
    expect(not leftovers(directory), f"{what}: temporary names are left")


def every_errno(directory, source, wanted):
    runs = shrinks = 0
    for call, errors in FAULTS.items():
        for error in errors[:1] if SHORT else errors:
            for when in ("3",) if SHORT else ("3", "9+7"):
                shutil.rmtree(f"{directory}/copy", ignore_errors=True)
                what = f"{call} {error} at {when}"
                finished = strace(directory, f"{call}:error={error}:when={when}", "--stats=json",
                                  source, f"{directory}/copy")
                if b"error while loading shared libraries" in finished.stderr:
                    continue  # it did not even begin
                runs += 1
                expect(finished.returncode in (0, 23, 125), f"{what}: exit {finished.returncode}")
                copied = {}
                if os.path.isdir(f"{directory}/copy"):
                    copied = manifest(f"{directory}/copy")
                whole_or_absent(directory, wanted, copied, what)
                if finished.returncode == 0:
                    if call in ("fsetxattr", "flistxattr"):  # forgiven, as with cp -a
                        continue
                    compare(wanted, copied, what)
                elif finished.returncode == 23:
                    expect(finished.stderr.strip(), f"{what}: failed without a word")
                if when == "3" and (call, error) in HARMLESS:
                    expect(finished.returncode == 0, f"{what}: {finished.stderr[-200:]}")
                if finished.stdout:
                    shrinks += json.loads(finished.stdout)["shrinks"]
    expect(shrinks > 0, "the limit was never lowered")
    print(f"{runs} runs with failing calls, the limit lowered {shrinks} times")


def killed(directory, source, wanted):
    """kill -9 at every n-th system call; then a second run completes the copy."""
    count = run("strace", "-f", "-c", "-o", f"{directory}/trace", WEIR_CP, "-a", "--threads", "1",
                source, f"{directory}/counted")
    assert count.returncode == 0, count.stderr
    with open(f"{directory}/trace", encoding="utf-8") as trace:
        total = int(re.search(r"(\d+)\s+(?:\d+\s+)?total", trace.read())[1])
    runs = 6 if SHORT else int(os.environ.get("WEIR_KILLS", "40"))
    for n in range(1, total, max(1, total // runs)):
        shutil.rmtree(f"{directory}/copy", ignore_errors=True)
        strace(directory, f"all:signal=KILL:when={n}", source, f"{directory}/copy")
        copied = manifest(f"{directory}/copy") if os.path.isdir(f"{directory}/copy") else {}
        for name, fact in copied.items():
            if "content" in fact and not name.endswith(b".tmp"):
                expect(fact["content"] == wanted[name]["content"],
                       f"killed at call {n}: {name!r} is half-written")
        cp("-aT", source, f"{directory}/copy")
        for name in leftovers(f"{directory}/copy"):
            os.unlink(name)  # one name at most, of a file that was being replaced
        again = manifest(f"{directory}/copy")
        for fact in again.values():
            fact.pop("mtime")
        compare({name: {k: v for k, v in fact.items() if k != "mtime"}
                 for name, fact in wanted.items()}, again, f"after a kill at call {n}")
    print(f"killed {runs} times of {total} calls")


def no_descriptors_now(directory, source, wanted):
    """C6 the hard way: --no-adaptive fails, the default does not."""
    finished = strace(directory, "openat2:error=EMFILE:when=5", "--no-adaptive", source,
                      f"{directory}/strict")
    expect(finished.returncode == 23, f"--no-adaptive: exit {finished.returncode}")


def no_ring(directory, source, wanted):
    shutil.rmtree(f"{directory}/copy", ignore_errors=True)
    finished = strace(directory, "io_uring_setup:error=EPERM:when=1+", "--stats=json", source,
                      f"{directory}/copy")
    expect(finished.returncode == 0, "io_uring forbidden")
    expect(not json.loads(finished.stdout)["io_uring"], "io_uring was used although forbidden")
    compare(wanted, manifest(f"{directory}/copy"), "io_uring forbidden")


def little_memory(directory, source, wanted):
    shutil.rmtree(f"{directory}/copy", ignore_errors=True)
    limit = 64 << 20
    finished = cp("-a", "--threads", "1", source, f"{directory}/copy", code=None, preexec_fn=lambda:
                  resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    if b"Sanitizer" in finished.stderr and finished.returncode < 0:
        return  # which wants terabytes of addresses for itself
    expect(finished.returncode in (0, 23, 125), f"64 MiB: exit {finished.returncode}")
    if finished.returncode == 0:
        compare(wanted, manifest(f"{directory}/copy"), "64 MiB of address space")


def main():
    if not shutil.which("strace"):
        skip("strace is not installed")
    with place() as directory:
        source = Forest(4).grow(f"{directory}/source", 40).decode()
        with open(f"{source}/larger", "wb") as file:
            file.write(os.urandom(700_000))
        wanted = manifest(source)
        probe = subprocess.run(["strace", "-e", "trace=none", "true"], capture_output=True,
                               check=False)
        if probe.returncode != 0:
            skip("strace may not trace here")
        for part in no_ring, no_descriptors_now, little_memory, killed, every_errno:
            part(directory, source, wanted)
    done("faults")


main()
