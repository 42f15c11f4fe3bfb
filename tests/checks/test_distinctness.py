"""The cheap proofs that a key is distinct accept nothing that brute force refuses."""

from __future__ import annotations

import itertools
import random

import pyarrow as pa
import pytest

from dq_dagster import Recipe, evaluate, surveying

KEY = {"check_id": "k", "kind": "key_uniqueness", "enforcement": "required"}


@pytest.fixture(autouse=True)
def every_table_is_worth_a_proof(monkeypatch):
    monkeypatch.setattr(surveying, "WORTH_A_LOOK", 0)


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


@pytest.mark.parametrize("seed", range(10))
def test_shuffled_keys_of_text_and_instants_agree_with_brute_force(seed, tmp_path):
    import datetime as dt

    import pyarrow.parquet as pq

    rng = random.Random(seed)
    rows = rng.randint(60, 400)
    start = dt.datetime(2026, 1, 1, tzinfo=dt.timezone.utc)
    step = rng.choice([dt.timedelta(hours=1), dt.timedelta(seconds=1), dt.timedelta(microseconds=1), dt.timedelta(days=1)])
    stations = [f"s{number}" for number in range(rng.randint(1, 5))]
    keys = [(station, start + step * number) for station in stations for number in range(rows // len(stations) + 1)][:rows]
    keys += [rng.choice(keys)] if seed % 2 else []
    if seed % 5 == 4:  # one instant off the step
        keys[0] = (keys[0][0], keys[0][1] + dt.timedelta(microseconds=7))
    rng.shuffle(keys)
    columns = {
        "station": pa.array([station for station, _ in keys]),
        "at": pa.array([at for _, at in keys], pa.timestamp(rng.choice(["us", "ns"]), "UTC")),
    }
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    repeats = len(keys) - len(set(keys))
    assert found(tmp_path / "t.parquet", ["station", "at"]) == ("failed" if repeats else "passed", repeats)


@pytest.mark.parametrize("share", [0.0, 0.2], ids=["nothing wrong", "some wrong"])
def test_values_that_repeat_are_judged_once_and_counted_by_their_rows(share, tmp_path, monkeypatch):
    import pyarrow.parquet as pq

    rng = random.Random(7)
    words = ["a@b.cd", "x.y@z.org", "no mail", None, ""]
    weights = [1, 1, share, share, share]
    table = pa.table({"word": pa.array(rng.choices(words, weights, k=500)), "n": list(range(500))})
    pq.write_table(table, tmp_path / "t.parquet")
    checks = [
        {"check_id": "shape", "kind": "regex_match", "enforcement": "required", "column": "word", "regex": "^[a-z.]+@[a-z.]+$"},
        {"check_id": "known", "kind": "is_in_list", "enforcement": "required", "column": "word", "allowed": ["a@b.cd", "x.y@z.org"]},
        {"check_id": "filled", "kind": "is_not_null_and_not_empty", "enforcement": "advisory", "column": "word"},
        {"check_id": "long", "kind": "sql_expression", "enforcement": "required", "expression": "length(word) > 3"},
        {"check_id": "some", "kind": "sql_expression", "enforcement": "required", "expression": "word <> ''", "filter": "word <> 'x'"},
        {"check_id": "many", "kind": "is_aggr_not_greater_than", "enforcement": "required", "column": "word", "aggr_type": "count_distinct", "limit": 2},
    ]  # fmt: skip
    recipe = Recipe.model_validate({"recipe": "r", "table": {"name": "t", "grain": ["n"]}, "checks": checks})
    chosen = evaluate(recipe, tmp_path / "t.parquet")
    monkeypatch.setattr(surveying, "WORTH_A_LOOK", 1_000)
    plainly = evaluate(recipe, tmp_path / "t.parquet")
    told = [
        [(one.status, one.detail, one.failed_rows, one.observed, one.examples) for one in found.outcomes] for found in (chosen, plainly)
    ]
    assert told[0] == told[1]
    assert {one.status for one in chosen.outcomes} == ({"failed"} if share else {"passed"})
