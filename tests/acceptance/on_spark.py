"""The measured cases on Spark: what the product was asked, asked again there; cases over the same data are one recipe."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dq_dagster as dq
from dq_dagster.outcomes import Outcome
from tests.local_spark import difference, spark_engine

_MOST_TOGETHER = 60
_evaluate = dq.evaluate


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """One evaluation of a case on DuckDB, and its answer: the outcomes, or the name of the error that was raised."""

    label: str
    recipe: dq.Recipe
    table: Path
    references: Mapping[str, Path]
    now: Any
    answer: str | tuple[Outcome, ...]


class Listening:
    """Stands for `evaluate` or `annotate`: hands on what it is asked, and keeps it."""

    def __init__(self, answer: Any, label: str, now: Any, heard: list[Asked]) -> None:
        self._answer = answer
        self._label = label
        self._now = now
        self._heard = heard

    def __call__(self, recipe: dq.Recipe, table: Path, *arguments: Any, references: Mapping[str, Path], **options: Any) -> Any:
        said: str | tuple[Outcome, ...] = ""
        try:
            evaluation = self._answer(recipe, table, *arguments, references=references, now=self._now, **options)
            said = evaluation.outcomes
        except (dq.RecipeRefused, dq.CheckRunError) as error:
            said = type(error).__name__
            raise
        finally:
            self._heard.append(Asked(self._label, recipe, table, references, self._now, said))
        return evaluation


def differences(asked: Sequence[Asked]) -> list[str]:
    """What Spark says otherwise than DuckDB, a line each."""
    together: dict[Any, list[Asked]] = {}
    for one in asked:
        together.setdefault(one if isinstance(one.answer, str) else _key(one), []).append(one)
    return [line for alike in together.values() for line in _differences(alike)]


def _differences(alike: Sequence[Asked]) -> Iterator[str]:
    for members in _in_portions(alike):
        there = _answer_on_spark(members)
        if isinstance(there, str) and len(members) > 1:
            for one in members:
                yield from _differences([one])
        elif isinstance(there, str) or isinstance(members[0].answer, str):
            if there != members[0].answer:
                yield f"{members[0].label}: {there} on Spark, {members[0].answer} on DuckDB"
        else:
            here = [(one.label, outcome) for one in members for outcome in one.answer if isinstance(outcome, Outcome)]
            for (label, outcome), other in zip(here, there, strict=True):
                if (told := difference(other, outcome)) is not None:
                    yield f"{label}: {told}"


def _in_portions(alike: Sequence[Asked]) -> Iterator[list[Asked]]:
    portion: list[Asked] = []
    for one in alike:
        if sum(len(other.recipe.checks) for other in [*portion, one]) > _MOST_TOGETHER and portion:
            yield portion
            portion = []
        portion.append(one)
    yield portion


def _answer_on_spark(members: Sequence[Asked]) -> str | tuple[Outcome, ...]:
    first = members[0]
    documents = [one.recipe.document() for one in members]
    checks = [check for document in documents for check in document["checks"]]
    renamed = [{**check, "check_id": f"check_{place}"} for place, check in enumerate(checks)]
    whole = {**documents[0], "recipe": "together", "checks": renamed, "quarantine": {"to": "bad_rows"}}
    try:
        recipe = first.recipe if len(members) == 1 else dq.Recipe.model_validate(whole)
        return _evaluate(recipe, first.table, references=first.references, now=first.now, engine=spark_engine()).outcomes
    except (dq.RecipeRefused, dq.CheckRunError) as error:
        return type(error).__name__


def _key(asked: Asked) -> Any:
    """What cases have in common that can be asked together."""
    references = tuple((name, _content(Path(path))) for name, path in sorted(asked.references.items()))
    return _content(asked.table), references, repr(asked.recipe.table), repr(asked.recipe.references)


def _content(place: Path) -> str:
    """What a file, or the files of a folder, hold."""
    files = sorted(path for path in place.rglob("*") if path.is_file()) if place.is_dir() else [place]
    digest = hashlib.sha256()
    for path in files:
        digest.update(str(path.relative_to(place)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()
