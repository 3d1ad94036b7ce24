"""The report: rows on known figures, and its text word for word."""

import unittest
from pathlib import Path

import report

DATA = Path(__file__).resolve().parent / "data"
SOURCES = {"package": "linux-source-6.1", "package_version": "6.1.192-3",
           "commit": "0123456789abcdef", "series_sha256": "a" * 64,
           "overlay_sha256": "b" * 64, "config_sha256": "c" * 64,
           "compiler": "gcc (Debian 12.2.0-14) 12.2.0"}
FIELDS = {"bench", "config", "iostats", "batch", "base_iops", "patched_iops", "ratio",
          "ratio_min", "ratio_max", "base_reads_per_io", "patched_reads_per_io"}


def bench(config, iostats, figures):
    return [{"pair": i, "round": 1, "tree": tree, "config": config, "iostats": iostats, "batch": 32,
             "iops": iops}
            for i, pair in enumerate(figures) for tree, iops in zip(("base", "patched"), pair)]


def rows():
    raw = bench("none", 1, [(4000000, 4800000), (2000000, 2600000), (4000000, 5000000),
                            (4000000, 4900000), (3000000, 3600000), (4000000, 4800000)])
    raw += bench("none", 0, [(4000000, 4100000), (4000000, 3900000)])
    reads = [{"tree": tree, "config": "none", "iostats": 1, "batch": 32, "ios": 1000,
              "issue": issue, "completion": 1000, "other": 9,
              "after_tick": 10}
             for tree, issue in (("base", 2000), ("patched", 63))]
    fio = [{"tree": "patched", "config": "none", "device": "raid1", "engine": "io_uring",
            "operation": "randwrite", "iops": 12345.6}]
    latencies = [{"tree": tree, "config": "none", "completion": "inline", "batch": 32,
                  "stat_ns": stat, "sampled_ns": 2000}
                 for tree, stat in (("base", 1980), ("patched", 2100))]
    return report.make_rows(raw, reads, fio, latencies)


class Rows(unittest.TestCase):
    def test_every_row_has_all_fields(self):
        for row in rows():
            self.assertLessEqual(FIELDS, set(row))

    def test_ratio_is_the_median_of_the_pairs_ratios(self):
        row = rows()[0]
        self.assertEqual(row["ratio"], 1.2125)      # of 1.2 1.2 1.2 1.225 1.25 1.3
        self.assertEqual((row["ratio_min"], row["ratio_max"]), (1.2, 1.3))
        self.assertEqual(row["ratio_interval"], [1.2, 1.3])
        self.assertEqual(row["verdict"], "faster")

    def test_ratio_of_a_pair_is_the_median_of_its_rounds(self):
        figures = [(400, 480), (200, 240), (400, 200), (200, 250), (400, 488)]
        items = bench("none", 1, figures)
        for turn, item in enumerate(items):
            item.update(pair=0, round=turn // 2)
        self.assertEqual(report.pair_ratio(items), 1.2)

    def test_two_pairs_cannot_tell(self):
        row = rows()[1]
        self.assertEqual((row["iostats"], row["verdict"]), (0, "cannot tell"))
        self.assertIsNone(row["base_reads_per_io"])

    def test_clock_reads(self):
        row = rows()[0]
        self.assertEqual((row["base_reads_per_io"], row["patched_reads_per_io"]), (3.0, 1.063))
        self.assertEqual(row["patched_issue_reads_per_io"], 0.063)

    def test_iostats_on_against_off(self):
        row = rows()[0]
        self.assertEqual((row["base_on_off"], row["patched_on_off"]), (0.75, 0.9187))
        self.assertNotIn("patched_on_off", rows()[1])

    def test_latency(self):
        row = rows()[2]
        self.assertEqual((row["bench"], row["base_stat_ratio"], row["patched_stat_ratio"]),
                         ("latency", 0.99, 1.05))
        self.assertIsNone(row["ratio"])

    def test_fio_has_no_ratio(self):
        row = rows()[-1]
        self.assertEqual((row["bench"], row["patched_iops"]), ("fio", 12346))
        self.assertIsNone(row["base_iops"])
        self.assertIsNone(row["ratio"])


class Text(unittest.TestCase):
    REPORT = {"kernel": "6.1.192", "host": "a machine, 2 CPUs, no KVM", "sources": SOURCES}

    def test_golden(self):
        self.maxDiff = None
        text = report.make_text(self.REPORT | {"rows": rows()})
        self.assertEqual(text, (DATA / "report.txt").read_text())

    def test_plot_has_a_line_for_each_ratio(self):
        plot = report.make_plot(self.REPORT | {"rows": rows()}, "x.svg")
        self.assertIn('0 1.2125 1.2 1.3 "none"\n1 1.0 0.975 1.025 "none (iostats 0)"\nEOD', plot)
