"""Judgements in Python: over batches, and from the SQL of an engine."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Generator
from contextlib import contextmanager

import pyarrow as pa
import pytest

from dq_dagster import sql
from dq_dagster.checks.functions import called_in, judgement, over_batches
from dq_dagster.checks.table import CheckedTable
from dq_dagster.engines import engine_of
from dq_dagster.engines.base import EngineStumbled, Session
from dq_dagster.errors import TimeBudgetExceeded
from dq_dagster.limits import Limits
from dq_dagster.tables import open_table


@judgement("dq_test_is_even")
def is_even(text: str, parameter: str) -> bool:
    """Whether the number in the text is even, with the parameter before it."""
    return int(parameter + text) % 2 == 0


@judgement("dq_test_breaks")
def breaks(text: str, parameter: str) -> bool:
    """Never comes to an answer."""
    raise RuntimeError(f"quotes the cell {text}")


@judgement("dq_test_sleeps")
def sleeps(text: str, parameter: str) -> bool:
    """Takes its time."""
    time.sleep(0.0005)
    return True


def batch(*values: str | None) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(values, pa.string())])


def test_few_rows_and_many_are_judged_alike():
    over = over_batches(is_even)
    few, many = batch("2", None, "3", "2"), batch(*["1"] * 70_000)
    first = over(few, batch(*["1"] * 4)).to_pylist()
    over(many, batch(*["1"] * 70_000))
    assert first == over(few, batch(*["1"] * 4)).to_pylist() == [True, None, False, True]


@contextmanager
def session_over(values: list[str | None], limits: Limits | None = None) -> Generator[tuple[Session, CheckedTable], None, None]:
    table = CheckedTable(open_table(pa.table({"s": pa.array(values, pa.string())})), now=dt.datetime(2026, 3, 1, tzinfo=dt.timezone.utc))
    with engine_of("duckdb").session([(table, frozenset({"s"}))], limits or Limits()) as session:
        yield session, table


def counted(session: Session, table: CheckedTable, name: str, *, seconds: float = 60, parameter: str = "") -> dict[str, int]:
    judged = sql.call_python(name, table.value("s").as_text, parameter)
    numbers = {"yes": sql.count_where(judged), "no": sql.count_where(sql.not_(judged)), "unknown": sql.count_where(sql.is_null(judged))}
    return session.numbers(sql.select_from(table.relation, numbers), deadline=time.monotonic() + seconds)


def test_each_distinct_text_of_a_batch_is_judged_once_and_null_stays_null():
    judged: list[tuple[str, str]] = []

    def judge(text: str, parameter: str) -> bool:
        judged.append((text, parameter))
        return text == "a"

    answer = over_batches(judge)(batch("a", None, "b", "a", "b"), batch(*["p"] * 5))
    assert answer.to_pylist() == [True, None, False, True, False]
    assert judged == [("a", "p"), ("b", "p")]


def test_short_texts_are_remembered_between_batches_and_long_ones_are_not():
    judged: list[str] = []
    long = "x" * 2000
    judge = over_batches(lambda text, _: bool(judged.append(text)) or True)
    for _ in range(2):
        judge(batch("a", long), batch("", ""))
    assert judged == ["a", long, long]


def test_a_batch_without_rows_has_no_answers():
    assert over_batches(is_even)(pa.chunked_array([], pa.string()), pa.chunked_array([], pa.string())).to_pylist() == []


@pytest.mark.parametrize("name", ["is_fine", "dq_Upper", "dq_test_is_even"])
def test_a_name_that_is_taken_or_not_ours_is_refused(name: str):
    with pytest.raises(ValueError, match=name):
        judgement(name)(is_even)


def test_an_engine_calls_it_for_every_row_on_every_thread():
    values = [str(number) for number in range(50_000)] + [None] * 7
    with session_over(values, Limits(threads=2)) as (session, table):
        assert counted(session, table, "dq_test_is_even", parameter="1") == {"yes": 25_000, "no": 25_000, "unknown": 7}
        assert counted(session, table, "dq_test_is_even", parameter="3") == {"yes": 25_000, "no": 25_000, "unknown": 7}


def test_one_that_breaks_is_a_stumble_without_the_cell_and_the_session_goes_on():
    with session_over(["1", "2"]) as (session, table):
        with pytest.raises(EngineStumbled) as stumble:
            counted(session, table, "dq_test_breaks")
        assert "cell" not in str(stumble.value)
        assert counted(session, table, "dq_test_is_even")["yes"] == 1


def test_one_that_takes_too_long_is_stopped_at_the_deadline():
    with session_over([str(number) for number in range(20_000)]) as (session, table):
        started = time.monotonic()
        with pytest.raises(TimeBudgetExceeded):
            counted(session, table, "dq_test_sleeps", seconds=0.2)
        assert time.monotonic() - started < 60


def test_the_functions_that_a_query_calls_are_found_in_its_text():
    assert called_in("SELECT DQ_TEST_IS_EVEN(s, '') FROM rows") == ["dq_test_is_even"]
    assert called_in("SELECT 1") == []
