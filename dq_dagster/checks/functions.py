"""What SQL cannot say: judgements written in Python, which kinds call in their SQL and engines make known by name.

A judgement is a pure function of a text and a parameter that is the same for all rows. An engine hands over whole
batches; each distinct text of a batch is judged once, and short texts that come again are remembered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import pyarrow as pa

Judge = Callable[[str, str], bool]
OverBatch = Callable[[Any, Any], pa.Array]

RESERVED = "dq_"
_REMEMBERED = 4096
_LONGEST_REMEMBERED = 1024

_judges: dict[str, Judge] = {}


def judgement(name: str) -> Callable[[Judge], Judge]:
    """Makes the decorated function one that `sql.call_python` may name; the name is lower-case and opens with `dq_`.

    Raises ValueError where the name is taken or of another form.
    """
    if not name.startswith(RESERVED) or name != name.lower() or name in _judges:
        raise ValueError(f"{name!r} is taken, or is no lower-case name that opens with {RESERVED}")

    def register(judge: Judge) -> Judge:
        _judges[name] = judge
        return judge

    return register


def judgements() -> Mapping[str, Judge]:
    """Every judgement that is defined so far, by name."""
    return _judges


def called_in(query: str) -> list[str]:
    """The judgements that a query may call, by the names that stand in its text."""
    folded = query.lower()
    return [name for name in _judges if name in folded] if RESERVED in folded else []


def over_batches(judge: Judge) -> OverBatch:
    """The judgement over batches: Arrow texts and the parameter for each of them, to Arrow booleans. NULL stays NULL.

    What it remembers is gone with the function that is returned.
    """
    remembered = lru_cache(maxsize=_REMEMBERED)(judge)

    def over_batch(texts: Any, parameters: Any) -> pa.Array:
        if len(texts) == 0:
            return pa.array([], pa.bool_())
        parameter: str = parameters[0].as_py()  # a literal, by way of sql.call_python: the same in every row
        batch = texts.combine_chunks().dictionary_encode()
        distinct: list[str] = batch.dictionary.to_pylist()
        judged = [(judge if len(text) > _LONGEST_REMEMBERED else remembered)(text, parameter) for text in distinct]
        return pa.array(judged, pa.bool_()).take(batch.indices)

    return over_batch
