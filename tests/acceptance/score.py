#!/usr/bin/env python3
"""Scores dq_dagster against measured cases: `score.py dqx|sparkdq CASES.jsonl`, `score.py field CASES.jsonl INPUTS.py`.

Every expected value in these files was measured, on Spark with the system named, or by an independent pyarrow/Python
computation (the field cases). A disagreement is a fault, or a deliberate difference: then it is listed, with its
reason, in `docs/differences.md` of the project, one line each, opening with the case's number (`dqx 17:`) or id.

Prints each disagreement, then one last line `agreed A of N (D deliberate)`. Exit status 0 when none is left.
It uses the public Python surface alone: load_recipe, annotate, evaluate, split, RecipeRefused, Limits.
"""

from __future__ import annotations

import argparse
import base64
import datetime as dt
import json
import re
import sys
import tempfile
import traceback
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

SIMPLE = {
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "SMALLINT": pa.int16(),
    "TINYINT": pa.int8(),
    "STRING": pa.string(),
    "DOUBLE": pa.float64(),
    "FLOAT": pa.float32(),
    "BOOLEAN": pa.bool_(),
    "DATE": pa.date32(),
    "BINARY": pa.binary(),
    "TIMESTAMP": pa.timestamp("us", "UTC"),
    "TIMESTAMP_NTZ": pa.timestamp("us"),
}


def split_top(text: str) -> list[str]:
    """Splits at commas that stand outside every bracket."""
    parts, depth, word = [], 0, ""
    for char in text:
        depth += (char in "<(") - (char in ">)")
        if char == "," and depth == 0:
            parts.append(word)
            word = ""
        else:
            word += char
    return [p.strip() for p in [*parts, word] if p.strip()]


def arrow_type(text: str) -> pa.DataType:
    text = text.strip()
    head = re.match(r"[A-Za-z_]+", text).group(0).upper()
    inner = text[len(head) :].strip()
    if head == "DECIMAL":
        precision, scale = (int(n) for n in inner.strip("()").split(",")) if inner else (10, 0)
        return pa.decimal128(precision, scale)
    if head == "ARRAY":
        return pa.list_(arrow_type(inner[1:-1]))
    if head == "MAP":
        key, value = split_top(inner[1:-1])
        return pa.map_(arrow_type(key), arrow_type(value))
    if head == "STRUCT":
        return pa.struct(
            [(n.strip("`"), arrow_type(t)) for n, t in (re.match(r"(`[^`]+`|\w+)\s*:?\s*(.+)", p).groups() for p in split_top(inner[1:-1]))]
        )
    return SIMPLE[head]


def arrow_schema(ddl: str) -> pa.Schema:
    fields = [re.match(r"(`[^`]+`|\S+)\s+(.+?)(\s+NOT NULL)?$", part).groups()[:2] for part in split_top(ddl)]
    return pa.schema([(name.strip("`"), arrow_type(kind)) for name, kind in fields])


def typed(value, kind: pa.DataType):
    if value is None:
        return None
    if pa.types.is_struct(kind):
        return {kind.field(i).name: typed(value.get(kind.field(i).name), kind.field(i).type) for i in range(kind.num_fields)}
    if pa.types.is_list(kind):
        return [typed(v, kind.value_type) for v in value]
    if pa.types.is_map(kind):
        return [(typed(k, kind.key_type), typed(v, kind.item_type)) for k, v in value.items()]
    if pa.types.is_decimal(kind):
        return Decimal(str(value))
    if pa.types.is_floating(kind):
        return float(value)
    if pa.types.is_date(kind):
        return dt.date.fromisoformat(value)
    if pa.types.is_timestamp(kind):
        stamp = dt.datetime.fromisoformat(value)
        return stamp.replace(tzinfo=stamp.tzinfo or dt.timezone.utc) if kind.tz else stamp.replace(tzinfo=None)
    if pa.types.is_binary(kind):
        return base64.b64decode(value)
    return value


def write(path: Path, ddl: str, rows: list, *, numbered: bool) -> Path:
    schema = arrow_schema(ddl) if ddl else pa.schema([])
    columns = {f.name: [typed(r.get(f.name) if isinstance(r, dict) else r[i], f.type) for r in rows] for i, f in enumerate(schema)}
    arrays = [pa.array(columns[f.name], f.type) for f in schema]
    if numbered:
        schema = schema.append(pa.field("_idx", pa.int64()))
        arrays.append(pa.array(range(len(rows)), pa.int64()))
    pq.write_table(pa.Table.from_arrays(arrays, schema=schema), path)
    return path


def flagged(path: Path, dialect: str) -> list[int]:
    """The rows that DQX reports, or that SparkDQ does not pass. A row is never left undecided."""
    rows = [row for row in pq.read_table(path).to_pylist() if row["_idx"] is not None]
    if any(row["_dq_passed"] is None for row in rows):
        raise ValueError("_dq_passed is null on some row")
    return sorted({row["_idx"] for row in rows if (row["_dq_errors"] if dialect == "dqx" else not row["_dq_passed"])})


def oracle_case(dialect: str, case: dict, folder: Path) -> str | None:
    """None where the product agrees, else what it did."""
    import dq_dagster as dq

    table = write(folder / "table.parquet", case["schema"], case["rows"], numbered=True)
    references = {
        n: write(folder / f"ref_{n}.parquet", r["schema"], r["rows"], numbered=False) for n, r in (case.get("ref_dfs") or {}).items()
    }
    if dialect == "dqx":
        entry = {
            "name": "the_check",
            "criticality": case.get("criticality", "error"),
            "check": {"function": case["function"], "arguments": case["arguments"]},
        }
        if "for_each_column" in case:
            entry["check"]["for_each_column"] = case["for_each_column"]
        if "filter" in case:
            entry["filter"] = case["filter"]
    else:
        entry = {"check": case["function"], "check-id": "the_check", **case["arguments"]}
    entries = case.get("checks", [entry])
    levels = {"fail_levels": case["fail_levels"]} if "fail_levels" in case else {}
    refusable = "error" in case or case.get("skipped") or case.get("failing", 0) is None
    try:
        recipe = dq.load_recipe(entries, dialect=dialect)
        out = folder / "out.parquet"
        evaluation = dq.annotate(recipe, table, out, references=references, **levels)
    except dq.RecipeRefused as refused:
        return None if refusable else f"refused: {refused.problems[0].code}: {refused.problems[0].message}"
    statuses = {o.status for o in evaluation.outcomes}
    if refusable:
        refused_by_us = statuses <= {"not_evaluated"} or ("failing_no_ansi" in case and flagged(out, dialect) == case["failing_no_ansi"])
        return None if refused_by_us else f"{statuses}, where upstream refuses ({case.get('error', 'skipped')})"
    if "not_evaluated" in statuses:
        return f"not_evaluated: {[o.detail for o in evaluation.outcomes if o.status == 'not_evaluated']}"
    got = flagged(out, dialect)
    return None if got in (case["failing"], case.get("failing_no_ansi")) else f"rows {got}, expected {case['failing']}"


def loaded(batch: list[dict], folder: Path, sensitive: list[str]):
    """The batch as a recipe: core kinds in our own spelling, the others as their users write them."""
    import dq_dagster as dq

    if sensitive:
        own = [
            {
                **{k: v for k, v in c.items() if k not in ("function", "arguments")},
                **({"kind": c["function"], **c["arguments"]} if "function" in c else {}),
            }
            for c in batch
        ]
        return dq.load_recipe({"recipe": "case", "table": {"name": "asset", "sensitive": sensitive}, "checks": own}), {}
    if "rules" in batch[0]:
        return dq.load_recipe({"expectations": {"asset": batch[0]}}, dialect="ubunye"), {}
    if "function" not in batch[0]:
        return dq.load_recipe({"recipe": "case", "table": {"name": "asset"}, "checks": batch}), {}
    entries, references = [], {}
    for check in batch:
        arguments = dict(check["arguments"])
        if "ref" in arguments:
            name = arguments["ref_df_name"] = Path(arguments.pop("ref")).stem
            references[name] = folder / check["arguments"]["ref"]
        entry = {
            "name": check["check_id"],
            "criticality": {"advisory": "warn"}.get(check["enforcement"], "error"),
            "check": {"function": check["function"], "arguments": arguments},
        }
        entries.append({**entry, **({"filter": check["filter"]} if "filter" in check else {})})
    return dq.load_recipe(entries, dialect="dqx"), references


def batches(case: dict) -> list[list[dict]]:
    """Core checks that all run go together; whatever may be refused goes alone."""
    refusing = any(v.get("outcome") in ("refused", "run_failed") for v in case["right"]["per_check"].values())
    core = [c for c in case["checks"] if "kind" in c]
    if refusing or not core:
        return [[c] for c in case["checks"]]
    return [core, *([c] for c in case["checks"] if "kind" not in c)]


def disagreement(name: str, want: dict, outcome) -> str | None:
    if outcome is None:
        return f"{name}: no outcome, expected {want['outcome']}"
    if outcome.status != want["outcome"]:
        return f"{name}: {outcome.status} ({outcome.detail}), expected {want['outcome']}"
    if outcome.status == "failed" and outcome.failed_rows not in (None, want.get("failing_rows", outcome.failed_rows)):
        return f"{name}: {outcome.failed_rows} failing rows, expected {want['failing_rows']}"
    for shown in [want["detail_has"]] if isinstance(want.get("detail_has"), str) else want.get("detail_has", []):
        if shown not in outcome.detail:
            return f"{name}: detail {outcome.detail!r} lacks {shown!r}"
    for hidden in [want["detail_lacks"]] if isinstance(want.get("detail_lacks"), str) else want.get("detail_lacks", []):
        if hidden in outcome.detail:
            return f"{name}: detail shows {hidden!r}"
    return f"{name}: a detail of {len(outcome.detail)} characters" if len(outcome.detail or "") > 1024 else None


def field_case(case: dict, folder: Path, make) -> str | None:
    """Compares outcomes check by check; what `steps` asks of Dagster or of an engine option is left to the tests."""
    import dq_dagster as dq

    make(case["id"], folder)
    right = case["right"]["per_check"]
    wrong = []
    for batch in batches(case):
        ids = [c.get("check_id") for c in batch]
        wants = (
            {n: right[n] for n in right if n != "*"}
            if "rules" in batch[0]
            else {i: right.get(i) or right["*"] for i in ids if i in right or "*" in right}
        )
        try:
            recipe, references = loaded(batch, folder, case.get("sensitive", []))
            got = {o.check_id.lower(): o for o in dq.evaluate(recipe, folder / case["input"]["asset"], references=references).outcomes}
        except dq.RecipeRefused as refused:
            codes = {p.code for p in refused.problems}
            wrong += [
                f"{i}: refused {sorted(codes)}, expected {w['outcome']}"
                for i, w in wants.items()
                if w["outcome"] != "refused" or not any(c in w.get("code", c) for c in codes)
            ]
            continue
        except dq.CheckRunError as error:
            wrong += [
                f"{i}: {error.failure_code}, expected {w['outcome']}"
                for i, w in wants.items()
                if w["outcome"] not in ("run_failed", "refused")
            ]
            continue
        wrong += filter(
            None,
            (
                disagreement(i, w, got.get(str(i).lower()))
                for i, w in wants.items()
                if w["outcome"] in ("passed", "failed", "not_evaluated", "refused")
            ),
        )
    return "; ".join(wrong) or None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suite", choices=["dqx", "sparkdq", "field"])
    parser.add_argument("cases", type=Path)
    parser.add_argument("inputs", type=Path, nargs="?", help="field only: the script that makes the inputs")
    parser.add_argument("--differences", type=Path, default=Path("docs/differences.md"))
    parser.add_argument("--only", help="a part of the case's function or id")
    parser.add_argument("--core", action="store_true", help="field only: the cases that use the five core kinds alone")
    parser.add_argument("--quiet", action="store_true")
    args = parser.parse_args()
    deliberate = (
        set(re.findall(r"^\W*((?:dqx|sparkdq) \d+|[a-z0-9-]+):", args.differences.read_text(), re.M))
        if args.differences.exists()
        else set()
    )
    make = None
    if args.suite == "field":
        namespace: dict = {"__name__": "inputs", "__file__": str(args.inputs)}
        exec(compile(args.inputs.read_text(), str(args.inputs), "exec"), namespace)
        make = lambda case_id, folder: namespace["CASES"][case_id](folder)
    agreed = accepted = total = 0
    for number, line in enumerate(args.cases.read_text().splitlines(), 1):
        case = json.loads(line)
        name = case.get("function") or case["id"]
        if args.only and args.only not in name:
            continue
        if args.core and not all("kind" in check for check in case["checks"]):
            continue
        label = case["id"] if args.suite == "field" else f"{args.suite} {case.get('number', number)}"
        if case.get("steps") and case.get("kind") in ("partition", "resources", "race", "dagster"):
            continue  # these steps need Dagster, a partition or an engine option: the project's own tests run them
        total += 1
        with tempfile.TemporaryDirectory() as temporary:
            try:
                said = field_case(case, Path(temporary), make) if make else oracle_case(args.suite, case, Path(temporary))
            except Exception as error:  # a crash is a disagreement, and the next case still runs
                said = f"raised {type(error).__name__}: {str(error)[:200]}"
                if args.only:
                    traceback.print_exc()
        if said is None:
            agreed += 1
        elif label in deliberate:
            accepted += 1
        elif not args.quiet:
            print(f"{label} {name}: {case.get('note') or case.get('title')}: {said}")
    print(f"agreed {agreed} of {total} ({accepted} deliberate)")
    return 0 if agreed + accepted == total else 1


if __name__ == "__main__":
    sys.exit(main())
