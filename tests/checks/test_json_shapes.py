"""What matches a shape is JSON by the rule: the shapes are a short cut, never a wider gate."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dq_dagster.checks.json import is_json
from dq_dagster.checks.json_shapes import shapes_of

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=6)
DOCUMENTS = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4), max_leaves=12
)


def pattern_of(*texts: str) -> re.Pattern[str] | None:
    """The shapes of the texts, in Python's spelling of code points."""
    shapes = shapes_of(texts, lambda text: is_json(text, "whole"))
    if shapes is None:
        return None
    spelled = re.sub(r"\\x[{]([0-9A-F]+)[}]", lambda found: re.escape(chr(int(found[1], 16))), shapes)
    return re.compile(rf"(?:{spelled})\Z")


@given(DOCUMENTS, st.booleans())
def test_a_text_matches_its_own_shape(document, ascii_only):
    text = json.dumps(document, ensure_ascii=ascii_only)
    pattern = pattern_of(text)
    scalars_are_plain = "\\" not in text and all(ord(char) > 31 for char in text)
    assert pattern is None or not scalars_are_plain or pattern.match(text)


@given(DOCUMENTS, st.data())
def test_what_matches_a_shape_is_json(document, data):
    text = json.dumps(document)
    pattern = pattern_of(text)
    if pattern is None or not text:
        return
    at = data.draw(st.integers(0, len(text) - 1))
    put = data.draw(st.sampled_from(['"', ",", ":", "{", "}", "[", "]", "0", "-", ".", "e", " ", "\\", "n", "\t", "\x01", ""]))
    for changed in (text[:at] + put + text[at:], text[:at] + put + text[at + 1 :]):
        assert not pattern.match(changed) or is_json(changed, "whole"), changed


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, "a": 2}',
        '{"a": 01}',
        '{"a": NaN}',
        '{"a": [1,]}',
        '{"a": "\\x"}',
        '{"a": 1} x',
        "{'a': 1}",
        '{"a": "b\nc"}',
        '{"a": .5}',
        "",
    ],
)
def test_no_shape_lets_pass_what_is_no_json(text):
    pattern = pattern_of('{"a": 1}', '{"a": [1, "x"]}', '{"a": {"b": null}}', "[]", "7")
    assert pattern is not None
    assert not pattern.match(text)
    assert not is_json(text, "whole")
