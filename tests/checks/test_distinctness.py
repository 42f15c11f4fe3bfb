"""The cheap proofs that a key is distinct accept nothing that brute force refuses."""

from __future__ import annotations

import itertools
import random

import pyarrow as pa
import pytest

from dq_dagster import Recipe, evaluate
from dq_dagster.checks import distinctness

KEY = {"check_id": "k", "kind": "key_uniqueness", "enforcement": "required"}


@pytest.fixture(autouse=True)
def every_table_is_worth_a_proof(monkeypatch):
    monkeypatch.setattr(distinctness, "WORTH_A_PROOF", 0)


def found(table, columns) -> tuple[str, int]:
    recipe = Recipe.model_validate({"recipe": "r", "table": {"name": "t"}, "checks": [{**KEY, "columns": columns}]})
    outcome = evaluate(recipe, table).outcomes[0]
    return outcome.status, int(outcome.observed["repeats"])


@pytest.mark.parametrize("seed", range(12))
def test_random_tables_agree_with_brute_force(seed, tmp_path):
    import pyarrow.parquet as pq

    rng = random.Random(seed)
    rows = rng.randint(0, 7)
    cells = {"i": [None, 0, 1, 2, 3, 4], "f": [None, 0.0, -0.0, 1.5, float("nan")], "s": [None, "", "a", "b"]}
    columns = {name: [rng.choice(values) for _ in range(rows)] for name, values in cells.items()}
    order = (
        sorted(range(rows), key=lambda row: tuple(str(columns[name][row]) for name in cells)) if rng.random() < 0.7 else list(range(rows))
    )
    ordered = {name: [values[row] for row in order] for name, values in columns.items()}
    types = {"i": pa.int64(), "f": pa.float64(), "s": pa.string()}
    pq.write_table(pa.table({name: pa.array(values, types[name]) for name, values in ordered.items()}), tmp_path / "t.parquet")
    for size in (1, 2, 3):
        for names in itertools.permutations(cells, size):
            keys = [tuple(_identity(ordered[name][row]) for name in names) for row in range(rows)]
            repeats = rows - len(set(keys))
            assert found(tmp_path / "t.parquet", list(names)) == ("failed" if repeats else "passed", repeats), (names, ordered)


def _identity(value):
    if isinstance(value, float):
        return "nan" if value != value else value + 0.0
    return value


@pytest.mark.parametrize(
    ("values", "repeats"),
    [([5, 1, 3], 0), ([5, 1, 3, None], 0), ([5, 1, 3, None, None], 1), ([5, 1, 5], 1), ([2**62, -(2**62)], 0)],
    ids=["dense", "one NULL", "two NULLs", "a repeat", "too wide a range"],
)
def test_dense_integers_are_proven_by_bits(values, repeats, tmp_path):
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"i": pa.array(values, pa.int64())}), tmp_path / "t.parquet")
    assert found(tmp_path / "t.parquet", ["i"])[1] == repeats
