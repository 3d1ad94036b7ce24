"""What scripts/cfq-job wants, and when a slow machine excuses it."""

import contextlib
import importlib.machinery
import importlib.util
import io
import unittest
from pathlib import Path

SCRIPT = str(Path(__file__).resolve().parent.parent / "cfq-job")


def load():
    """The script, which has no suffix to be found by."""
    loader = importlib.machinery.SourceFileLoader("cfq_job", SCRIPT)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("cfq_job", loader))
    loader.exec_module(module)
    return module


cfq_job = load()


def row(run, a_iops, b_iops, a_ns, b_ns):
    return {"run": run, "seconds": 5, "cfq_a_iops": a_iops, "cfq_b_iops": b_iops,
            "cfq_a_charged_ns": a_ns, "cfq_b_charged_ns": b_ns}


def found(none=13000, cfq=12000, jiffy=2400, b_jiffy=2040, charged=10 ** 9):
    """One round; what cfq-jiffy charges cfq_a is 1 ms a request."""
    return cfq_job.medians([row("none", none, 2040, None, None),
                            row("bfq", none, 2040, None, None),
                            row("cfq", cfq, 2040, charged, charged),
                            row("cfq-jiffy", jiffy, b_jiffy, jiffy * 5 * 10 ** 6, 10 ** 10)])


class Wanted(unittest.TestCase):
    def results(self, **figures):
        """The exit status and the lines of results."""
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            passed = cfq_job.print_results(list(cfq_job.wanted(found(**figures))))
        return passed, [line for line in said.getvalue().splitlines() if line[0] != "#"]

    def test_all_hold(self):
        passed, lines = self.results()
        self.assertTrue(passed)
        self.assertEqual(5, len(lines))
        self.assertFalse([line for line in lines if "SKIP" in line])

    def test_too_little_gain(self):
        passed, lines = self.results(cfq=5900)
        self.assertFalse(passed)
        self.assertTrue(lines[0].startswith("not ok - cfq-job: cfq_a, "))

    def test_slow_machine(self):
        passed, lines = self.results(none=6500, cfq=5900, b_jiffy=1990)
        self.assertTrue(passed)
        self.assertEqual(2, sum("# SKIP too slow a machine: none gives cfq_a 6500 " in line
                                for line in lines))

    def test_slow_machine_that_shows_it(self):
        _, lines = self.results(none=6500, cfq=6100)
        self.assertFalse([line for line in lines if "SKIP" in line])

    def test_slow_machine_without_gain(self):
        passed, lines = self.results(none=6500, cfq=3000)
        self.assertFalse(passed)
        self.assertTrue(lines[0].startswith("not ok"))

    def test_charged_too_much(self):
        self.assertFalse(self.results(none=6500, cfq=6100, charged=3 * 10 ** 9)[0])

    def test_no_jiffy_charged(self):
        rows = found()
        rows["cfq-jiffy"]["each"] = 0.2
        self.assertFalse([holds for what, _, holds, _ in cfq_job.wanted(rows)
                          if what.startswith("charged for a request")][0])


if __name__ == "__main__":
    unittest.main()
