"""The cheap proofs that a key is distinct accept nothing that brute force refuses."""

from __future__ import annotations

import itertools
import random
from collections import Counter

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dq_dagster import Recipe, evaluate, rising, surveying
from dq_dagster.checks import distinctness, runs
from dq_dagster.run import explained
from dq_dagster.tables import open_table

KEY = {"check_id": "k", "kind": "key_uniqueness", "enforcement": "required"}


@pytest.fixture(autouse=True)
def every_table_is_worth_a_proof(monkeypatch):
    monkeypatch.setattr(surveying, "WORTH_A_LOOK", 0)
    monkeypatch.setattr(distinctness, "MOST_TURNS", 1_000)


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


WORDS = st.sampled_from(["", "a", "b", "c", None])
KEYS = st.lists(st.tuples(WORDS, st.one_of(st.none(), st.integers(0, 30))), max_size=40)
SLIPS = st.lists(st.tuples(st.integers(0, 200), WORDS, st.one_of(st.none(), st.integers(-3, 60))), max_size=3)


def repeats_by_runs(keys, order, *, batch_rows=65_536) -> tuple[bool, dict]:
    """Whether the runs settle it, and then how many rows carry each key that repeats."""
    stored = pa.table({"a": pa.array([word for word, _ in keys], pa.string()), "b": pa.array([n for _, n in keys], pa.int64())})
    rise = rising.read_in_order(
        open_table(stored), runs.InOrder(("a", "b"), (tuple(order),), 1_000), after_each=lambda: None, batch_rows=batch_rows
    )[0]
    if not rise.falls:
        return True, {}
    with duckdb.connect() as connection:
        connection.register("suspects", rise.suspects)
        connection.register("runs", rise.runs)
        rows = connection.sql(runs.keys_of_suspects("suspects", "runs", order).sql("duckdb")).fetchall()
    return not any(is_within for *_, is_within in rows), {(word, number): n for word, number, n, _ in rows if n > 1}


@settings(max_examples=50, deadline=None)
@given(KEYS, st.booleans(), st.sampled_from([[0, 1], [1, 0]]), st.integers(1, 9))
def test_runs_accept_nothing_that_brute_force_refuses(keys, is_sorted, order, batch_rows):
    if is_sorted:
        keys = sorted(keys, key=lambda key: [(key[place] is None, key[place] or 0 if place else key[place] or "") for place in order])
    is_settled, repeated = repeats_by_runs(keys, order, batch_rows=batch_rows)
    if is_settled:
        assert repeated == {key: n for key, n in Counter(keys).items() if n > 1}


@settings(max_examples=50, deadline=None)
@given(SLIPS)
def test_runs_settle_rows_that_rise_but_for_a_few_foreign_ones(slips):
    keys = [("m", number * 100) for number in range(200)]
    for place, word, number in slips:
        keys.insert(place, (word and f"z{word}" if place % 2 else word and f"{word}", number))
    is_settled, repeated = repeats_by_runs(keys, [0, 1])
    assert is_settled or len(slips) > 1  # neighbours may look like a run
    if is_settled:
        assert repeated == {key: n for key, n in Counter(keys).items() if n > 1}


@pytest.mark.parametrize(
    ("slip", "is_settled"),
    [
        ({50: ("m", 4900)}, True),
        ({50: ("a", 3), 51: ("a", 4)}, True),
        ({50: ("a", None), 90: (None, 5), 91: (None, 5)}, True),
        ({50: ("z", 1)}, True),
        ({0: ("z", 1), 199: ("a", 1)}, True),
        ({50: ("m", 12345)}, False),
        ({50: ("m", 12300)}, False),
    ],
    ids=["the row before again", "two from elsewhere", "NULLs", "too great", "first and last", "come late", "come late and known"],
)
def test_what_runs_can_settle(slip, is_settled):
    keys = [("m", number * 100) for number in range(200)]
    for place, key in slip.items():
        keys.insert(place, key)
    settled, repeated = repeats_by_runs(keys, [0, 1])
    assert settled == is_settled
    if settled:
        assert repeated == {key: n for key, n in Counter(keys).items() if n > 1}


@pytest.mark.parametrize("check", [KEY, {**KEY, "kind": "is_unique"}, {**KEY, "kind": "is_unique", "nulls_distinct": False}])
@pytest.mark.parametrize("by_time", [False, True])
def test_keys_that_rise_but_for_a_few_rows_are_told_as_by_grouping_them(by_time, check, tmp_path, monkeypatch):
    import pyarrow.parquet as pq

    rng = random.Random(3)
    keys: list[tuple[str | None, int]] = [(f"s{station:02d}", hour) for station in range(20) for hour in range(100)]
    if by_time:
        keys.sort(key=lambda key: (key[1], str(key[0])))
    for place in sorted(rng.sample(range(1, len(keys)), 30), reverse=True):
        keys.insert(place, rng.choice([keys[place - 1], (None, keys[place][1]), ("s", -7)]))
    pq.write_table(pa.table({"station": [key[0] for key in keys], "hour": [key[1] for key in keys]}), tmp_path / "t.parquet")
    recipe = Recipe.model_validate({"recipe": "r", "table": {"name": "t"}, "checks": [{**check, "columns": ["station", "hour"]}]})
    told = evaluate(recipe, tmp_path / "t.parquet").outcomes[0]
    assert "from which few may stray" in explained(recipe, tmp_path / "t.parquet")
    monkeypatch.setattr(surveying, "WORTH_A_LOOK", 10_000)
    grouped = evaluate(recipe, tmp_path / "t.parquet").outcomes[0]
    for one in ("status", "detail", "failed_rows", "observed", "examples"):
        assert getattr(told, one) == getattr(grouped, one)
    assert told.status == "failed"


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


@pytest.mark.parametrize(("again", "repeats"), [([], 0), ([3], 1)], ids=["all differ", "a repeat"])
def test_days_in_no_order_are_proven_by_bits(again, repeats, tmp_path, monkeypatch):
    import datetime as dt

    import pyarrow.parquet as pq

    monkeypatch.setattr(distinctness, "MOST_TURNS", 0)
    days = [dt.date(1969, 12, 1) + dt.timedelta(place * 7919 % 97) for place in [*range(97), *again]]
    pq.write_table(pa.table({"day": days}), tmp_path / "t.parquet")
    assert found(tmp_path / "t.parquet", ["day"])[1] == repeats


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
