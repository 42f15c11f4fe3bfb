"""Types on their way to Spark: what holds a stored type there, and which type an expression in DuckDB's SQL has.

Spark lacks nanoseconds, times of day and half floats. Nanoseconds are whole numbers there, times are text, halves floats.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
from sqlglot import exp

_HUGE = pa.decimal128(38, 0)
_SIMPLE = {
    "null": "INT", "bool": "BOOLEAN", "string": "STRING", "binary": "BINARY", "date32[day]": "DATE", "date64[ms]": "DATE",
    "int8": "TINYINT", "int16": "SMALLINT", "int32": "INT", "int64": "BIGINT",
    "uint8": "SMALLINT", "uint16": "INT", "uint32": "BIGINT", "uint64": "DECIMAL(20, 0)",
    "halffloat": "FLOAT", "float": "FLOAT", "double": "DOUBLE",
}  # fmt: skip
_BY_NAME: Mapping[Any, pa.DataType] = {
    exp.DType.BOOLEAN: pa.bool_(), exp.DType.TINYINT: pa.int8(), exp.DType.SMALLINT: pa.int16(), exp.DType.INT: pa.int32(),
    exp.DType.BIGINT: pa.int64(), exp.DType.UTINYINT: pa.uint8(), exp.DType.USMALLINT: pa.uint16(), exp.DType.UINT: pa.uint32(),
    exp.DType.UBIGINT: pa.uint64(), exp.DType.INT128: _HUGE, exp.DType.UINT128: _HUGE, exp.DType.FLOAT: pa.float32(),
    exp.DType.DOUBLE: pa.float64(), exp.DType.TEXT: pa.string(), exp.DType.VARCHAR: pa.string(), exp.DType.CHAR: pa.string(),
    exp.DType.VARBINARY: pa.binary(), exp.DType.BINARY: pa.binary(), exp.DType.DATE: pa.date32(),
    exp.DType.TIMESTAMP: pa.timestamp("us"), exp.DType.TIMESTAMPNTZ: pa.timestamp("us"), exp.DType.DATETIME: pa.timestamp("us"),
    exp.DType.TIMESTAMPTZ: pa.timestamp("us", "UTC"), exp.DType.TIMESTAMPLTZ: pa.timestamp("us", "UTC"),
    exp.DType.TIMESTAMP_S: pa.timestamp("us"), exp.DType.TIMESTAMP_MS: pa.timestamp("us"), exp.DType.TIMESTAMP_NS: pa.timestamp("ns"),
    exp.DType.TIME: pa.time64("us"), exp.DType.NULL: pa.null(),
}  # fmt: skip
_TEXT = (
    exp.Lower, exp.Upper, exp.Trim, exp.Concat, exp.ConcatWs, exp.DPipe, exp.Substring, exp.Left, exp.Right, exp.Replace, exp.RegexpReplace,
    exp.RegexpExtract, exp.Pad, exp.SplitPart, exp.ArrayToString, exp.TimeToStr, exp.Reverse,
)  # fmt: skip
_TRUTH = (
    exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.And, exp.Or, exp.Not, exp.Is, exp.In, exp.Between, exp.RegexpLike, exp.Boolean,
    exp.RegexpFullMatch, exp.StartsWith, exp.Contains, exp.Like, exp.ILike, exp.NullSafeEQ, exp.IsNan, exp.IsInf, exp.LogicalAnd,
    exp.LogicalOr, exp.Exists,
)  # fmt: skip
_WHOLE = (exp.Count, exp.Length, exp.StrPosition, exp.RowNumber, exp.Year, exp.Month, exp.Day, exp.DayOfYear, exp.DateDiff, exp.ArraySize)
_DOUBLE = (exp.Div, exp.Avg, exp.Sqrt, exp.StddevSamp, exp.StddevPop, exp.Variance, exp.VariancePop, exp.TimeToUnix, exp.Skewness)
_OF_FIRST = (
    exp.Paren, exp.Neg, exp.Abs, exp.Coalesce, exp.Nullif, exp.Min, exp.Max, exp.ArgMin, exp.ArgMax, exp.Lag, exp.Lead, exp.Filter,
    exp.Window, exp.Greatest, exp.Least, exp.Mode, exp.Order, exp.Distinct, exp.IntDiv, exp.Mod, exp.Round, exp.Floor, exp.Ceil,
    exp.AnyValue,
    exp.FirstValue, exp.LastValue, exp.BitwiseAndAgg, exp.BitwiseOrAgg, exp.BitwiseXorAgg,
)  # fmt: skip
_NAMED_KINDS: Mapping[str, pa.DataType] = {
    "epoch_us": pa.int64(), "epoch_ns": pa.int64(), "list_position": pa.int64(), "cardinality": pa.int64(), "strlen": pa.int64(),
    "isfinite": pa.bool_(), "product": pa.float64(), "kurtosis_pop": pa.float64(), "quantile_cont": pa.float64(),
}  # fmt: skip


def spark_type(kind: pa.DataType) -> str:
    """Spark's type that holds every value of an Arrow type, as DDL writes it."""
    types = pa.types
    if types.is_struct(kind):
        return f"STRUCT<{', '.join(f'{quoted(kind.field(at).name)}: {spark_type(kind.field(at).type)}' for at in range(kind.num_fields))}>"
    if types.is_map(kind):
        return f"MAP<{spark_type(kind.key_type)}, {spark_type(kind.item_type)}>"
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return f"ARRAY<{spark_type(kind.value_type)}>"
    if types.is_decimal(kind):
        return f"DECIMAL({kind.precision}, {kind.scale})" if kind.precision <= 38 else "STRING"
    if types.is_timestamp(kind):
        return "BIGINT" if kind.unit == "ns" else "TIMESTAMP" if kind.tz else "TIMESTAMP_NTZ"
    if types.is_time(kind):
        return "STRING"
    if types.is_duration(kind):
        return "BIGINT"
    if types.is_fixed_size_binary(kind):
        return "BINARY"
    return _SIMPLE[str(kind)]


def quoted(name: str) -> str:
    """The name as Spark's SQL takes any name."""
    return exp.to_identifier(name, quoted=True).sql("spark")


def holds(kind: pa.DataType, is_such: Any) -> bool:
    """Whether such a type stands in the type, however deep."""
    if pa.types.is_nested(kind):
        return any(holds(kind.field(place).type, is_such) for place in range(kind.num_fields))
    return bool(is_such(kind))


def is_nano(kind: pa.DataType | None) -> bool:
    """Whether it is a timestamp in nanoseconds, which is a whole number in Spark."""
    return kind is not None and pa.types.is_timestamp(kind) and kind.unit == "ns"


def cast_kind(target: exp.DataType) -> pa.DataType | None:
    """The Arrow type that a type in DuckDB's SQL means; None for one that is not looked at here."""
    if target.this == exp.DType.DECIMAL:
        sizes = [int(size.name) for size in target.expressions]
        precision, scale = (sizes[0], sizes[1] if len(sizes) > 1 else 0) if sizes else (18, 3)
        return pa.decimal128(precision, scale)
    return _BY_NAME.get(target.this)


class Kinds:
    """The types of a query's expressions, as far as they can be told from its tables' columns. None: unknown."""

    def __init__(self, tables: Mapping[str, Mapping[str, pa.DataType]]) -> None:
        self._tables = tables
        self._known: dict[int, pa.DataType | None] = {}

    def of(self, node: Any) -> pa.DataType | None:
        """The type of an expression that stands in its query."""
        if node is None:
            return None
        if id(node) not in self._known:
            self._known[id(node)] = None  # what leads back to itself is not known
            self._known[id(node)] = self._found(node)
        return self._known[id(node)]

    def _found(self, node: Any) -> pa.DataType | None:
        if isinstance(node, exp.Column):
            return self._of_column(node)
        if isinstance(node, exp.Cast):
            return cast_kind(node.args["to"])
        if isinstance(node, exp.Literal):
            return pa.string() if node.is_string else _of_number(node.name)
        for kinds, found in ((_TEXT, pa.string()), (_TRUTH, pa.bool_()), (_WHOLE, pa.int64()), (_DOUBLE, pa.float64())):
            if isinstance(node, kinds):
                return found
        if isinstance(node, _OF_FIRST):
            return self._of_any([node.this, *node.expressions] if isinstance(node, exp.Coalesce) else [node.this])
        if isinstance(node, exp.Case):
            return self._of_any([*(one.args["true"] for one in node.args["ifs"]), node.args.get("default")])
        if isinstance(node, exp.If):
            return self._of_any([node.args["true"], node.args.get("false")])
        if isinstance(node, exp.Subquery):
            return self.of(node.this.selects[0].unalias()) if isinstance(node.this, exp.Select) and node.this.selects else None
        if isinstance(node, exp.Add | exp.Sub | exp.Mul):
            return self._of_sum(node)
        return self._of_nested(node)

    def _of_any(self, nodes: list[Any]) -> pa.DataType | None:
        return next((kind for node in nodes if (kind := self.of(node)) is not None and not pa.types.is_null(kind)), None)

    def _of_sum(self, node: Any) -> pa.DataType | None:
        left, right = self.of(node.this), self.of(node.expression)
        if left is None or right is None or isinstance(node.expression, exp.Interval):
            return pa.timestamp("us") if left is not None and pa.types.is_temporal(left) else None
        if pa.types.is_date(left):
            return pa.int64() if pa.types.is_date(right) else left
        for is_of in (pa.types.is_floating, pa.types.is_decimal):
            if is_of(left) or is_of(right):
                return pa.float64() if is_of is pa.types.is_floating else left if pa.types.is_decimal(left) else right
        return pa.int64() if pa.types.is_integer(left) and pa.types.is_integer(right) else None

    def _of_nested(self, node: Any) -> pa.DataType | None:
        if isinstance(node, exp.Struct):
            members = [(one.name, self.of(one.expression) or pa.null()) for one in node.expressions if isinstance(one, exp.PropertyEQ)]
            return pa.struct(members)
        if isinstance(node, exp.Split | exp.RegexpSplit | exp.RegexpExtractAll):
            return pa.list_(pa.string())
        if isinstance(node, exp.Array):
            inner = self._of_any(list(node.expressions))
            return None if inner is None else pa.list_(inner)
        if isinstance(node, exp.Dot):
            return _member(self.of(node.this), node.expression.name)
        if isinstance(node, exp.Transform):
            body = self.of(node.expression.this) if isinstance(node.expression, exp.Lambda) else None
            return None if body is None else pa.list_(body)
        if isinstance(node, exp.ArrayFilter):
            return self.of(node.this)
        if not isinstance(node, exp.Anonymous):
            return None
        name = str(node.this).lower()
        if name == "struct_extract":
            return _member(self.of(node.expressions[0]), node.expressions[1].name)
        if name == "list_extract":
            return _inner(self.of(node.expressions[0]))
        if name in ("list_transform", "array_transform"):
            return pa.list_(body) if (body := self.of(node.expressions[1].this)) is not None else None
        if name == "regexp_extract" and len(node.expressions) == 3 and isinstance(node.expressions[2], exp.Array):
            return pa.struct([(one.name, pa.string()) for one in node.expressions[2].expressions])
        if name in ("arg_min", "arg_max", "min", "max", "quantile_disc", "coalesce", "mode"):
            return self.of(node.expressions[0])
        if name == "date_trunc":
            return (
                pa.timestamp("us", tz.tz)
                if (tz := self.of(node.expressions[1])) is not None and pa.types.is_timestamp(tz)
                else pa.timestamp("us")
            )
        if name in ("concat", "rpad", "lpad", "regexp_replace", "regexp_extract", "ltrim", "rtrim"):
            return pa.string()
        return pa.bool_() if name.startswith("dq_") else _NAMED_KINDS.get(name)

    def _of_column(self, column: exp.Column) -> pa.DataType | None:
        name = column.name
        owner: Any = column.parent
        while owner is not None and not isinstance(owner, exp.Select):
            if isinstance(owner, exp.Lambda) and not column.table and any(one.name == name for one in owner.expressions):
                return _inner(self.of(_mapped(owner)))
            owner = owner.parent
        while owner is not None:
            for source, called in _sources(owner):
                if column.table in ("", called) and (found := self._in_source(source, name, owner)) is not None:
                    return found
            owner = owner.parent.find_ancestor(exp.Select) if owner.parent is not None else None
        return None

    def _in_source(self, source: Any, name: str, select: Any) -> pa.DataType | None:
        if isinstance(source, exp.Subquery):
            return self._of_output(source.this, name)
        if source.name in self._tables:
            return self._tables[source.name].get(name)
        while select is not None:
            with_ = select.args.get("with_") or select.args.get("with")
            for cte in with_.expressions if with_ is not None else ():
                if cte.alias == source.name:
                    return self._of_output(cte.this, name)
            select = select.find_ancestor(exp.Select)
        return None

    def _of_output(self, query: Any, name: str) -> pa.DataType | None:
        while isinstance(query, exp.SetOperation | exp.Subquery):
            query = query.this
        if not isinstance(query, exp.Select):
            return None
        for projection in query.selects:
            if projection.alias_or_name == name:
                return self.of(projection.unalias())
            if projection.is_star:
                for source, _ in _sources(query):
                    if (found := self._in_source(source, name, query)) is not None:
                        return found
        return None


def _of_number(digits: str) -> pa.DataType | None:
    if digits.isdigit():
        return pa.int32() if int(digits) < 2**31 else pa.int64() if int(digits) < 2**63 else _HUGE
    return pa.float64() if "e" in digits.lower() else None


def _sources(select: Any) -> Iterator[tuple[Any, str]]:
    """What a SELECT reads from, and what each is called in it."""
    from_ = select.args.get("from_") or select.args.get("from")
    joins = [join.this for join in select.args.get("joins") or ()]
    for source in [*([from_.this] if from_ is not None else []), *joins]:
        if isinstance(source, exp.Table | exp.Subquery):
            yield source, source.alias_or_name


def _mapped(function: exp.Lambda) -> Any:
    """The list whose members a lambda is called with."""
    owner: Any = function.parent
    if owner is None:
        return None
    return owner.expressions[0] if isinstance(owner, exp.Anonymous) else owner.this


def _inner(kind: pa.DataType | None) -> pa.DataType | None:
    return kind.value_type if kind is not None and pa.types.is_list(kind) else None


def _member(kind: pa.DataType | None, name: str) -> pa.DataType | None:
    if kind is None or not pa.types.is_struct(kind) or kind.get_field_index(name) < 0:
        return None
    found = kind.field(name).type
    return None if pa.types.is_null(found) else found
