"""What SQL cannot say: judgements written in Python, which kinds call in their SQL and engines make known by name.

A judgement is a pure function of a text and a parameter that is the same for all rows. An engine hands over whole
batches; each distinct text of a batch is judged once, and short texts that come again are remembered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import pyarrow as pa

Judge = Callable[[str, str], bool]
OverBatch = Callable[[Any, Any], pa.Array]

RESERVED = "dq_"
_REMEMBERED = 4096
_LONGEST_REMEMBERED = 1024
# Arrow finds the distinct texts of a batch faster than Python does, once its compute functions are imported; few rows do not pay for it.
_FEW_ROWS = 65_536
_AS_DIGITS = bytes.maketrans(b"\0\1", b"01")

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
    rows = 0

    def over_batch(texts: Any, parameters: Any) -> pa.Array:
        nonlocal rows
        if len(texts) == 0:
            return _truths([])
        rows += len(texts)
        parameter: str = parameters[0].as_py()  # a literal, by way of sql.call_python: the same in every row
        encoded = texts.combine_chunks().dictionary_encode() if rows > _FEW_ROWS else None
        batch: list[str | None] = (texts if encoded is None else encoded.dictionary).to_pylist()
        verdicts: dict[str | None, bool | None] = {None: None}
        for text in dict.fromkeys(batch):
            if text is not None:
                verdicts[text] = (judge if len(text) > _LONGEST_REMEMBERED else remembered)(text, parameter)
        judged = _truths([verdicts[text] for text in batch])
        return judged if encoded is None else judged.take(encoded.indices)

    return over_batch


def _truths(values: Sequence[bool | None]) -> pa.Array:
    """The values as Arrow has them. pa.array() would look for pandas and import it where it is installed, for half a second."""
    known = _bits([value is not None for value in values])
    return pa.Array.from_buffers(pa.bool_(), len(values), [known, _bits([value is True for value in values])])


def _bits(values: Sequence[bool]) -> pa.Buffer:
    """The values as bits, the first one lowest."""
    digits = bytes(reversed(values)).translate(_AS_DIGITS)
    return pa.py_buffer(int(digits or b"0", 2).to_bytes(len(values) // 8 + 1, "little"))
