"""What files that state their keys save when they are checked, and what it costs to watch for keys while writing.

    python bench/stated_keys.py [--rows 10000000] [--parts 100] [--rounds 3]

Prints, for each suite, the processor time of a check that believes the files over one that looks for keys in the rows, and
of writing a part with its keys watched over writing it without: medians of rounds in which both take turns.
"""

from __future__ import annotations

import argparse
import io
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median

import pyarrow.parquet as pq
import readings
import yaml
from measured import seconds_of

import dq_dagster as dq
from dq_dagster.definitions.parquet_files import write_parquet
from dq_dagster.key_recording import record_keys

SUITES = Path(__file__).parent / "suites"
KEYS = [["station", "observed_at"], ["reading_id"]]


def ratio(one: Callable[[], object], other: Callable[[], object], rounds: int) -> float:
    """The processor time of one over that of the other, after a round that is not counted."""
    return median([seconds_of(one) / seconds_of(other) for _ in range(rounds + 1)][1:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--parts", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder, "readings")
        readings.write(asked.rows, table, order="station", broken=False, parts=asked.parts)
        record_keys(table, KEYS)
        for suite in ("five", "twenty"):
            recipe = dq.load_recipe(yaml.safe_load((SUITES / f"{suite}.yaml").read_text(encoding="utf-8")))

            def check(*, stated: bool, recipe: dq.Recipe = recipe) -> None:
                limits = dq.Limits(key_records=stated)
                found = dq.evaluate(recipe, table, references={"stations": Path(folder, "stations.parquet")}, limits=limits)
                assert all(outcome.status == "passed" for outcome in found.outcomes)

            print(f"{suite}: {ratio(lambda: check(stated=True), lambda: check(stated=False), asked.rounds):.2f}")
        part = pq.read_table(min(table.iterdir()))
        written = ratio(lambda: write_parquet(part, io.BytesIO(), keys=KEYS), lambda: write_parquet(part, io.BytesIO()), 5 * asked.rounds)
        print(f"writing: {written:.2f}")


if __name__ == "__main__":
    main()
