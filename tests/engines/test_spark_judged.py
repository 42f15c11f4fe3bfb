"""What Spark says by itself of texts that Python judges is a part of what Python says, and rows it is sure of stay with it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dq_dagster as dq
from dq_dagster.engines.spark import SparkSession
from tests.engines.test_spark import on_both, recipe
from tests.local_spark import spark_engine

pytestmark = pytest.mark.spark

KINDS = [
    {"kind": "is_valid_json", "column": "t"},
    {"kind": "is_valid_json", "column": "t", "strict": True},
    {"kind": "has_json_keys", "column": "t", "keys": ["a"]},
    {"kind": "has_json_keys", "column": "t", "keys": ["a", "b"], "require_all": False},
    {"kind": "is_valid_json", "column": "t", "filter": "row > 2"},
]
HARD = [
    '{"a": 1, "a": 2}', '{"a": 1, "\\u0061": 2}', '{"x": [{"b": 1, "b": 1}]}', '{"\\ud800": 1, "\\ud801": 2}', '{"?": 1, "\\ud800": 2}',
    '{"a": 1} x', '{"a": 1}{"b": 2}', "[1], [2]", "[{}] ]", '[{}, "dqendsign"] x', '{}, "dqendsign"]', '{} "\\u0064qendsign"',
    "true\u00b2", "truex", "null_", "1 2", "01", "1.", "{}x", "[]1", "NaN", "[NaN]", "[Infinity]", "[-Infinity]", "[+1]", "[.5]", "[1.]",
    "[01]", "[1,]", "{'a': 1}", '{"a": 1,}', "[1e999]", "[" + "9" * 2000 + "]", '["\x01"]', '["\t"]', '["\x7f"]', '["\\x41"]', '["\\ud800"]',
    "\ufeff{}", "\u00a0[]", "[\u2028]", "[1/*x*/]", "[1]//", " {}", "\n[ ]\t", "", " ", "{", '{"a"', '"a', '{"a": {"a": 1}}', '{"b": {"a": 1}}',
    '{"a.b": 1}', '{"a": null}', "[" * 500 + "]" * 500, "[" * 501 + "]" * 501, '{"a":' * 501 + "1" + "}" * 501, "[" * 499 + "]" * 499,
    '{"a": 1}' + "[" * 499, '{"a": 1}' + "[" * 500, "[" * 5000, '{"a": "' + "[" * 600 + '"}', '{"a": "é😀\uffff"}',
]  # fmt: skip
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6)
KEYS = st.sampled_from(["a", "b", "", "é", "?", "a b", '"', "\\"])
DOCUMENTS = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=8)
BITS = st.sampled_from(
    ['"', ",", ":", "{", "}", "[", "]", "0", "-", ".", "e", " ", "\\", "n", "\t", "\x01", '"a":1', '"b":', ',"dqendsign"]', "\\ud800", "²"]
)


@st.composite
def texts(draw: Callable) -> str:
    """A document with a few signs put in or left out."""
    text = json.dumps(draw(DOCUMENTS), ensure_ascii=draw(st.booleans()))
    for put in draw(st.lists(BITS, max_size=2)):
        at = draw(st.integers(0, len(text)))
        text = text[:at] + put + text[at + draw(st.integers(0, 1)) :]
    return text.encode(errors="replace").decode()


def stored(values: list[str | None], folder: Path) -> Path:
    pq.write_table(pa.table({"row": range(len(values)), "t": pa.array(values, pa.string())}), folder / "t.parquet")
    return folder / "t.parquet"


def test_hard_texts_are_judged_as_on_duckdb_row_by_row(tmp_path: Path):
    table = stored([None, *HARD], tmp_path)
    on_both(recipe(*KINDS), table)
    advisory = recipe(*({**kind, "enforcement": "advisory"} for kind in KINDS))
    broken: list[list[list[str]]] = []
    for place, engine in enumerate(("duckdb", spark_engine())):
        dq.annotate(advisory, table, tmp_path / f"{place}", engine=engine)
        rows = ds.dataset(tmp_path / f"{place}").to_table().sort_by("row").to_pylist()
        broken.append([sorted(note["check_id"] for note in row["_dq_errors"]) for row in rows])
    assert broken[0] == broken[1]


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.lists(texts(), min_size=20, max_size=60))
def test_changed_documents_are_judged_as_on_duckdb(values: list[str]):
    with TemporaryDirectory() as folder:
        on_both(recipe(*KINDS), stored(list(values), Path(folder)))


def test_no_row_goes_to_python_where_spark_is_sure_of_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    plans: list[str] = []
    run = SparkSession._row

    def noted(self: SparkSession, text: str, deadline: float):
        plans.append(self._spark.sql(text)._jdf.queryExecution().toString())
        return run(self, text, deadline)

    monkeypatch.setattr(SparkSession, "_row", noted)
    sure = [None, '{"a": 1}', '{"a": {"b": [1, 2.5e3, null]}, "c": "x"}'] * 3
    assert {outcome.status for outcome in on_both(recipe(*KINDS), stored(sure, tmp_path))} == {"passed"}
    assert plans
    assert not [plan for plan in plans if "EvalPython" in plan]
    plans.clear()
    (outcome,) = on_both(recipe(KINDS[0]), stored([*sure, "7", "nil"], tmp_path))
    assert outcome.failed_rows == 1
    assert [plan for plan in plans if "EvalPython" in plan]
