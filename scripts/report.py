#!/usr/bin/python3
"""usage: scripts/report.py

Writes what was measured to out/report.json, .txt and .svg: reads build/results/*.jsonl, the raw figures of bench, fio-regress,
clock-reads and latencies, one JSON object a line; what was not measured is null.
"""

import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

from harness import BUILD, OUT, SERIES, TOP, read_results
from stats import median, median_interval, verdict

OVERLAY = ("block", "include", "Documentation", "tools")
EMPTY_ROW = dict.fromkeys((
    "bench", "config", "iostats", "batch", "base_iops", "patched_iops", "ratio",
    "ratio_min", "ratio_max", "base_reads_per_io", "patched_reads_per_io"))


# Rows

def grouped(raw, *fields):
    groups = {}
    for item in raw:
        groups.setdefault(tuple(item[f] for f in fields), []).append(item)
    return groups


def pair_ratio(items):
    """Of a pair of kernels: only measurements of one round are neighbours."""
    rounds = [{item["tree"]: item["iops"] for item in turn}
              for turn in grouped(items, "round").values()]
    if any(len(r) < 2 for r in rounds):
        return None         # the base has no such scheduler
    return median([r["patched"] / r["base"] for r in rounds])


def bench_row(config, iostats, batch, items):
    """One configuration: ratios are taken within each pair only."""
    ratios = [pair_ratio(pair) for pair in grouped(items, "pair").values()]
    if None in ratios:
        return EMPTY_ROW | {
            "bench": "blk-bench", "config": config, "iostats": iostats, "batch": batch,
            "patched_iops": round(median([i["iops"] for i in items])), "pairs": len(ratios)}
    iops = {tree: [item["iops"] for item in found]
            for (tree,), found in grouped(items, "tree").items()}
    interval = median_interval(ratios)
    return EMPTY_ROW | {
        "bench": "blk-bench", "config": config, "iostats": iostats, "batch": batch,
        "base_iops": round(median(iops["base"])),
        "patched_iops": round(median(iops["patched"])),
        "ratio": round(median(ratios), 4),
        "ratio_min": round(min(ratios), 4), "ratio_max": round(max(ratios), 4),
        "ratio_interval": [round(x, 4) for x in interval] if interval else None,
        "pairs": len(ratios), "verdict": verdict(interval)}


def compare_cfq(rows, bench):
    """CFQ's speed over that of the others in the same kernel, by pairs of kernels."""
    found = {key: median([i["iops"] for i in items]) for key, items in grouped(
        [i for i in bench if i["tree"] == "patched" and i["iostats"] == 1],
        "batch", "pair", "config").items()}
    for (config, _, batch), row in rows.items():
        if config != "cfq":
            continue
        for other in ("bfq", "mq-deadline"):
            ratios = [iops / found[b, pair, other] for (b, pair, c), iops in found.items()
                      if c == "cfq" and b == batch and (b, pair, other) in found]
            if ratios:
                row["over_" + other.replace("-", "_")] = round(median(ratios), 4)


def on_off_fields(items):
    """iostats on against off on either kernel, of measurements of one round."""
    fields = {}
    for tree in ("base", "patched"):
        pairs = []
        for pair in grouped([i for i in items if i["tree"] == tree], "pair").values():
            rounds = [{item["iostats"]: item["iops"] for item in turn}
                      for turn in grouped(pair, "round").values()]
            ratios = [r[1] / r[0] for r in rounds if len(r) == 2]
            pairs += [median(ratios)] if ratios else []
        if pairs:
            fields[f"{tree}_on_off"] = round(median(pairs), 4)
    return fields


def reads_fields(items):
    """Clock reads per I/O of both kernels, whole and split by side."""
    fields = {}
    for item in items:
        for side in ("issue", "completion", "after_tick"):
            fields[f"{item['tree']}_{side}_reads_per_io"] = round(item[side] / item["ios"], 4)
        fields[f"{item['tree']}_reads_per_io"] = round(
            (item["issue"] + item["completion"]) / item["ios"], 4)
    return fields


def latency_rows(items):
    """What stat says that a read takes, and what asking the clock says."""
    rows = []
    for (config, completion, batch), found in grouped(
            items, "config", "completion", "batch").items():
        row = EMPTY_ROW | {"bench": "latency", "config": config, "iostats": 1, "batch": batch,
                           "completion": completion}
        for item in found:
            tree = item["tree"]
            row[f"{tree}_stat_ns"] = item["stat_ns"]
            row[f"{tree}_sampled_ns"] = item["sampled_ns"]
            row[f"{tree}_stat_ratio"] = round(item["stat_ns"] / item["sampled_ns"], 4)
        rows.append(row)
    return rows


def cfq_job_rows(items):
    """Medians of cfq.job by what it ran under; charged is part of the time that passed."""
    rows = []
    for (run,), found in grouped(items, "run").items():
        row = EMPTY_ROW | {"bench": "cfq.job", "config": run, "iostats": 1,
                           "rounds": len(found), "seconds": found[0]["seconds"]}
        for group in ("cfq_a", "cfq_b"):
            row[f"patched_{group}_iops"] = median([i[f"{group}_iops"] for i in found])
        if found[0]["cfq_a_charged_ns"] is not None:
            row["patched_charged"] = round(median(
                [(i["cfq_a_charged_ns"] + i["cfq_b_charged_ns"]) / (i["seconds"] * 1e9)
                 for i in found]), 4)
        rows.append(row)
    return rows


def make_rows(bench, reads, fio, latencies=(), cfq_job=()):
    key = ("config", "iostats", "batch")
    rows = {k: bench_row(*k, items) for k, items in grouped(bench, *key).items()}
    for (config, batch), items in grouped(bench, "config", "batch").items():
        if (config, 1, batch) in rows:
            rows[config, 1, batch].update(on_off_fields(items))
    compare_cfq(rows, bench)
    for k, items in grouped(reads, *key).items():
        row = rows.setdefault(k, EMPTY_ROW | {"bench": "blk-bench"} | dict(zip(key, k)))
        row.update(reads_fields(items))
    return list(rows.values()) + latency_rows(latencies) + cfq_job_rows(cfq_job) + [
        EMPTY_ROW | {"bench": "fio", "config": item["config"], "iostats": 1,
                     "device": item["device"], "engine": item["engine"],
                     "operation": item["operation"],
                     item["tree"] + "_iops": round(item["iops"])} for item in fio]


# Where the figures come from

def sha256(paths):
    """Hash of the names and contents of files."""
    total = hashlib.sha256()
    for path in paths:
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        total.update(f"{path.relative_to(TOP)} {content}\n".encode())
    return total.hexdigest()


def command_line(*command):
    """First line of what a command prints, or None."""
    try:
        done = subprocess.run(command, cwd=TOP, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.partition("\n")[0]


def pin():
    lines = (TOP / "patches" / SERIES / "base").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line)


def sources():
    package = pin()
    overlay = [p for top in OVERLAY for p in (TOP / top).rglob("*") if p.is_file()]
    return {
        "package": package["package"], "package_version": package["version"],
        "commit": command_line("git", "rev-parse", "HEAD"),
        "series_sha256": sha256(sorted((TOP / "patches" / SERIES).iterdir())),
        "overlay_sha256": sha256(sorted(overlay)),
        "config_sha256": sha256(sorted((TOP / "config").iterdir())),
        "compiler": command_line("gcc", "--version")}


def host():
    model = platform.machine()
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
    kvm = "/dev/kvm" if os.access("/dev/kvm", os.W_OK) else "no /dev/kvm"
    return f"{model}, {os.cpu_count()} CPUs, {kvm}"


def make_report(rows):
    where = sources()
    return {"kernel": where["package_version"].rpartition("-")[0], "host": host(),
            "sources": where, "rows": rows}


# For a person

def table(header, lines):
    """Aligned columns: the first to the left, the others to the right."""
    cells = [header] + [["-" if c is None else str(c) for c in line] for line in lines]
    widths = [max(len(line[i]) for line in cells) for i in range(len(header))]
    return ["  ".join(c.ljust(w) if i == 0 else c.rjust(w)
                      for i, (c, w) in enumerate(zip(line, widths))).rstrip()
            for line in cells]


def fixed(value, digits=2):
    return None if value is None else f"{value:.{digits}f}"


def millions(iops):
    return None if iops is None else fixed(iops / 1e6)


def bench_text(rows):
    rows = [r for r in rows if r["bench"] == "blk-bench" and r["patched_iops"] is not None]
    if not rows:
        return []
    lines = [[r["config"], r["iostats"], r["batch"], millions(r["base_iops"]),
              millions(r["patched_iops"]), fixed(r["ratio"]), fixed(r["ratio_min"]),
              fixed(r["ratio_max"]),
              "-".join(fixed(x) for x in r.get("ratio_interval") or []) or None,
              r.get("verdict")] for r in rows]
    return ["", "Speed: blk-bench in the user-mode kernel, random reads of one page, null_blk.",
            f"M IOPS and ratio are medians, the ratio one of {rows[0]['pairs']} pairs of kernels, and in a pair of",
            "alternating rounds; 95 %: interval of the median ratio.", ""] + table(["config", "iostats", "batch", "base", "patched", "ratio", "min",
                         "max", "95 %", "verdict"], lines) + on_off_text(rows)


def on_off_text(rows):
    return [f"{r['config']}, iostats on against off, in alternating rounds: "
            f"{fixed(r.get('base_on_off'), 3)} base, {fixed(r.get('patched_on_off'), 3)} patched"
            for r in rows if r.get("patched_on_off")] + [
                f"cfq over {other}, in the patched kernel: "
                f"{fixed(r['over_' + other.replace('-', '_')])}"
                for r in rows for other in ("bfq", "mq-deadline")
                if "over_" + other.replace("-", "_") in r]


def latency_text(rows):
    rows = [r for r in rows if r["bench"] == "latency"]
    if not rows:
        return []
    columns = [f"{tree}_{what}" for tree in ("base", "patched")
               for what in ("stat_ns", "sampled_ns", "stat_ratio")]
    lines = [[r["config"], r["completion"]]
             + [fixed(r.get(c)) if c.endswith("ratio") else r.get(c) for c in columns]
             for r in rows]
    return ["", "Latency of a read in ns: the mean in /sys/block/*/stat, and that of one bio in a",
            "thousand by the clock, in the user-mode kernel.", ""] \
        + table(["config", "completion", "base: stat", "clock", "ratio",
                 "patched: stat", "clock", "ratio"], lines)


def cfq_job_text(rows):
    rows = [r for r in rows if r["bench"] == "cfq.job"]
    if not rows:
        return []
    lines = [[r["config"], fixed(r["patched_cfq_a_iops"], 0), fixed(r["patched_cfq_b_iops"], 0),
              fixed(r.get("patched_charged"))] for r in rows]
    return ["", f"cfq.job, {rows[0]['seconds']} s, medians of {rows[0]['rounds']} rounds in the "
            "patched user-mode kernel: cfq_a writes as", "fast as it can, cfq_b 2048 IOPS; "
            "cfq-jiffy charges each slice 1 ms at least.", ""] \
        + table(["scheduler", "cfq_a IOPS", "cfq_b IOPS", "charged/time"], lines)


def reads_text(rows):
    rows = [r for r in rows if r["base_reads_per_io"] is not None
            or r["patched_reads_per_io"] is not None]
    if not rows:
        return []
    columns = [f"{side}_reads_per_io" for side in (
        "base_issue", "base_completion", "patched_issue", "patched_completion",
        "patched_after_tick")]
    lines = [[r["config"], r["iostats"], r["batch"] or "no plug"]
             + [fixed(r.get(c), 3) for c in columns] for r in rows]
    return ["", "Clock reads per I/O, on its issue and its completion side: ftrace in QEMU.",
            "A kernel with all checks on is slow, so ticks end many stamps early; \"tick\" is the",
            "part that is due to them.", ""] \
        + table(["config", "iostats", "batch", "base: issue", "completion",
                 "patched: issue", "completion", "tick"], lines)


def fio_text(rows):
    rows = [r for r in rows if r["bench"] == "fio"]
    if not rows:
        return []
    lines = [[r["device"], r["engine"], r["operation"], r["patched_iops"]] for r in rows]
    return ["", "fio on the patched kernel in QEMU: a regression test, no measure of speed.", ""] \
        + table(["device", "engine", "operation", "IOPS"], lines)


def make_text(report):
    where = report["sources"]
    head = [f"Linux {report['kernel']} ({where['package']} {where['package_version']}), "
            "patched against unpatched", report["host"],
            f"{where['compiler']}; commit {str(where['commit'])[:12]}",
            " ".join(f"{name} {where[name + '_sha256'][:12]}"
                     for name in ("series", "overlay", "config"))]
    rows = report["rows"]
    return "\n".join(head + bench_text(rows) + cfq_job_text(rows) + reads_text(rows)
                     + latency_text(rows) + fio_text(rows)) + "\n"


def make_plot(report, path):
    """A gnuplot program: the ratio of each configuration with its spread."""
    rows = [r for r in report["rows"] if r["ratio"] is not None]
    data = [f'{i} {r["ratio"]} {r["ratio_min"]} {r["ratio_max"]} '
            f'"{r["config"]}{"" if r["iostats"] else " (iostats 0)"}"'
            for i, r in enumerate(rows)]
    return "\n".join([
        "$ratios << EOD", *data, "EOD",
        "set terminal svg size 900,480 background 'white'",
        f"set output '{path}'",
        f"set title 'Linux {report['kernel']}: IOPS patched / base, null\\_blk, "
        "median and range of pairs'",
        "set ylabel 'patched / base'",
        "set yrange [0:*]",
        "set xrange [-0.6:*]",
        "set offsets 0, 0.6, 0.1, 0",
        "set xtics rotate by -25",
        "set grid ytics",
        "set boxwidth 0.6",
        "set style fill solid 0.6",
        "unset key",
        "plot $ratios using 1:2:xtic(5) with boxes linecolor '#4878a8', \\",
        "     $ratios using 1:2:3:4 with yerrorbars linecolor 'black' pointtype 0, \\",
        "     1 linecolor 'black' dashtype 2", ""])


def write_svg(report):
    path = OUT / "report.svg"
    path.unlink(missing_ok=True)
    if not any(r["ratio"] is not None for r in report["rows"]):
        return
    if not shutil.which("gnuplot"):
        sys.exit("report.py: gnuplot is missing: scripts/install-deps")
    subprocess.run(["gnuplot"], input=make_plot(report, path), text=True, check=True)


def main():
    rows = make_rows(read_results("blk-bench"), read_results("clock-reads"), read_results("fio"),
                     read_results("latencies"), read_results("cfq-job"))
    if not rows:
        sys.exit(f"report.py: nothing measured in {BUILD / 'results'}: ./run does it")
    report = make_report(rows)
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / "report.json").write_text(json.dumps(report, indent=1) + "\n")
    (OUT / "report.txt").write_text(make_text(report))
    write_svg(report)


if __name__ == "__main__":
    main()
