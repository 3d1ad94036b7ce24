#!/usr/bin/python3
"""usage: scripts/splats.py LOG

Prints the lines of a kernel log in which the kernel complains.
What a complaint looks like stands in splat-patterns, one regular expression a
line.  An exception stands in splat-allowed, with the reason for it behind the
last "  # ".  Exit status: 0 no complaint, 1 some, 2 a bad file.
"""

import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
CONTEXT = 12    # lines shown behind a complaint


class BadFile(Exception):
    """A file of patterns that cannot be right."""


def compiled(path, number, text):
    try:
        return re.compile(text)
    except re.error as error:
        raise BadFile(f"{path}:{number}: bad pattern: {error}") from error


def entries(path):
    """Line number and text of each line that says something."""
    for number, line in enumerate(Path(path).read_text().splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            yield number, line


def load_patterns(path):
    patterns = [compiled(path, n, line.strip()) for n, line in entries(path)]
    if not patterns:
        raise BadFile(f"{path}: no pattern: every log would pass")
    return patterns


def load_allowed(path):
    allowed = []
    for number, line in entries(path):
        text, mark, reason = line.rpartition("  # ")
        if not mark or not reason.strip():
            raise BadFile(f"{path}:{number}: an exception needs its reason: PATTERN  # why")
        allowed.append(compiled(path, number, text.strip()))
    return allowed


def find(lines, patterns, allowed):
    """Indexes of the lines that are complaints."""
    return [i for i, line in enumerate(lines)
            if any(p.search(line) for p in patterns)
            and not any(a.search(line) for a in allowed)]


def excerpt(lines, hits):
    """The complaints and what follows them, each line once."""
    shown = sorted({j for i in hits for j in range(i, min(i + CONTEXT, len(lines)))})
    return [lines[i] for i in shown]


def main(argv):
    if len(argv) != 2:
        print("usage: splats.py LOG", file=sys.stderr)
        return 2
    try:
        patterns = load_patterns(HERE / "splat-patterns")
        allowed = load_allowed(HERE / "splat-allowed")
        lines = Path(argv[1]).read_text(errors="replace").splitlines()
    except (BadFile, OSError) as error:
        print(f"splats.py: {error}", file=sys.stderr)
        return 2
    hits = find(lines, patterns, allowed)
    for line in excerpt(lines, hits):
        print(line)
    return 1 if hits else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
