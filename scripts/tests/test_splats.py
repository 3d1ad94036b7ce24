"""The search for complaints in kernel logs, on recorded logs."""

import tempfile
import unittest
from pathlib import Path

import splats

DATA = Path(__file__).resolve().parent / "data"


def complaints(name, allowed=()):
    lines = (DATA / name).read_text().splitlines()
    patterns = splats.load_patterns(splats.HERE / "splat-patterns")
    return splats.find(lines, patterns, list(allowed))


class Find(unittest.TestCase):
    def test_clean_log(self):
        self.assertEqual(complaints("clean.log"), [])

    def test_warning(self):
        self.assertEqual(complaints("warning.log"), [2])

    def test_lockdep(self):
        self.assertEqual(complaints("lockdep.log"), [1])

    def test_panic(self):
        self.assertEqual(complaints("panic.log"), [0, 1, 2])

    def test_exception(self):
        allowed = [splats.re.compile("blk_start_plug")]
        self.assertEqual(complaints("warning.log", allowed), [])

    def test_excerpt_shows_what_follows(self):
        lines = (DATA / "warning.log").read_text().splitlines()
        self.assertEqual(splats.excerpt(lines, [2]), lines[2:])


class Files(unittest.TestCase):
    def write(self, text):
        file = tempfile.NamedTemporaryFile("w", suffix=".patterns")
        self.addCleanup(file.close)
        file.write(text)
        file.flush()
        return file.name

    def test_empty_pattern_file_is_an_error(self):
        with self.assertRaises(splats.BadFile):
            splats.load_patterns(self.write("# nothing but a comment\n\n"))

    def test_bad_pattern_is_an_error(self):
        with self.assertRaises(splats.BadFile):
            splats.load_patterns(self.write("BUG: (\n"))

    def test_exception_without_reason_is_an_error(self):
        with self.assertRaises(splats.BadFile):
            splats.load_allowed(self.write("WARNING: foo\n"))

    def test_exception_with_reason(self):
        allowed = splats.load_allowed(self.write("WARNING: foo  # provoked by the test\n"))
        self.assertEqual([a.pattern for a in allowed], ["WARNING: foo"])
