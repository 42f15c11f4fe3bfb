"""What each kind that holds state does under a small memory limit: its status, processor time and the most memory held.

    python bench/flat_memory.py [--rows 10000000] [--memory 400] [--seconds 300] [--only CHECK_ID...]

The checks are those of suites/state.yaml, each in a process of its own, over rows in no order that are all different. A
check may end `not_evaluated` with a budget's code; it may neither die nor hold more than the limit and ALLOWED_MB besides.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import yaml
from run import STORE, ran

HERE = Path(__file__).parent
SUITE = HERE / "suites" / "state.yaml"
ALLOWED_MB = 512  # what Python, Arrow and DuckDB's own bookkeeping take beside the limit

# Rows all differ but for the last, which has the first one's key. A `twin` stands in two rows far apart. The others share
# the second half of the keys.
_ROWS = """
SELECT
    sha256((CASE place WHEN {rows} - 1 THEN 0 ELSE place END)::VARCHAR) AS key,
    sha256('twin ' || (place % ({rows} // 2) + {first})) AS twin,
    (hash(place) >> 2)::BIGINT AS number,
    (hash(place + 1) / 1e6)::DOUBLE AS amount,
    (hash(place + 2) >> 2)::VARCHAR AS digits,
    TIMESTAMPTZ '1970-01-01 00:00:00+00' + to_seconds((hash(place + 3) % 9000000000)::BIGINT) AS at,
    [(hash(place) >> 3)::BIGINT, place] AS pair,
    ['north', 'east', 'south', 'west'][(1 + hash(place + 4) % 4)::INTEGER] AS region
FROM (SELECT range AS place FROM range({first}, {first} + {rows}))
"""


def write(rows: int, table: Path) -> None:
    """Writes the table, and others.parquet beside it."""
    import duckdb

    table.parent.mkdir(parents=True, exist_ok=True)
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for target, first in ((table.parent / "others.parquet", rows // 2), (table, 0)):
            connection.execute(f"COPY ({_ROWS.format(rows=rows, first=first)}) TO '{target}.part' (FORMAT parquet, COMPRESSION zstd)")
            Path(f"{target}.part").rename(target)


def evaluated(check_id: str, table: Path, memory: int, seconds: float, spill: int | None) -> None:
    """What one process does: it evaluates one check and prints the outcome as a line of JSON."""
    import dq_dagster as dq

    document = yaml.safe_load(SUITE.read_text(encoding="utf-8"))
    document["checks"] = [check for check in document["checks"] if check["check_id"] == check_id]
    references = {"others": str(table.parent / "others.parquet")}
    limits = dq.Limits(memory_limit=f"{memory}MiB", scan_seconds=seconds, max_temp_bytes=spill, scan_bytes=2**50)
    started = time.process_time()
    (outcome,) = dq.evaluate(dq.load_recipe(document), str(table), references=references, limits=limits).outcomes
    print(json.dumps({"status": outcome.status, "detail": outcome.detail, "cpu": time.process_time() - started}))


def measured(command: list[str]) -> tuple[dict[str, Any], int]:
    """What a process said, and the most memory that it held, in MB."""
    exit_status, said, usage = ran(command)
    if exit_status:
        return {"status": "died", "detail": f"exit status {exit_status}", "cpu": 0.0}, usage.ru_maxrss // 1024
    return json.loads(said.strip().splitlines()[-1]), usage.ru_maxrss // 1024


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--memory", type=int, default=400, help="MiB")
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--spill", type=int, help="bytes that may be spilled (default: as many as the disk holds)")
    parser.add_argument("--only", nargs="+")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--write", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    table = STORE / f"{asked.rows}-keyed" / "keyed.parquet"
    if asked.one:
        evaluated(asked.one, table, asked.memory, asked.seconds, asked.spill)
        return 0
    if asked.write:
        write(asked.rows, table)
        return 0
    if not table.exists():
        subprocess.run([sys.executable, __file__, "--write", *sys.argv[1:]], check=True)
    names = asked.only or [check["check_id"] for check in yaml.safe_load(SUITE.read_text(encoding="utf-8"))["checks"]]
    print(f"| check over {asked.rows} rows, {asked.memory} MiB | status | CPU s | wall s | memory, MB | |\n|---|---|---|---|---|---|")
    is_wrong = False
    for name in names:
        started = time.monotonic()
        told, megabytes = measured([sys.executable, __file__, "--one", name, *sys.argv[1:]])
        fault = "died" if told["status"] == "died" else "holds too much" if megabytes > asked.memory + ALLOWED_MB else ""
        is_wrong |= bool(fault)
        wall = time.monotonic() - started
        print(f"| {name} | {told['status']} | {told['cpu']:.1f} | {wall:.0f} | {megabytes} | {fault} |", flush=True)
        print(f"    {told['detail'][:300]}", file=sys.stderr, flush=True)
    return int(is_wrong)


if __name__ == "__main__":
    sys.exit(main())
