"""The ids under which another system's checks are reported: its names, made fit for ours, no two alike."""

from __future__ import annotations

import re

LONGEST = 128


def fit_id(name: str) -> str:
    """The name as a check id: lower-case letters, digits and `_`, a letter first."""
    fit = re.sub(r"[^a-z0-9_]", "_", name.lower())
    fit = fit if re.match(r"[a-z]", fit) else f"c_{fit.lstrip('_')}"
    return fit[:LONGEST]


class Ids:
    """Gives out ids, each once, always the same for the same names in the same order."""

    def __init__(self) -> None:
        self._given: set[str] = set()

    def give(self, name: str) -> str:
        """The id for a name; where it is taken, with the next free number appended."""
        wanted = fit_id(name)
        given, number = wanted, 1
        while given in self._given:
            number += 1
            given = f"{wanted[: LONGEST - len(str(number)) - 1]}_{number}"
        self._given.add(given)
        return given
