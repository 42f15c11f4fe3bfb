"""The shapes of kinds beyond the core: what a kind writes, and what it gets for nothing.

A kind is a subclass of the narrowest shape. A row kind says when a row is bad, a group kind which groups are bad, a
table kind what is measured of the whole table; counting, tolerances, filters, details, examples, annotation and
quarantine follow from that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field
from sqlglot import exp

from dq_dagster import sql
from dq_dagster.checks.base import Ask, Check, Numbers, Verdict, has_window
from dq_dagster.checks.costs import is_costly
from dq_dagster.checks.fields import Condition
from dq_dagster.checks.table import CheckedTable

MILLION = 1_000_000


class FilteredCheck(Check):
    """A check of which `filter` selects the rows that are judged: those for which the condition is true."""

    filter: Condition | None = None

    def selected(self, table: CheckedTable) -> exp.Expr | None:
        """True in a row that is judged, never NULL; None where all are."""
        if self.filter is None:
            return None
        return sql.call("coalesce", table.condition(self.filter, pointer="/filter"), exp.false())

    def among(self, rows: int | str) -> str:
        """The judged rows, in words."""
        return f"{rows} rows" if self.filter is None else f"{rows} rows where {self.filter.root}"


class TolerantCheck(FilteredCheck):
    """A check that judges rows. By default none may break it; a tolerance allows some, out of the rows judged."""

    max_failed_ppm: int | None = Field(default=None, ge=0, le=MILLION)
    max_failed_rows: int | None = Field(default=None, ge=0)

    def fault(self, table: CheckedTable) -> str:
        """What is wrong with a bad row, to follow "rows have": `price outside 0 .. 100`."""
        raise NotImplementedError

    def _is_tolerated(self, failed: int, judged: int) -> bool:
        if self.max_failed_ppm is None and self.max_failed_rows is None:
            return failed == 0
        within_share = self.max_failed_ppm is None or failed * MILLION <= self.max_failed_ppm * judged
        return within_share and (self.max_failed_rows is None or failed <= self.max_failed_rows)

    def _allowed(self, failed: int, judged: int) -> str:
        """What is allowed, in words, beside what was found; empty where nothing is."""
        allowed: list[str] = []
        if self.max_failed_ppm is not None:
            ppm = -(-failed * MILLION // judged) if judged else 0
            allowed.append(f"{ppm} ppm where {self.max_failed_ppm} ppm are allowed")
        if self.max_failed_rows is not None:
            allowed.append(f"{failed} where {self.max_failed_rows} rows are allowed")
        return f" ({', '.join(allowed)})" if allowed else ""

    def verdict_on(self, failed: int, judged: int, table: CheckedTable, observed: Mapping[str, Any] | None = None) -> Verdict:
        """The verdict on a count of bad rows among the rows judged."""
        counted = f"{failed or 'none'} of {self.among(judged)} have {self.fault(table)}{self._allowed(failed, judged)}"
        return Verdict(self._is_tolerated(failed, judged), counted, failed, {**(observed or {}), "judged_rows": judged})

    def illustrated(self, detail: str, examples: Sequence[Mapping[str, Any]]) -> str:
        labels = [ref.label for ref in self.named_columns()]
        rows = [[str(example[label]) or "''" for label in labels if label in example] for example in examples]
        shown = list(dict.fromkeys(row[0] if len(row) == 1 else f"({', '.join(row)})" for row in rows if row))
        told = [text for text in shown if text != "None"][:3]
        return f"{detail}, e.g. {', '.join(told)}" if told else detail

    def bad_row(self, table: CheckedTable) -> exp.Expr:
        """True in a row that breaks the check; NULL counts as unbroken. The filter is not its business.

        It may hold windows, and subqueries over the rows or a reference.
        """
        raise NotImplementedError

    def broken_row(self, table: CheckedTable) -> exp.Expr:
        """True in a judged row that breaks the check, never NULL."""
        bad = sql.call("coalesce", self.bad_row(table), exp.false())
        selected = self.selected(table)
        return bad if selected is None else exp.and_(bad, selected)

    def condemned_row(self, table: CheckedTable) -> exp.Expr | None:
        return self.broken_row(table)

    def asks_of_rows(self, table: CheckedTable) -> Sequence[Ask]:
        """How many rows are judged, and how many of them are broken."""
        condemned, selected = self.broken_row(table), self.selected(table)
        if not has_window(condemned):
            judged = {} if selected is None else {"judged": sql.count_where(selected)}
            return (Ask({"failed": sql.count_where(condemned), **judged}, self.reads(table)),)
        inner = sql.select_from(table.relation, {"condemned": condemned, "judged": exp.true() if selected is None else selected})
        numbers = {name: sql.count_where(sql.column(column)) for name, column in (("failed", "condemned"), ("judged", "judged"))}
        return (Ask(numbers, self.reads(table), over=inner),)


class RowCheck(TolerantCheck):
    """The shape of kinds that judge each row: they write `bad_row` and `fault`."""

    def failed_by_footers(self, table: CheckedTable) -> int | None:
        """How many of all rows are bad, where the footers say it; None where the rows must be read. Not for a filter's rows."""
        return None

    def doubtful_row(self, table: CheckedTable) -> exp.Expr | None:
        """True in every row that is bad, and cheaper to tell than that; None where there is no such sign."""
        return None

    def _known(self, table: CheckedTable) -> int | None:
        return self.failed_by_footers(table) if self.filter is None else None

    def asks(self, table: CheckedTable) -> Sequence[Ask]:
        if self._known(table) is not None:
            return ()
        return self._asks_at_once(table) or self.asks_of_rows(table)

    def _asks_at_once(self, table: CheckedTable) -> Sequence[Ask]:
        """The asks of a large table where a costly condition is judged in each row: the examples come with the numbers."""
        condemned, selected = self.broken_row(table), self.selected(table)
        if table.survey is None or table.repeating(self.reads(table)) is not None or has_window(condemned) or not is_costly(condemned):
            return ()
        example = self.example_ask({}, table)
        if example is None:
            return ()
        columns = {table.names[name]: sql.column(table.names[name]) for name in sorted(self.reads(table) | example.reads)}
        doubtful = sql.select_from(table.relation, columns).where(self.doubtful_row(table) or condemned)
        judged = () if selected is None else (Ask({"judged": sql.count_where(selected)}, self.reads(table)),)
        return (Ask({"failed": sql.count_where(condemned), **example.numbers}, example.reads, over=doubtful), *judged)

    def judge(self, numbers: Numbers, table: CheckedTable) -> Verdict:
        failed = numbers["failed"] if "failed" in numbers else self._known(table)
        assert failed is not None
        return self.verdict_on(failed, numbers.get("judged", table.rows), table)


class GroupCheck(TolerantCheck):
    """The shape of kinds that judge groups of rows: they write `keys`, `bad_group` and `fault`.

    A row is bad when its group is.
    """

    def keys(self, table: CheckedTable) -> Sequence[exp.Expr]:
        """What a group shares."""
        raise NotImplementedError

    def bad_group(self, table: CheckedTable) -> exp.Expr:
        """True of a bad group: aggregates over its judged rows, and its keys. NULL counts as good."""
        raise NotImplementedError

    def groups(self, table: CheckedTable) -> exp.Select:
        """One row a group of judged rows: its keys `k0`, `k1` …, how many rows it has (`n`), and whether it is `bad`."""
        keys = self.keys(table)
        groups = sql.select_from(table.relation, {**sql.numbered(keys), "n": sql.count_rows(), "bad": self.bad_group(table)})
        if (selected := self.selected(table)) is not None:
            groups = groups.where(selected)
        return groups.group_by(*(key.copy() for key in keys))

    def bad_row(self, table: CheckedTable) -> exp.Expr:
        keys = self.keys(table)
        bad = sql.select_from(self.groups(table), {name: sql.column(name) for name in sql.numbered(keys)}).where(sql.column("bad"))
        return sql.is_among(keys, bad, null_safe=True)

    def asks(self, table: CheckedTable) -> Sequence[Ask]:
        bad, n = sql.column("bad"), sql.column("n")
        numbers = {
            "failed": sql.call("coalesce", sql.where(sql.call("sum", n), bad), sql.integer(0)),
            "judged": sql.call("coalesce", sql.call("sum", n.copy()), sql.integer(0)),
            "bad_groups": sql.count_where(bad.copy()),
        }
        return (Ask(numbers, self.reads(table), over=self.groups(table)),)

    def judge(self, numbers: Numbers, table: CheckedTable) -> Verdict:
        return self.verdict_on(
            int(numbers["failed"] or 0), int(numbers.get("judged", table.rows)), table, {"bad_groups": numbers["bad_groups"]}
        )


class TableCheck(FilteredCheck):
    """The shape of kinds that judge the table as a whole: they write `metrics` and `verdict`.

    They have a verdict on an empty table too. A failed one condemns every row that its filter selects, and it cannot
    quarantine.
    """

    def metrics(self, table: CheckedTable) -> Mapping[str, exp.Expr]:
        """Named aggregates over the judged rows."""
        raise NotImplementedError

    def verdict(self, numbers: Numbers, table: CheckedTable) -> Verdict:
        """The verdict on the metrics. Pure."""
        raise NotImplementedError

    def asks(self, table: CheckedTable) -> Sequence[Ask]:
        selected = self.selected(table)
        metrics = {name: value if selected is None else sql.where(value, selected.copy()) for name, value in self.metrics(table).items()}
        return (Ask(metrics, self.reads(table)),) if metrics else ()

    def judge(self, numbers: Numbers, table: CheckedTable) -> Verdict:
        return self.verdict(numbers, table)


class SchemaCheck(FilteredCheck):
    """The shape of kinds that judge the stored columns alone: they write `verdict_on_schema`. No row is read.

    A failed one condemns every row that its filter selects.
    """

    def verdict_on_schema(self, table: CheckedTable) -> Verdict:
        """The verdict on the stored names and types. Pure."""
        raise NotImplementedError

    def asks(self, table: CheckedTable) -> Sequence[Ask]:
        return ()

    def judge(self, numbers: Numbers, table: CheckedTable) -> Verdict:
        return self.verdict_on_schema(table)
