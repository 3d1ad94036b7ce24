"""The outcomes of a run, with scripts in place of a user-mode kernel."""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parent.parent
DATA = Path(__file__).resolve().parent / "data"
PASSED, FAILED, NOT_STARTED, LOST = range(4)


class Outcome(unittest.TestCase):
    """A kernel has its output at fd 3, the status at fd 4 and its log at fd 5."""

    def setUp(self):
        self.build = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.build)

    def run_with(self, kernel, *options, tree="base"):
        image = self.build / "base-6.1/.o-um/linux"
        image.parent.mkdir(parents=True, exist_ok=True)
        image.write_text("#!/bin/bash\n" + kernel)
        image.chmod(0o755)
        return subprocess.run(
            [SCRIPTS / "um-run", *options, tree, SCRIPTS / "guest/nothing.sh"],
            env=os.environ | {"BUILD": str(self.build), "SERIES": "6.1"},
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)

    def test_passed(self):
        run = self.run_with(f"cat {DATA}/clean.log >&5; echo started >&4; echo hello >&3; echo exit 0 >&4")
        self.assertEqual((run.returncode, run.stdout, run.stderr), (PASSED, "hello\n", ""))

    def test_failed(self):
        run = self.run_with("echo started >&4; echo exit 7 >&4")
        self.assertEqual(run.returncode, FAILED)
        self.assertIn("exited with 7", run.stderr)

    def test_what_the_script_prints_is_not_its_status(self):
        run = self.run_with("echo started >&4; echo exit 0 >&3; echo exit 0 >&5")
        self.assertEqual(run.returncode, LOST)

    def test_splat_fails_a_script_that_passed(self):
        run = self.run_with(f"cat {DATA}/warning.log >&5; echo started >&4; echo exit 0 >&4")
        self.assertEqual(run.returncode, FAILED)
        self.assertIn("blk_start_plug", run.stderr)

    def test_panic_is_lost(self):
        run = self.run_with(f"echo started >&4; cat {DATA}/panic.log >&5; exit 1")
        self.assertEqual(run.returncode, LOST)
        self.assertIn("lost: kernel panic", run.stderr)

    def test_cut_off_is_lost(self):
        run = self.run_with("echo started >&4; echo half >&3; kill -KILL $$")
        self.assertEqual((run.returncode, run.stdout), (LOST, "half\n"))

    def test_no_boot_is_lost(self):
        run = self.run_with("exit 1")
        self.assertEqual(run.returncode, LOST)
        self.assertIn("did not get as far as the script", run.stderr)

    def test_timeout_is_lost(self):
        run = self.run_with("echo started >&4; sleep 60", "--timeout", "1")
        self.assertEqual(run.returncode, LOST)
        self.assertIn("no end after 1 s", run.stderr)

    def test_nothing_stays(self):
        self.run_with("echo started >&4; echo exit 0 >&4")
        self.assertEqual(list(self.build.glob("run.*")), [])

    def test_refused(self):
        for options, tree in ((["--bogus"], "base"), (["--timeout", "x"], "base"),
                              ([], "other"), ([], "patched")):
            run = self.run_with("exit 0", *options, tree=tree)
            self.assertEqual(run.returncode, NOT_STARTED, (options, tree))
            self.assertEqual(run.stderr.count("\n"), 1, run.stderr)
