"""Whatever a document holds, it is refused with problems that point into it, and in little time."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dq_dagster import Limits, RecipeRefused, load_recipe
from dq_dagster.errors import Problem
from dq_dagster.plain import find, json_text, parent
from tests.documents.texts import VALID, leaves, names, refusal, written

junk = st.recursive(
    st.one_of(
        leaves, st.floats(), st.sampled_from(["a", "quarantine", "is_not_null", "lower(", "x; drop table t", 10**30, Decimal("1E+400")])
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names | st.sampled_from(["expression", "name", "kind"]), inner, max_size=3),
    max_leaves=5,
)


def places(document: Any, pointer: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(document, dict):
        members: Any = document.items()
    elif isinstance(document, list):
        members = enumerate(document)
    else:
        return [pointer] if pointer else []
    return [pointer] * bool(pointer) + [place for name, member in members for place in places(member, (*pointer, name))]


@st.composite
def broken(draw: st.DrawFn) -> Any:
    document: Any = json.loads(json.dumps(VALID))
    for _ in range(draw(st.integers(1, 4))):
        *way, last = draw(st.sampled_from(places(document) or [()])) or (None,)
        if last is None:
            return draw(junk)
        holder = document
        for token in way:
            holder = holder[token]
        match draw(st.sampled_from(["drop", "replace", "rename", "repeat"])):
            case "drop":
                del holder[last]
            case "replace":
                holder[last] = draw(junk)
            case "rename" if isinstance(holder, dict):
                holder[draw(names)] = holder.pop(last)
            case _:
                if isinstance(holder, list):
                    holder.append(holder[last])
    return document


def problems_in(source: Any, document: Any) -> tuple[Problem, ...]:
    """The problems, none of which points nowhere, speaks in pydantic's words or is told twice; none where it is accepted."""
    try:
        load_recipe(source)
    except RecipeRefused as refused:
        problems = refused.problems
    else:
        return ()
    assert len(set(problems)) == len(problems) > 0
    for problem in problems:
        assert find(document, problem.pointer)[0] or find(document, parent(problem.pointer))[0], problem
        assert not any(words in problem.message for words in ("Input should", "Value error", "pydantic", "function-", "does not fit")), (
            problem
        )
        assert len(problem.message) < 700
    return problems


def test_the_document_to_break_is_whole():
    assert load_recipe(VALID).checks


@given(broken())
@settings(deadline=None, max_examples=400, suppress_health_check=[HealthCheck.too_slow])
def test_a_broken_document_is_refused_and_never_raises_anything_else(document: Any):
    if isinstance(document, (str, type(None), bool, int, float, Decimal)):
        document = [document]
    problems_in(document, document)


@given(broken())
@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])
def test_every_problem_of_a_text_has_a_line(tmp_path_factory: pytest.TempPathFactory, document: Any):
    text = json_text(json.loads(json.dumps(document, default=str)), indent=0)
    for name in ("broken.json", "broken.yaml"):
        path = written(tmp_path_factory.getbasetemp(), name, text)
        problems = problems_in(path, document)
        assert all(problem.line and problem.column for problem in problems)


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode), st.sampled_from(["w.yaml", "w.json", "w"]))
@settings(deadline=None, max_examples=200)
def test_no_bytes_raise_anything_but_a_refusal(tmp_path_factory: pytest.TempPathFactory, content: bytes, name: str):
    with pytest.raises(RecipeRefused):
        load_recipe(written(tmp_path_factory.getbasetemp(), name, content))


@pytest.mark.parametrize("wide", ["columns", "grain", "checks", "members"])
def test_a_very_wide_document_is_refused_in_little_time(wide: str):
    document: Any = json.loads(json.dumps(VALID))
    many = [f"c{place}" for place in range(20_000)]
    match wide:
        case "columns":
            document["table"]["columns"] = [{"name": name} for name in many]
            document["checks"][0]["columns"] = [f"{name}x" for name in many]
        case "grain":
            document["table"]["grain"] = many
        case "checks":
            document["checks"] = many
        case _:
            document |= dict.fromkeys(many, 1)
    started = dt.datetime.now()
    assert refusal(document, limits=Limits()).problems
    assert (dt.datetime.now() - started).total_seconds() < 60
