"""What clock-reads and fio-regress make of the guest's output."""

import json
import tempfile
import unittest
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parent.parent


def load(name):
    loader = SourceFileLoader(name.replace("-", "_"), str(SCRIPTS / name))
    module = module_from_spec(spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


clock_reads = load("clock-reads")
fio_regress = load("fio-regress")
latencies = load("latencies")


class ClockReads(unittest.TestCase):
    SIDES = clock_reads.load_sides()
    TRACE = """submit_bio blk_bench_lap
ktime_get bfq_insert_requests
ktime_get tick_sched_timer
ktime_get __blk_mq_end_request
ktime_get blk_mq_start_request
ktime_get blk_mq_start_request
submit_bio blk_bench_lap
ktime_get __blk_mq_end_request
ktime_get blk_bench_lap
ktime_get tick_sched_timer
""".splitlines()

    def test_sides(self):
        for caller, side in (("blk_mq_start_request", "issue"),
                             ("bfq_insert_request.isra.0", "issue"),
                             ("bfq_somebody_new", "issue"),
                             ("__blk_mq_end_request", "completion"),
                             ("ioc_rqos_done", "completion"),
                             ("blk_bench_lap", "other"),
                             ("tick_sched_timer", "other")):
            self.assertEqual(clock_reads.side_of(caller, self.SIDES), side, caller)

    def test_count(self):
        total = clock_reads.count(self.TRACE, self.SIDES)
        self.assertEqual(total["ios"], 2)
        self.assertEqual((total["issue"], total["completion"], total["other"]), (3, 2, 3))
        self.assertEqual(total["callers"]["blk_mq_start_request"], 2)

    def test_only_the_first_read_of_a_side_behind_a_tick_is_the_ticks(self):
        self.assertEqual(clock_reads.count(self.TRACE, self.SIDES)["after_tick"], 2)

    def test_empty_trace(self):
        self.assertEqual(clock_reads.count([], self.SIDES)["ios"], 0)


class Latencies(unittest.TestCase):
    def test_row(self):
        row = latencies.row("patched", 32, "none inline 2000000 5 1900 2400")
        self.assertEqual((row["stat_ns"], row["sampled_ns"], row["samples"]), (2, 2400, 1900))

    def test_no_io(self):
        with self.assertRaises(SystemExit):
            latencies.row("patched", 32, "none timer 0 0 0 0")


def fio_report(error=0, reads=0, writes=0):
    return {"jobs": [{"error": error,
                      "read": {"total_ios": reads, "iops": reads / 2},
                      "write": {"total_ios": writes, "iops": writes / 2}}]}


class Fio(unittest.TestCase):
    def test_good(self):
        self.assertEqual(fio_regress.judge(fio_report(reads=10), "randread"), (5, None))
        self.assertEqual(fio_regress.judge(fio_report(reads=10, writes=10), "randwrite"), (5, None))

    def test_error(self):
        self.assertEqual(fio_regress.judge(fio_report(error=84, reads=1), "randread")[1], "error 84")

    def test_no_io(self):
        self.assertEqual(fio_regress.judge(fio_report(writes=5), "randread")[1], "no I/O")

    def test_unverified_write(self):
        self.assertIn("verified", fio_regress.judge(fio_report(reads=9, writes=10), "randwrite")[1])

    def test_job_that_left_nothing_fails(self):
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "raid1.none.psync.randread.json"
            path.write_text(json.dumps(fio_report(reads=10)))
            (Path(directory) / "xfs.none.psync.randread.json").write_text('{"jobs": [')
            rows, lines = fio_regress.results(fio_regress.load(directory), "patched")
        self.assertEqual(len(rows), 1)
        self.assertIn("ok - fio: raid1 psync randread", lines)
        self.assertEqual(sum(line.startswith("not ok") for line in lines),
                         len(fio_regress.JOBS) - 1)
