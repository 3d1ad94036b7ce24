"""The parser of results, on recorded output that is good, bad and cut off."""

import io
import unittest
from pathlib import Path

import ktap

DATA = Path(__file__).resolve().parent / "data"


def results_of(name):
    return ktap.parse_ktap((DATA / name).read_text().splitlines())


def verdicts(results):
    return {r.name: r.passed for r in results}


class Kselftest(unittest.TestCase):
    def test_good_run(self):
        results = results_of("kselftest-good.tap")
        self.assertEqual([r.name for r in results], [
            "clock_reads: issue_reads_none", "clock_reads: issue_reads_all",
            "test_io_max.sh", "test_bfq_weights.sh: weights_1_2_4", "plain"])
        self.assertTrue(all(r.passed for r in results))

    def test_skip_is_shown_with_its_reason(self):
        notes = {r.name: r.note for r in results_of("kselftest-good.tap")}
        self.assertEqual(notes["clock_reads: issue_reads_all"], "SKIP no bfq")
        self.assertEqual(notes["test_io_max.sh"], "SKIP needs fio")

    def test_failed_subtest_counts_once(self):
        bad = verdicts(results_of("kselftest-bad.tap"))
        self.assertTrue(bad["fails: first"])
        self.assertFalse(bad["fails: second"])
        self.assertNotIn("fails", bad)

    def test_failed_subtest_counts_when_the_program_exits_with_0(self):
        self.assertFalse(verdicts(results_of("kselftest-bad.tap"))["hides: only"])

    def test_missing_plan_is_a_failure(self):
        by_name = {r.name: r for r in results_of("kselftest-bad.tap")}
        self.assertFalse(by_name["no_plan"].passed)
        self.assertEqual(by_name["no_plan"].note, "no plan")

    def test_unfulfilled_plan_is_a_failure(self):
        by_name = {r.name: r for r in results_of("kselftest-bad.tap")}
        self.assertFalse(by_name["dies"].passed)
        self.assertIn("3 tests planned, 1 ended", by_name["dies"].note)

    def test_timeout_is_a_failure_though_all_subtests_passed(self):
        by_name = {r.name: r for r in results_of("kselftest-bad.tap")}
        self.assertFalse(by_name["slow"].passed)
        self.assertIn("TIMEOUT", by_name["slow"].note)

    def test_bail_out_is_a_failure(self):
        by_name = {r.name: r for r in results_of("kselftest-bad.tap")}
        self.assertEqual(by_name["bails"].note, "Bail out! no device")

    def test_cut_off_names_the_test_that_ran(self):
        last = results_of("kselftest-cut.tap")[-1]
        self.assertEqual((last.name, last.passed), ("second", False))
        self.assertIn("3 tests planned, 1 ended", last.note)

    def test_nothing_at_all_is_a_failure(self):
        self.assertEqual([r.passed for r in ktap.parse_ktap([])], [False])
        self.assertEqual([r.passed for r in ktap.parse_ktap(["TAP version 13", "1..0"])], [False])


class Kunit(unittest.TestCase):
    def results_of(self, name):
        lines = (DATA / name).read_text().splitlines()
        return ktap.parse_ktap(ktap.kernel_log(lines), ktap.KUNIT)

    def test_all_states(self):
        self.assertEqual(verdicts(self.results_of("kunit.log")), {
            "blk-time.same_stamp": True, "blk-time.sleep": True, "blk-time.yield": False,
            "blk-time.irq.hardirq, no stamp": True, "blk-time.irq.softirq": False,
            "blk-time.fork": True})

    def test_skip_of_all_parameters_is_a_skip(self):
        notes = {r.name: r.note for r in self.results_of("kunit.log")}
        self.assertEqual(notes["blk-time.sleep"], "SKIP no sleep fits into a tick")

    def test_details_of_a_failure(self):
        details = {r.name: r.details for r in self.results_of("kunit.log")}
        self.assertIn("yield: ASSERTION FAILED at block/blk-time-test.c:411",
                      details["blk-time.yield"])
        self.assertIn("irq: EXPECTATION FAILED at block/blk-time-test.c:572",
                      details["blk-time.irq.softirq"])

    def test_cut_off(self):
        last = self.results_of("kunit-cut.log")[-1]
        self.assertFalse(last.passed)
        self.assertIn("1 tests planned, 0 ended", last.note)

    def test_log_without_results_is_a_failure(self):
        self.assertEqual([r.passed for r in self.results_of("clean.log")], [False])


class Show(unittest.TestCase):
    def test_lines(self):
        out = io.StringIO()
        failed = ktap.show("stage", [
            ktap.Result("good", True), ktap.Result("left out", True, "SKIP no disk"),
            ktap.Result("bad", False, "exit=1", ["why"])], out)
        self.assertEqual(failed, 1)
        self.assertEqual(out.getvalue(),
                         "ok - stage: good\nok - stage: left out # SKIP no disk\n"
                         "not ok - stage: bad # exit=1\n# why\n")
