"""What every check is: its shared fields, what it asks of the rows, and the verdict it makes of the numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pyarrow as pa
from pydantic import Field
from sqlglot import exp

from dq_dagster import sql
from dq_dagster.checks.costs import is_costly, once_a_value
from dq_dagster.checks.fields import ColumnRef, HoldsColumns, Model
from dq_dagster.checks.runs import InOrder
from dq_dagster.checks.table import CheckedTable
from dq_dagster.limits import Limits
from dq_dagster.outcomes import MAX_EXAMPLES, Enforcement

CHECK_ID = r"^[a-z][a-z0-9_]{0,127}$"
Numbers = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Ask:
    """Named aggregates that a check wants to know, over the rows or over a relation derived from them.

    Asks over the same relation are answered by the same pass, and equal aggregates are computed once. `reads` names
    the stored columns that are scanned for it, `lent` are relations in memory that `over` names.
    """

    numbers: Mapping[str, exp.Expr]
    reads: frozenset[str]
    over: exp.Query | None = None
    lent: Mapping[str, pa.Table] = field(default_factory=dict)

    def query(self, table: CheckedTable) -> exp.Select:
        """The ask alone, as a query of one row."""
        return sql.select_from(table.relation if self.over is None else self.over, self.numbers)


@dataclass(frozen=True, slots=True)
class Attempt:
    """A cheaper way to a check's numbers, which may not get there; what it cannot prove, the asks decide.

    `ask` is asked first; one of the rows' order brings the `rises` that it finds. Of what comes, `then` makes the check's
    numbers, or the next attempt, or None where the way ends. An attempt that `is_look` reads the first rows alone, and
    only leads to others. `how` names the way, for `--explain`.
    """

    how: str
    ask: Ask | InOrder
    then: Callable[[Numbers], Numbers | Attempt | None]
    is_look: bool = False


@dataclass(frozen=True, slots=True)
class Parted:
    """How a check's numbers follow from numbers of each part of the table, where adding and comparing aggregates does not do.

    `ask` is asked of each part as if it were the table. Where `further` makes another ask of what is known of the part so
    far, that is asked too, and so on; it may hang on nothing else. `merged` makes the check's numbers of the parts', which
    come in any order, or None where they do not settle them.
    """

    ask: Ask
    merged: Callable[[Sequence[Numbers]], Numbers | None]
    further: Callable[[Numbers], Ask | None] = lambda _: None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a check makes of its numbers. `failed_rows` is None where rows cannot be told apart."""

    passed: bool
    detail: str
    failed_rows: int | None = None
    observed: Mapping[str, int | float | Decimal | str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Context:
    """What the recipe around a check tells it when it is settled whether the check makes sense."""

    grain: tuple[str, ...]
    limits: Limits


class Check(Model):
    """One declared assertion. A kind is one subclass with a `kind` of its own.

    `description` is prose and `metadata` is carried to Dagster; neither changes what is measured.
    """

    check_id: str = Field(pattern=CHECK_ID)
    kind: str
    enforcement: Enforcement
    description: str | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)

    @property
    def reported_id(self) -> str:
        """The id under which outcomes are reported."""
        return self.check_id.upper()

    @property
    def falls_back_to_grain(self) -> bool:
        """Whether the check reads the table's grain, having named no column."""
        return False

    def column_refs(self) -> Iterator[tuple[str, ColumnRef]]:
        """Every column and expression the check reads of the table, with the JSON pointer to it inside the check."""
        elsewhere = {pointer for pointer, _, _ in self.reference_refs()}
        for name in type(self).model_fields:
            yield from ((pointer, ref) for pointer, ref in refs_in(getattr(self, name), f"/{name}") if pointer not in elsewhere)

    def key(self, grain: Sequence[str]) -> tuple[str, ...] | None:
        """The columns that are to be a key of the table, where the check asks nothing else; a writer may then record it."""
        return None

    def named_columns(self) -> tuple[ColumnRef, ...]:
        """The columns that the check is about, for example rows: those in `column` and `columns`."""
        named = [ref for name in ("column", "columns") for _, ref in refs_in(getattr(self, name, None), "")]
        return tuple(dict.fromkeys(named))

    def reads(self, table: CheckedTable) -> frozenset[str]:
        """The stored columns that the check reads."""
        refs = [ref for _, ref in self.column_refs()]
        return table.reads(*refs, *((ColumnRef(name) for name in table.grain) if self.falls_back_to_grain else ()))

    def references_used(self) -> tuple[str, ...]:
        """The recipe's references that the check looks into."""
        return tuple(dict.fromkeys(name for _, name, _ in self.reference_refs()))

    def reference_refs(self) -> Iterator[tuple[str, str, ColumnRef]]:
        """Every column of a reference that the check names: the JSON pointer inside the check, the reference, the column."""
        return iter(())

    def reference_reads(self, references: Mapping[str, CheckedTable]) -> dict[str, frozenset[str]]:
        """The stored columns that the check reads of each reference it looks into."""
        read: dict[str, frozenset[str]] = {}
        for _, name, ref in self.reference_refs():
            read[name] = read.get(name, frozenset()) | references[name].reads(ref)
        return read

    def refusals(self, context: Context) -> Iterator[tuple[str, str]]:
        """What is wrong with the check beyond its shape: a pointer inside the check, and a sentence."""
        return iter(())

    def fits(self, table: CheckedTable, type_of: Callable[[exp.Expr], pa.DataType]) -> None:
        """Asks the engine for the types of what it would compute. Raises DoesNotFit, as `type_of` does for what has none."""

    def asks(self, table: CheckedTable) -> Sequence[Ask]:
        """What must be read from the rows; nothing where the table's metadata already answers.

        Raises NotEvaluated where no engine could answer.
        """
        raise NotImplementedError

    def attempts(self, table: CheckedTable) -> Sequence[Attempt]:
        """Cheaper ways to the numbers of the asks, best first; each is exact where it settles them.

        Asked only of tables that are worth it, on engines that read the rows in one sequence.
        """
        return ()

    def parted(self, table: CheckedTable) -> Parted | None:
        """How the numbers follow from the parts of the table, for asks over a relation derived from the rows; None: not at all."""
        return None

    def judge(self, numbers: Numbers, table: CheckedTable) -> Verdict:
        """The verdict on the numbers that the asks brought. Pure. Raises NotEvaluated where they allow none."""
        raise NotImplementedError

    def condemned_row(self, table: CheckedTable) -> exp.Expr | None:
        """True in a row that breaks the check, never NULL; None where rows cannot be told apart.

        It may hold windows and scalar subqueries over the rows: whoever counts with it selects it first.
        """
        return None

    @property
    def tells_rows_apart(self) -> bool:
        """Whether the check can say which rows break it, so that they may be quarantined."""
        return type(self).condemned_row is not Check.condemned_row

    def example_row(self, table: CheckedTable) -> exp.Expr | None:
        """True in a row that serves as an example of what is wrong; None where none does."""
        return self.condemned_row(table)

    def extra_rows(self, table: CheckedTable) -> exp.Query | None:
        """Rows that the check misses in the table, under the stored columns' own names, to stand in annotated output."""
        return None

    def examples_among(self, numbers: Numbers) -> Sequence[Mapping[str, Any]] | None:
        """The examples, as structs, where the asks brought them along; None where they are to be asked for."""
        return numbers.get("examples")

    def example_ask(self, numbers: Numbers, table: CheckedTable) -> Ask | None:
        """What to ask once the check has failed: one number, `examples`, a list of structs. None: nothing can be shown."""
        condemned = self.example_row(table)
        return None if condemned is None else self.ask_for_examples(condemned, table)

    def ask_for_examples(self, condemned: exp.Expr, table: CheckedTable) -> Ask:
        """Asks for rows in which the condition is true."""
        if is_costly(condemned):
            condemned = once_a_value(condemned, self.reads(table), table)
        refs = self._shown(table)
        row = sql.struct({f"v{place}": table.value(ref).shown for place, ref in enumerate(refs)})
        return ask_over_rows({"examples": (sql.smallest_of(MAX_EXAMPLES), row)}, condemned, table, self.reads(table) | table.reads(*refs))

    def examples(self, found: Sequence[Mapping[str, Any]], table: CheckedTable) -> tuple[Mapping[str, Any], ...]:
        """The examples as they are shown, from the structs that were found."""
        values = [table.value(ref) for ref in self._shown(table)]
        return tuple({value.label: table.text_of(value, row[f"v{place}"]) for place, value in enumerate(values)} for row in found)

    def illustrated(self, detail: str, examples: Sequence[Mapping[str, Any]]) -> str:
        """The detail, with some of the examples where the kind's sentence has room for them."""
        return detail

    def _shown(self, table: CheckedTable) -> tuple[ColumnRef, ...]:
        """What an example row shows: the table's grain, which tells the row, and the columns that the check is about."""
        grain = [ColumnRef(name) for name in table.grain if table.stored.column(name) is not None]
        return tuple(dict.fromkeys([*grain, *self.named_columns()]))


def refs_in(value: Any, pointer: str) -> Iterator[tuple[str, ColumnRef]]:
    """Every column reference inside a field's value, with its pointer."""
    if isinstance(value, ColumnRef):
        yield pointer, value
    elif isinstance(value, tuple):
        members: tuple[Any, ...] = value
        for place, member in enumerate(members):
            yield from refs_in(member, f"{pointer}/{place}")
    elif isinstance(value, HoldsColumns):
        yield from ((pointer + inner, ref) for inner, ref in value.column_refs())


def ask_over_rows(
    numbers: Mapping[str, tuple[Callable[[exp.Expr], exp.Expr], exp.Expr]],
    condition: exp.Expr,
    table: CheckedTable,
    reads: frozenset[str],
) -> Ask:
    """Aggregates of values over the rows for which a condition is true; one with windows is selected first."""
    if not has_window(condition):
        return Ask({name: sql.where(aggregate(value), condition) for name, (aggregate, value) in numbers.items()}, reads)
    inner = sql.select_from(table.relation, {**{name: value for name, (_, value) in numbers.items()}, "condemned": condition})
    over = {name: sql.where(aggregate(sql.column(name)), sql.column("condemned")) for name, (aggregate, _) in numbers.items()}
    return Ask(over, reads, over=inner)


def has_window(expression: exp.Expr) -> bool:
    """Whether a window stands in the expression itself, outside its subqueries: it cannot stand inside an aggregate."""
    return any(window.find_ancestor(exp.Subquery, exp.Exists) is None for window in expression.find_all(exp.Window))
