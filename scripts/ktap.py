#!/usr/bin/python3
"""usage: scripts/ktap.py kselftest|kunit STAGE FILE

Reads the KTAP of kselftest's runner, or of KUnit in a kernel's log.
Prints one line for each test, "ok - STAGE: NAME" or "not ok - STAGE: NAME", and
what a failed one had to say as "# " lines.  Exit status: 0 all passed, 1 not.

A plan that is missing or not fulfilled is a failure: without it, a test that
died half-way looks like one that passed.
"""

import re
import sys
from collections import namedtuple
from pathlib import Path

Result = namedtuple("Result", "name passed note details", defaults=("", ()))

# Below a result line stands what led to it, marked by INDENT or by a hash.
INDENT = "    "

# How the two write: what joins a name to the name of a test below it, and the
# number of levels that have a plan (KUnit does not count a test's parameters).
Style = namedtuple("Style", "separator planned_levels")
KSELFTEST = Style(": ", 99)
KUNIT = Style(".", 2)

VERSION = re.compile(r"(K?TAP) version \d+")
PLAN = re.compile(r"1\.\.(\d+)\s*(?:# SKIP\s*(.*))?$", re.IGNORECASE)
RESULT = re.compile(r"(not )?ok\b(?: (\d+))?(?: -)?\s*([^#]*?)\s*(?:# ?(.*))?$")
SKIP = re.compile(r"SKIP\b:?\s*(.*)", re.IGNORECASE)
RUNNER_NAME = re.compile(r"selftests: ([^:]+): (\S+)")


class Level:
    """One level of KTAP: its plan, and its results with what lies below each."""

    def __init__(self, lines):
        self.version = False
        self.plan = None
        self.skipped = None
        self.bailed = None
        self.results = []       # (match of RESULT, lines below)
        below = []
        for line in lines:
            if line.startswith("#"):
                below.append(line[2:] if line.startswith("# ") else line[1:])
            elif line.startswith(INDENT):
                below.append(line[len(INDENT):])
            elif RESULT.match(line):
                self.results.append((RESULT.match(line), below))
                below = []
            elif not self.control(line):
                below.append(line)
        self.unfinished = below

    def control(self, line):
        """Whether a line belongs to this level itself."""
        plan = PLAN.match(line)
        if plan:
            self.plan = int(plan.group(1))
            self.skipped = plan.group(2)
        elif VERSION.match(line):
            self.version = True
        elif line.startswith("Bail out!"):
            self.bailed = line
        else:
            return False
        return True

    def is_ktap(self):
        return self.version or self.plan is not None or bool(self.results)

    def fault(self, planned=True):
        """What is wrong with this level as such, or None."""
        if self.bailed:
            return self.bailed
        if self.plan is None:
            return "no plan" if planned else None
        if self.plan != len(self.results):
            return f"cut off: {self.plan} tests planned, {len(self.results)} ended"
        return None


def test_name(text, number):
    runner = RUNNER_NAME.match(text)
    if runner:
        return runner.group(2)
    return text or f"test {number}"


def one_result(prefix, match, below, style, depth):
    """The results that stand for one result line and all that is below it."""
    failed, number, text, directive = match.groups()
    name = prefix + test_name(text, number)
    level = Level(below)
    skip = SKIP.match(directive or "")
    if skip:
        return [Result(name, True, "SKIP " + (skip.group(1) or level.skipped or ""), below)]
    if not level.is_ktap():
        return [Result(name, not failed, directive or "", below)]
    inner = level_results(name + style.separator, level, style, depth)
    fault = level.fault(depth < style.planned_levels)
    if level.plan == 0 and not fault:
        inner = [Result(name, True, "SKIP " + (level.skipped or ""), below)]
    if fault:
        inner.append(Result(name, False, fault, below))
    elif failed and all(r.passed for r in inner):
        inner.append(Result(name, False, directive or "", below))
    return inner


def level_results(prefix, level, style, depth):
    return [r for match, below in level.results
            for r in one_result(prefix, match, below, style, depth + 1)]


def kernel_log(lines):
    """The lines of a kernel's log from its first KTAP on, without timestamps."""
    prefix = None
    for line in lines:
        if prefix is None:
            start = re.match(r"(.*?)K?TAP version \d+$", line)
            prefix = len(start.group(1)) if start else None
        if prefix is not None:
            yield line[prefix:]


def parse_ktap(lines, style=KSELFTEST):
    """All results of a run; the last one is a failure if it did not end well."""
    level = Level(line.rstrip("\r\n") for line in lines)
    results = level_results("", level, style, 0)
    fault = level.fault()
    if not fault and level.plan == 0:
        fault = "no test ran"
    if fault:
        running = RUNNER_NAME.match(level.unfinished[0]) if level.unfinished else None
        name = running.group(2) if running else "run"
        results.append(Result(name, False, fault, level.unfinished))
    return results


def show(stage, results, out=sys.stdout):
    """Print the results; returns the number of failed ones."""
    for r in results:
        note = f" # {r.note}".rstrip() if r.note else ""
        print(f"{'ok' if r.passed else 'not ok'} - {stage}: {r.name}{note}", file=out)
        if not r.passed:
            for line in r.details:
                print(f"# {line}", file=out)
    return sum(not r.passed for r in results)


def main(argv):
    if len(argv) != 4 or argv[1] not in ("kselftest", "kunit"):
        print(__doc__, file=sys.stderr)
        return 2
    _, kind, stage, path = argv
    try:
        lines = Path(path).read_text(errors="replace").splitlines()
        results = (parse_ktap(kernel_log(lines), KUNIT) if kind == "kunit"
                   else parse_ktap(lines))
    except OSError as error:
        results = [Result("results", False, f"unreadable: {error}")]
    return 1 if show(stage, results) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
