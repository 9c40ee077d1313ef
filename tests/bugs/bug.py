"""A seeded bug: a description and one change to one source file. See docs/TESTING.md."""

import pathlib
import re

FORM = re.compile(
    r"checklist: (?P<line>\d+)\n"
    r"file: (?P<file>\S+)\n"
    r"found by: (?P<finder>[^\n]+)\n"
    r"\n(?P<title>.*?)\n\n"
    r"--- was\n(?P<was>.*?)--- is\n(?P<now>.*?)--- end\n\Z",
    re.DOTALL,
)


class Bug:
    def __init__(self, path):
        self.name = pathlib.Path(path).stem
        match = FORM.match(pathlib.Path(path).read_text())
        if not match:
            raise SystemExit(f"{path}: not in the form of a seeded bug")
        self.line = int(match["line"])
        self.file = match["file"]
        self.finder = match["finder"].split()
        self.title = " ".join(match["title"].split())
        self.was = match["was"]
        self.now = match["now"]

    def seed(self, root):
        """Puts the bug into the copy of the sources at `root`."""
        path = pathlib.Path(root) / self.file
        text = path.read_text()
        if text.count(self.was) != 1:
            raise SystemExit(
                f"{self.name}: its text stands {text.count(self.was)} times in {self.file}, not once:"
                " the source has changed, change the bug with it"
            )
        path.write_text(text.replace(self.was, self.now))
