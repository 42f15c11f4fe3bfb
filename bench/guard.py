"""Fails where dq_dagster has grown slow: its ratio to the suite written by hand, over a million rows, is above a ceiling.

    python bench/guard.py

A ratio from one round holds on any machine, so this runs in CI. The ceilings leave room for noise, not for a slower way:
without the ways that the planner chooses, `five` stands at 1.6, and `twenty` at 7.5, at 16 where the table is broken.
"""

from __future__ import annotations

import sys

from run import HERE, compare, ratios, table_of

CEILINGS = {("five", False): 1.2, ("twenty", False): 1.4, ("five", True): 1.9, ("twenty", True): 3.0}
ROUNDS = 3


def main() -> int:
    is_slow = False
    named = {"by hand": [sys.executable, str(HERE / "by_hand.py")], "dq_dagster": [sys.executable, str(HERE / "ours.py")]}
    for (suite, broken), ceiling in CEILINGS.items():
        table = table_of(1_000_000, order="station", broken=broken, parts=1)
        figures = compare(suite, table, named, ROUNDS)
        ratio = ratios(figures)["dq_dagster"]
        said = "too slow" if ratio > ceiling else "ok"
        print(f"{suite}{', broken' if broken else ''}: {ratio:.2f} of the suite by hand, at most {ceiling} allowed: {said}", flush=True)
        is_slow |= ratio > ceiling
    return int(is_slow)


if __name__ == "__main__":
    sys.exit(main())
