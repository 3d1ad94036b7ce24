"""What the Python scripts of the harness share: paths, options, results."""

import argparse
import json
import os
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
SCRIPTS = TOP / "scripts"
SERIES = os.environ.get("SERIES", "6.1")
BUILD = Path(os.environ.get("BUILD", TOP / "build"))
OUT = Path(os.environ.get("OUT", TOP / "out"))
TREES = ("base", "patched")
# Configurations that guest/configs.sh knows, in the order of the report, and
# those of them that are measured with iostats off as well.
CONFIGS = ("none", "wbt", "iolatency", "iocost", "throttle", "mq-deadline", "bfq", "cfq", "all")
# The base kernel has no such scheduler.
PATCHED_ONLY = ("cfq",)
WITHOUT_IOSTATS = ("none",)


class Parser(argparse.ArgumentParser):
    """One clear line for a bad option, and exit status 2."""

    def __init__(self, prog, doc):
        super().__init__(prog=prog, description=doc.partition("\n\n")[2], allow_abbrev=False,
                         formatter_class=argparse.RawDescriptionHelpFormatter)

    def error(self, message):
        self.exit(2, f"{self.prog}: {message} (see --help)\n")


def number(low, high):
    """For add_argument(type=...): a number in a range."""
    def convert(text):
        if not (text.isascii() and text.isdigit() and low <= int(text) <= high):
            raise argparse.ArgumentTypeError(f"'{text}' is not a number from {low} to {high}")
        return int(text)
    return convert


def config_names(text):
    """For add_argument(type=...): configurations, comma separated."""
    chosen = text.split(",")
    for name in chosen:
        if name not in CONFIGS:
            raise argparse.ArgumentTypeError(f"no such config: '{name}' ({', '.join(CONFIGS)})")
    return chosen


def configs_of(tree, configs):
    """Those of the configurations that the kernel of a tree has."""
    return [c for c in configs if tree == "patched" or c not in PATCHED_ONLY]


def settings_of(config):
    """The values of iostats that a configuration is measured with."""
    return (1, 0) if config in WITHOUT_IOSTATS else (1,)


def runs_of(configs):
    """(config, iostats) of each measurement."""
    return [(config, iostats) for config in configs for iostats in settings_of(config)]


def write_results(name, rows):
    """Raw figures, one JSON object a line, all or nothing; returns the path."""
    path = BUILD / "results" / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text("".join(json.dumps(row) + "\n" for row in rows))
    part.replace(path)
    return path


def read_results(name):
    path = BUILD / "results" / f"{name}.jsonl"
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines()]
