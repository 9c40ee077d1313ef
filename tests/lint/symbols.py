"""What the library exports, what the headers declare and what the manual documents are the same.

    symbols.py LIBRARY.SO...
"""

import re
import sys

from lint import PUBLIC_HEADERS, ROOT, exported, report


def declared():
    """Functions marked WEIR_API in a public header."""
    text = "\n".join(header.read_text() for header in PUBLIC_HEADERS)
    return set(re.findall(r"^WEIR_API\b[^;{(]*?\b(weir_\w+)\(", text, re.MULTILINE))


def documented():
    """Functions in the SYNOPSIS of a page of section 3, and the number of pages."""
    functions = set()
    pages = sorted((ROOT / "man").glob("*.3"))
    for page in pages:
        text = re.sub(r"\\f(\(..|\[\w*\]|.)|\\&|\"", "", page.read_text())
        synopsis = re.search(r"^\.SH SYNOPSIS\n(.*?)(?=^\.SH |\Z)", text, re.MULTILINE | re.DOTALL)
        if not synopsis:
            continue
        for line in synopsis[1].splitlines():
            if "typedef" not in line:
                functions.update(re.findall(r"\b(weir_\w+) ?\(", line))
    return functions, len(pages)


def compare(problems, have, have_name, want, want_name):
    for symbol in sorted(have - want):
        problems.append(f"{symbol}: {have_name}, but not {want_name}")
    for symbol in sorted(want - have):
        problems.append(f"{symbol}: {want_name}, but not {have_name}")


def main():
    problems = []
    in_headers = declared()
    in_library = set().union(*(exported(library) for library in sys.argv[1:]))
    in_manual, pages = documented()
    compare(problems, in_library, "exported by the library", in_headers, "declared in a header")
    compare(problems, in_headers, "declared in a header", in_manual, "in a SYNOPSIS")
    report(problems, f"{len(in_headers)} functions, {pages} pages")


main()
