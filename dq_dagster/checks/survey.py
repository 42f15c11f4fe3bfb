"""What a first look at a large table's first rows said, to choose between ways that are all exact."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

LOOKED_AT_ROWS = 20_000
_REPEATS_AT_LEAST = 8
_MOST_VALUES = 20_000  # more of them leave the processor's cache, and grouping costs more than it saves


@dataclass(frozen=True, slots=True)
class Survey:
    """About how many distinct values each text column holds, and some of its texts. No verdict rests on it."""

    distinct: Mapping[str, float] = field(default_factory=dict)
    texts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def repeats(self, name: str, *, rows: int) -> bool:
        """Whether a column's values seem to repeat so often that each is better judged once."""
        distinct = self.distinct.get(name, math.inf)
        return distinct <= _MOST_VALUES and distinct * _REPEATS_AT_LEAST <= rows


def distinct_in_all(distinct: int, values: int) -> float:
    """How many values there are to draw from, where that many draws brought that many distinct ones; infinite where none repeats.

    The expected number of distinct values among n draws of D is D (1 - exp(-n/D)), the birthday problem.
    """
    if distinct >= values:
        return math.inf
    low, high = float(distinct), float(max(values, 2)) ** 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if -middle * math.expm1(-values / middle) < distinct else (low, middle)
    return high
