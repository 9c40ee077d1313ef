"""What the tests of the copier share: trees to copy, and a manifest that says what a tree is.

Each test is a script called with the path of weir-cp; it prints what it did and ends by done().
"""

import hashlib
import os
import random
import shutil
import stat
import subprocess
import sys
import tempfile
import time

WEIR_CP = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else "weir-cp"
ROOT = os.geteuid() == 0
# A short run, with every other test; else the long one, on a machine that has nothing else to do.
SHORT = "WEIR_SHORT" in os.environ
problems = []


def expect(condition, problem):
    if not condition:
        problems.append(problem)
        print("FAILED:", problem)


def done(what):
    for problem in problems:
        print(problem)
    print(f"{'failed' if problems else 'ok'}: {what}")
    sys.exit(1 if problems else 0)


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def place():
    """A directory for the test, on a file system that keeps extended attributes."""
    made = tempfile.TemporaryDirectory(prefix="weir-copy-", dir=os.environ.get("WEIR_TEST_DIR"))
    try:
        os.setxattr(made.name, "user.weir", b"")
        os.removexattr(made.name, "user.weir")
    except OSError as error:
        made.cleanup()
        skip(f"no extended attributes in {made.name} ({error.strerror}); see WEIR_TEST_DIR")
    return made


def run(*command, timeout=120, **options):
    return subprocess.run(
        [str(word) for word in command], capture_output=True, timeout=timeout, check=False, **options
    )


def cp(*arguments, code=0, timeout=120, **options):
    """Runs weir-cp and expects an exit code; None: any."""
    finished = run(WEIR_CP, *arguments, timeout=timeout, **options)
    if code is not None:
        expect(
            finished.returncode == code,
            f"weir-cp {' '.join(map(str, arguments))}: exit {finished.returncode}, not {code}: "
            f"{finished.stderr.decode(errors='replace')[-600:]}",
        )
    return finished


def xattrs(path):
    try:
        names = sorted(os.listxattr(path, follow_symlinks=False))
    except OSError:
        return ()
    found = []
    for name in names:
        try:
            found.append((name, os.getxattr(path, name, follow_symlinks=False)))
        except OSError:
            pass
    return tuple(found)


def holes(path, size):
    """Where the data are, or () where nothing is missing."""
    found, at = [], 0
    with open(path, "rb") as file:
        while at < size:
            try:
                begin = os.lseek(file.fileno(), at, os.SEEK_DATA)
            except OSError:
                break
            at = os.lseek(file.fileno(), begin, os.SEEK_HOLE)
            found.append((begin, min(at, size)))
    return tuple(found)


def manifest(root, atimes=False):
    """What a tree is: for each path, everything that a copy has to keep."""
    root = os.fsencode(root)
    entries, groups = {}, {}
    waiting = [b""]
    while waiting:
        name = waiting.pop()
        path = os.path.join(root, name) if name else root
        st = os.lstat(path)
        fact = {
            "mode": oct(st.st_mode),
            "owner": (st.st_uid, st.st_gid),
            "mtime": st.st_mtime_ns,
            "xattrs": xattrs(path),
        }
        if atimes:
            fact["atime"] = st.st_atime_ns
        if stat.S_ISDIR(st.st_mode):
            waiting += [os.path.join(name, entry) for entry in os.listdir(path)]
        elif stat.S_ISLNK(st.st_mode):
            fact["target"] = os.readlink(path)
        elif stat.S_ISREG(st.st_mode):
            with open(path, "rb") as file:
                fact["content"] = hashlib.file_digest(file, "sha1").hexdigest()
            fact["size"] = st.st_size
            fact["holes"] = holes(path, st.st_size)
        elif stat.S_ISCHR(st.st_mode) or stat.S_ISBLK(st.st_mode):
            fact["device"] = st.st_rdev
        if not stat.S_ISDIR(st.st_mode) and st.st_nlink > 1:
            groups.setdefault((st.st_dev, st.st_ino), []).append(name)
        entries[name] = fact
    for names in groups.values():
        for name in names:
            entries[name]["links"] = tuple(sorted(names))
    return entries


def compare(one, other, what):
    """Expects two manifests to be the same; names the first few differences."""
    for name in sorted(set(one) | set(other))[:100000]:
        if name not in one or name not in other:
            expect(False, f"{what}: {name!r} is only on one side")
        elif one[name] != other[name]:
            differences = {
                key: (one[name].get(key), other[name].get(key))
                for key in set(one[name]) | set(other[name])
                if one[name].get(key) != other[name].get(key)
            }
            expect(False, f"{what}: {name!r} differs: {str(differences)[:300]}")
        if len(problems) > 10:
            return


NAMES = [
    b"plain", b"with space", b"-dash", b"--help", b"new\nline", b"tab\t", b"\xff\xfe", b"\xc3\xa4",
    b"quote'\"", b"star*", b"back\\slash", b"%s", b"a" * 255, b"\x01\x02", b"~", b"#hash#", b"...",
]


class Forest:
    """Random trees of all kinds of entries; the same seed is the same tree."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def content(self, path):
        kind = self.random.random()
        with open(path, "wb") as file:
            if kind < 0.1:
                return
            if kind < 0.2:
                for _ in range(self.random.randint(1, 4)):
                    file.seek(self.random.randint(0, 2_000_000))
                    file.write(self.random.randbytes(self.random.randint(1, 9000)))
                if self.random.random() < 0.5:
                    file.truncate(self.random.randint(0, 3_000_000))
            elif kind < 0.9:
                file.write(self.random.randbytes(self.random.randint(1, 20_000)))
            else:
                file.write(self.random.randbytes(self.random.randint(100_000, 900_000)))

    def dress(self, path, is_link=False):
        """Odd attributes, now and then."""
        pick = self.random.random
        if not is_link and (os.path.isfile(path) or os.path.isdir(path)):
            if pick() < 0.3 and os.access(path, os.W_OK):
                value = self.random.randbytes(self.random.randint(0, 900))
                os.setxattr(path, b"user." + self.random.choice([b"x", b"y.z", b"\xff"]), value)
            if ROOT and pick() < 0.1:
                try:
                    os.setxattr(path, b"trusted.t", b"root")
                except PermissionError:
                    pass  # root of a container
            if pick() < 0.15 and shutil.which("setfacl"):
                run("setfacl", "-m", "u:12:rx", os.fsdecode(path))
        if ROOT and pick() < 0.3:
            os.chown(path, self.random.randint(0, 5000), self.random.randint(0, 5000),
                     follow_symlinks=False)
        if not is_link and pick() < 0.5:
            modes = [0o644, 0o4755, 0o2755, 0o1777, 0o6711, 0o600, 0o777, 0o400]
            if ROOT:
                modes += [0, 0o111]
            elif os.path.isdir(path):
                modes = [0o755, 0o700, 0o2750]
            os.chmod(path, self.random.choice(modes))

    def times(self, path):
        stamp = self.random.choice(
            [1, 999_999_999, 10**9 + 1, self.random.randrange(10**18), 4 * 10**18 + 7]
        )
        os.utime(path, ns=(stamp, stamp + self.random.randint(0, 5)), follow_symlinks=False)

    def grow(self, root, entries=60):
        """Makes a tree below `root`, which must not exist."""
        root = os.fsencode(root)
        os.mkdir(root)
        directories, files, everything = [root], [], [root]
        for number in range(entries):
            name = self.random.choice(NAMES)
            if name in (b"a" * 255,):
                path = os.path.join(self.random.choice(directories), name[:-4] + b"%04d" % number)
            else:
                path = os.path.join(self.random.choice(directories), name + b"%d" % number)
            kind = self.random.random()
            if kind < 0.2:
                os.mkdir(path)
                directories.append(path)
            elif kind < 0.3:
                os.symlink(self.random.choice([b"x", b"../..", b"/nowhere/\xff", b"l" * 4000]), path)
            elif kind < 0.35:
                os.mkfifo(path)
            elif kind < 0.38 and ROOT:
                try:
                    os.mknod(path, stat.S_IFCHR | 0o640, os.makedev(1, 3))
                except PermissionError:
                    os.mkfifo(path)  # root of a container
            elif kind < 0.4:
                os.mknod(path, stat.S_IFSOCK | 0o700)
            elif kind < 0.5 and files:
                os.link(self.random.choice(files), path)
            else:
                self.content(path)
                files.append(path)
            everything.append(path)
        for path in reversed(everything):
            self.dress(path, os.path.islink(path))
        for path in reversed(everything):
            self.times(path)
        return root


def flat(root, count, size=100):
    """Many files in one directory."""
    os.mkdir(root)
    data = b"x" * size
    for number in range(count):
        with open(f"{root}/f{number}", "wb") as file:
            file.write(data)


def deep(root, depth):
    """A chain of directories with a file in each, made from the inside, however long the path."""
    os.mkdir(root)
    here = os.open(root, os.O_RDONLY)
    for level in range(depth):
        descriptor = os.open("file", os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=here)
        os.write(descriptor, str(level).encode())
        os.close(descriptor)
        os.mkdir(f"level{level}", dir_fd=here)
        below = os.open(f"level{level}", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)


def depth_of(root):
    """How deep the chain is in which every file says its level."""
    here, level = os.open(root, os.O_RDONLY), 0
    while True:
        try:
            descriptor = os.open("file", os.O_RDONLY, dir_fd=here)
        except FileNotFoundError:
            os.close(here)
            return level
        expect(os.read(descriptor, 100) == str(level).encode(), f"level {level}: wrong content")
        os.close(descriptor)
        below = os.open(f"level{level}", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
        level += 1


def wait_until(condition, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def leftovers(root):
    """Temporary names of the copier below root."""
    return [
        os.path.join(base, name) for base, _, names in os.walk(root) for name in names
        if name.startswith(".weir-") and name.endswith(".tmp")
    ]
