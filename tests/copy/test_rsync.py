"""BEHAVIOURS 22-30, side by side with rsync: what each flag keeps, and what it does not."""

import os
import shutil
import stat

from trees import cp, done, expect, place, run, skip

FLAGS = ["-a", "-rp", "-rt", "-rpt", "-rl", "-r", "-rlptgoD", "-rlH", "-rltU", "-rX"]


def grow(root):
    os.makedirs(f"{root}/sub/below", mode=0o700)
    for number, mode in enumerate([0o644, 0o600, 0o755, 0o444, 0o777, 0o4755, 0o2755, 0o1755, 0o6755]):
        with open(f"{root}/sub/f{number}", "wb") as file:
            file.write(b"x" * 1000 * number)
        os.chmod(f"{root}/sub/f{number}", mode)
        os.utime(f"{root}/sub/f{number}", ns=(10**18 + number, 10**18 + 999_999_999 - number))
    os.setxattr(f"{root}/sub/f1", "user.x", b"\0\xff")
    os.link(f"{root}/sub/f2", f"{root}/linked")
    os.symlink("sub/f0", f"{root}/link")
    os.symlink("link", f"{root}/chain")
    os.symlink("sub", f"{root}/to-directory")
    os.symlink("nowhere", f"{root}/broken")
    os.mkfifo(f"{root}/fifo")
    os.chmod(f"{root}/sub/below", 0o2750)
    # rsync takes a link's time within the same second for the same.
    for path in ("link", "chain", "to-directory", "broken", "fifo", "sub/below", "sub"):
        os.utime(f"{root}/{path}", ns=(10**18, 10**18 + 123_456_789), follow_symlinks=False)


def facts(root, flags, began):
    """What rsync and we have to agree on."""
    found = {}
    for base, directories, files in os.walk(root):
        for name in directories + files:
            path = os.path.join(base, name)
            st = os.lstat(path)
            kept = "t" in flags or "a" in flags
            is_link = stat.S_ISLNK(st.st_mode)
            found[os.path.relpath(path, root)] = (
                oct(st.st_mode), st.st_uid, st.st_gid,
                os.readlink(path) if is_link else None,
                (st.st_nlink > 1) if "H" in flags and stat.S_ISREG(st.st_mode) else None,
                st.st_mtime_ns // 1_000_000 if kept else st.st_mtime_ns >= began,
                st.st_size if stat.S_ISREG(st.st_mode) else None,
                os.listxattr(path, follow_symlinks=False) if "X" in flags else None,
            )
    return found


def main():
    if not shutil.which("rsync"):
        skip("rsync is not installed")
    with place() as directory:
        grow(f"{directory}/source")
        began = os.stat(directory).st_mtime_ns - 10**9
        for umask in (0o022, 0o077, 0):
            for flags in FLAGS:
                for there in ("rsync", "weir"):
                    run("rm", "-rf", f"{directory}/{there}")
                before = {"preexec_fn": lambda mask=umask: os.umask(mask)}
                run("rsync", flags, f"{directory}/source/", f"{directory}/rsync", **before)
                cp(flags, f"{directory}/source/", f"{directory}/weir", **before)
                one = facts(f"{directory}/rsync", flags, began)
                other = facts(f"{directory}/weir", flags, began)
                for name in sorted(set(one) | set(other)):
                    expect(one.get(name) == other.get(name),
                           f"{flags} umask {umask:o} {name}: {one.get(name)} {other.get(name)}")
    done(f"{len(FLAGS)} sets of flags, 3 umasks")


main()
