"""Runs the suite of twenty checks on a local Spark: hand-written Spark SQL, ours, DQX and SparkDQ, in turn and one process each.

    python bench/run_spark.py [--rows 10000000] [--rounds 1] [--peers dqx sparkdq] [--without-json]

Prints a table of CPU seconds once the session stands, as ratios to the suite by hand in the same round (medians of the
rounds), and of Spark's jobs. The peers are installed into an environment of their own, under .bench/. What each of them
states of the suite stands in bench/spark/s20.py.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from run import python_of, table_of

PEERS = ["pyspark==4.0.1", "databricks-labs-dqx==0.17.0", "sparkdq==0.12.1", "pyyaml"]
SUITE = Path(__file__).parent / "spark" / "s20.py"


def told_by(who: str, table: Path, *, json_too: bool) -> dict[str, Any]:
    """What a contestant says of itself. Raises CalledProcessError where it does not finish."""
    python = python_of("spark", PEERS) if who in ("dqx", "sparkdq") else sys.executable
    command = [python, str(SUITE), who, str(table), *([] if json_too else ["--without-json"])]
    ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
    return json.loads(ran.stdout.strip().splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--peers", nargs="*", choices=("dqx", "sparkdq"), default=[])
    parser.add_argument("--without-json", dest="json_too", action="store_false")
    asked = parser.parse_args()
    table = table_of(asked.rows, order="station", broken=False, parts=1)
    named = ["reference", "ours", *asked.peers]
    told: dict[str, list[dict[str, Any]]] = {who: [] for who in named}
    for _ in range(asked.rounds):
        for who in named:
            told[who].append(told_by(who, table, json_too=asked.json_too))
            print(json.dumps(told[who][-1]), file=sys.stderr, flush=True)
    print("| contestant | checks | CPU s | of the suite by hand | Spark jobs |\n|---|---|---|---|---|")
    for who, rounds in told.items():
        spent = statistics.median(one["cpu_s"] for one in rounds)
        ratio = statistics.median(one["cpu_s"] / base["cpu_s"] for one, base in zip(rounds, told["reference"], strict=True))
        print(f"| {who} | {rounds[0]['checks']} | {spent:.1f} | {ratio:.2f} | {rounds[0]['jobs']} |")


if __name__ == "__main__":
    main()
