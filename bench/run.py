"""Runs the contestants over one table, in turn and as whole processes, and prints their ratios to the suite written by hand.

    python bench/run.py [--rows 10000000] [--rounds 5] [--suites five twenty] [--order station|time|none] [--broken]
                        [--parts N] [--peers dataframely soda] [--no-limit]

Processor time is that of the work alone, after the imports; memory is the most that the process ever held. Each peer is
installed into an environment of its own, under .bench/. Figures are medians of the rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
STORE = HERE.parent / ".bench"
PEERS = {"dataframely": ["dataframely", "polars"], "soda": ["soda-core-duckdb", "setuptools<81", "pytz"]}


@dataclass(frozen=True, slots=True)
class Figures:
    """One process: processor seconds of its work and of all of it, the most memory it held in MB, the checks that held."""

    work: float
    whole: float
    megabytes: float
    checks: int
    passed: int


def ran(command: list[str]) -> tuple[int, str, resource.struct_rusage]:
    """A process's exit status, what it printed, and what it used. Its memory counts from what this one holds, which is little."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        said = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, said, usage


def measured(command: list[str]) -> Figures:
    """Runs a contestant. Raises CalledProcessError where it does not finish."""
    exit_status, said, usage = ran(command)
    if exit_status:
        raise subprocess.CalledProcessError(exit_status, command)
    told = json.loads(said.strip().splitlines()[-1])
    return Figures(told["cpu_seconds"], usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000, told["checks"], told["passed"])


def table_of(rows: int, *, order: str, broken: bool, parts: int) -> Path:
    """The table to check, made where it is not there yet."""
    folder = STORE / f"{rows}-{order}{'-broken' if broken else ''}{f'-{parts}' if parts > 1 else ''}"
    target = folder / ("readings" if parts > 1 else "readings.parquet")
    if not (folder / "stations.parquet").exists():
        flags = ["--order", order, "--parts", str(parts), *(["--broken"] if broken else [])]
        subprocess.run([sys.executable, str(HERE / "readings.py"), str(rows), str(target), *flags], check=True)
    return target


def python_of(peer: str, packages: list[str]) -> str:
    """The Python of a peer's own environment with those packages, made where it is not there yet."""
    home = STORE / "venvs" / peer
    python = home / "bin" / "python"
    if not (home / ".installed").exists():
        subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *packages], check=True)
        (home / ".installed").touch()
    return str(python)


def contestants(asked: argparse.Namespace) -> dict[str, list[str]]:
    """What is run, in its order."""
    named = {"by hand": [sys.executable, str(HERE / "by_hand.py")], "dq_dagster": [sys.executable, str(HERE / "ours.py")]}
    if asked.limit:
        named["limit"] = [sys.executable, str(HERE / "limit.py")]
    return {**named, **{peer: [python_of(peer, PEERS[peer]), str(HERE / "peers" / f"{peer}_suite.py")] for peer in asked.peers}}


def compare(suite: str, table: Path, named: dict[str, list[str]], rounds: int) -> dict[str, list[Figures]]:
    """The figures of each contestant, one a round; the first round only warms the files up."""
    figures: dict[str, list[Figures]] = {name: [] for name in named}
    for number in range(rounds + 1):
        for name, command in named.items():
            found = measured([*command, suite, str(table)])
            if number:
                figures[name].append(found)
    return figures


def ratios(figures: dict[str, list[Figures]]) -> dict[str, float]:
    """Each contestant's work as a ratio to the suite written by hand: the median of the rounds' own ratios."""
    by_hand = figures["by hand"]
    return {
        name: statistics.median(one.work / base.work for one, base in zip(found, by_hand, strict=True)) for name, found in figures.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--suites", nargs="+", choices=("five", "twenty"), default=["five", "twenty"])
    parser.add_argument("--order", choices=("station", "time", "none"), default="station")
    parser.add_argument("--broken", action="store_true")
    parser.add_argument("--parts", type=int, default=1)
    parser.add_argument("--peers", nargs="*", choices=tuple(PEERS), default=[])
    parser.add_argument("--no-limit", dest="limit", action="store_false")
    asked = parser.parse_args()
    table = table_of(asked.rows, order=asked.order, broken=asked.broken, parts=asked.parts)
    named = contestants(asked)
    print("| suite | contestant | ratio | work, CPU s | whole process, CPU s | memory, MB | passed |")
    print("|---|---|---|---|---|---|---|")
    for suite in asked.suites:
        figures = compare(suite, table, named, asked.rounds)
        for name, ratio in ratios(figures).items():
            work, whole, megabytes = (
                statistics.median(getattr(one, figure) for one in figures[name]) for figure in ("work", "whole", "megabytes")
            )
            held = f"{figures[name][0].passed} of {figures[name][0].checks}"
            print(f"| {suite} | {name} | {ratio:.2f} | {work:.2f} | {whole:.2f} | {megabytes:.0f} | {held} |", flush=True)


if __name__ == "__main__":
    main()
