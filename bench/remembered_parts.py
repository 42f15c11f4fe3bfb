"""What is saved where most parts of a table are known, and what it costs to get to know them.

    python bench/remembered_parts.py [--rows 10000000] [--parts 100] [--rounds 3] [--order station|time]

Prints, for each suite, the processor time of an evaluation that reads all parts, and as shares of it that of the first one
that remembers, and of one that finds a single new part beside known ones: medians of rounds in which they take turns.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from pathlib import Path
from statistics import median

import readings
import yaml
from measured import seconds_of

import dq_dagster as dq

SUITES = Path(__file__).parent / "suites"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--parts", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--order", choices=("station", "time"), default="station")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        table, aside, memory = (Path(folder, name) for name in ("readings", "newest.parquet", "memory"))
        readings.write(asked.rows, table, order=asked.order, broken=False, parts=asked.parts)
        newest = max(table.iterdir())
        for suite in ("five", "twenty"):
            recipe = dq.load_recipe(yaml.safe_load((SUITES / f"{suite}.yaml").read_text(encoding="utf-8")))

            def check(remember: Path | None = None, recipe: dq.Recipe = recipe) -> None:
                found = dq.evaluate(recipe, table, references={"stations": Path(folder, "stations.parquet")}, remember=remember)
                assert all(outcome.status == "passed" for outcome in found.outcomes)

            rounds: list[tuple[float, float, float]] = []
            for _ in range(asked.rounds + 1):
                shutil.rmtree(memory, ignore_errors=True)
                os.replace(newest, aside)
                first = seconds_of(lambda: check(memory))
                os.replace(aside, newest)
                rounds.append((seconds_of(check), first, seconds_of(lambda: check(memory))))
            whole = median(full for full, _, _ in rounds[1:])
            shares = [median(one[at] / one[0] for one in rounds[1:]) for at in (1, 2)]
            print(f"{suite}: all parts {whole:.2f} s, the first that remembers {shares[0]:.2f}, one new part {shares[1]:.2f}")


if __name__ == "__main__":
    main()
