"""SQL expressions as users write them: parsed, held to an allow-list, and resolved against a table's columns.

An expression is exactly one scalar SQL expression. Whatever could read a file, a setting, the environment or another
table is refused by not being on the list, so that what a new engine release brings is refused until it is added here.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from functools import lru_cache

import sqlglot
from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import ParseError, SqlglotError, TokenError

_FUNCTIONS = """
abs acos asin atan atan2 cbrt ceil ceiling cos cot degrees even exp factorial floor gamma gcd greatest greatest_common_divisor isfinite
isinf isnan lcm least ln log log10 log2 mod nextafter pi pow power radians round sign sin sqrt tan trunc xor ascii bit_length
char_length character_length chr concat concat_ws contains ends_with endswith format instr lcase left len length levenshtein lower lpad
ltrim md5 nfc_normalize octet_length ord position prefix repeat replace reverse right rpad rtrim sha1 sha256 split split_part
starts_with startswith strip_accents strlen strpos substr substring suffix translate trim ucase unicode upper jaccard jaro_similarity
jaro_winkler_similarity hamming damerau_levenshtein string_split str_split string_split_regex str_split_regex regexp_split_to_array
regexp_extract regexp_extract_all regexp_full_match regexp_matches regexp_replace regexp_like rlike like ilike coalesce if ifnull nullif
nvl case typeof age century date date_add date_diff date_part date_sub date_trunc datediff datepart datesub datetrunc day dayname
dayofmonth dayofweek dayofyear decade epoch epoch_ms epoch_ns epoch_us era extract hour isodow isoyear last_day make_date make_time
make_timestamp microsecond millisecond millennium minute month monthname quarter second strftime strptime time_bucket to_days to_hours
to_minutes to_months to_seconds to_timestamp to_weeks to_years to_date timezone try_strptime week weekday weekofyear year yearweek
unix_timestamp add_months date_format from_unixtime months_between next_day trunc timestamp timestamp_seconds timestamp_millis
timestamp_micros array_length array_contains array_extract array_position array_slice array_distinct array_sort array_to_string
array_size array_min array_max cardinality element_at try_element_at flatten list_aggregate list_contains list_distinct list_element
list_extract list_filter list_has_all list_has_any list_intersect list_max list_min list_position list_reverse list_slice list_sort
list_sum list_transform list_unique list_value map_contains map_extract map_keys map_values map_entries size struct_extract struct_pack
row transform filter exists forall any_match all_match sort_array arrays_overlap json_valid json_extract json_extract_string
json_array_length json_type json_keys json_exists json_contains get_json_object to_json to_base64 from_base64 base64 unbase64 hex unhex
encode decode hash bin bit_count cast try_cast tinyint smallint int bigint float double decimal string boolean binary is_distinct_from
is_not_distinct_from isnull isnotnull between in not and or
"""

ALLOWED_FUNCTIONS = frozenset(_FUNCTIONS.split())

_AGGREGATES = """
count sum avg mean min max count_if countif median mode stddev stddev_pop stddev_samp variance var_pop var_samp
"""
AGGREGATE_FUNCTIONS = frozenset(_AGGREGATES.split())

_REFUSED_NODES: tuple[tuple[type[exp.Expr], str], ...] = (
    (exp.Query, "holds a subquery"),
    (exp.Window, "holds a window function"),
    (exp.Star, "holds a star"),
    (exp.Placeholder, "holds a placeholder"),
    (exp.Parameter, "reads a parameter"),
    (exp.SessionParameter, "reads a setting"),
    (exp.Table, "names a table"),
    (exp.DDL, "is a statement"),
    (exp.Insert, "is a statement"),
    (exp.Update, "is a statement"),
    (exp.Delete, "is a statement"),
    (exp.Merge, "is a statement"),
    (exp.Command, "is a statement"),
    (exp.Alias, "gives a name with AS"),
    (exp.PropertyEQ, "assigns a value"),
    (exp.Ordered, "orders rows"),
)
NOW_NODES = (exp.CurrentTimestamp, exp.CurrentDate, exp.CurrentDatetime, exp.Localtimestamp)
_PLAIN_NODES = (
    exp.Condition, exp.Binary, exp.Unary, exp.Identifier, exp.DataType, exp.Interval, exp.Var, exp.Tuple, exp.Case, exp.If,
    exp.Lambda, exp.Slice, exp.IntervalSpan, exp.DataTypeParam, exp.ColumnDef, exp.Distinct, exp.WeekStart, exp.JSONPath, exp.JSONPathPart,
)  # fmt: skip

_WITH_A_GRAMMAR_OF_THEIR_OWN = (
    exp.Trim,
    exp.Extract,
    exp.StrPosition,
    exp.Substring,
    exp.TimeToStr,
    exp.StrToTime,
    exp.JSONExtract,
    exp.JSONExtractScalar,
)


class ExpressionRefused(ValueError):
    """An expression that is not one allowed scalar expression; the message says which part, and what to do."""


def _function_names(node: exp.Func) -> tuple[str, ...]:
    if isinstance(node, exp.Anonymous):
        return (str(node.this).lower(),)
    return tuple(name.lower() for name in type(node).sql_names())


def _is_now(node: exp.Expr) -> bool:
    """Whether the node is one of the spellings of the present."""
    return isinstance(node, NOW_NODES) or (isinstance(node, exp.Anonymous) and str(node.this).lower() == "now" and not node.expressions)


@lru_cache(maxsize=1)
def _allowed_classes() -> frozenset[type[exp.Expr]]:
    """What sqlglot makes of the allowed functions, which it often calls by another name than DuckDB does."""
    parser = DuckDB.parser_class
    found: set[type[exp.Expr]] = set(_WITH_A_GRAMMAR_OF_THEIR_OWN)
    for name in ALLOWED_FUNCTIONS & {known.lower() for known in parser.FUNCTIONS}:
        for count in range(1, 5):
            try:
                tree = parser.FUNCTIONS[name.upper()]([exp.column(letter) for letter in "abcd"[:count]])
            except (TypeError, ValueError, IndexError, AttributeError, SqlglotError):
                continue
            found.update(type(node) for node in tree.find_all(exp.Func))
    return frozenset(found) - {exp.Anonymous, exp.AnonymousAggFunc, exp.CombinedAggFunc}


def refusal_of(node: exp.Expr, *, aggregates: bool) -> str | None:
    """Why the node may not stand in an expression; None where it may."""
    for refused, why in _REFUSED_NODES:
        if isinstance(node, refused) and not (isinstance(node, exp.PropertyEQ) and isinstance(node.parent, exp.Struct)):
            if isinstance(node, exp.Star) and aggregates and isinstance(node.parent, exp.Count):
                continue
            return why
    if _is_now(node) or isinstance(node, (exp.Literal, exp.Boolean, exp.Null, exp.Column)):
        return None
    if isinstance(node, exp.Func) and not isinstance(node, (exp.Case, exp.If, exp.Cast, exp.And, exp.Or)):
        names = _function_names(node)
        allowed = ALLOWED_FUNCTIONS | (AGGREGATE_FUNCTIONS if aggregates else frozenset())
        if isinstance(node, exp.AggFunc) and not aggregates:
            return f"uses the aggregate {names[0]}, where each row is judged alone"
        if any(name in allowed for name in names) or type(node) in _allowed_classes() or isinstance(node, (exp.Array, exp.Struct, exp.Map)):
            return None
        near = difflib.get_close_matches(names[0], sorted(allowed), n=1)
        return f"calls {names[0]}, which is not on the list of allowed functions" + (f"; did you mean {near[0]}?" if near else "")
    return None if isinstance(node, _PLAIN_NODES) else f"holds {type(node).__name__.lower()}, which an expression may not"


def _is_commented(text: str, dialect: str) -> bool:
    return any(token.comments for token in sqlglot.tokenize(text, dialect=dialect))


@lru_cache(maxsize=4096)
def parse(text: str, *, dialect: str = "duckdb", aggregates: bool = False) -> exp.Expr:
    """The one expression that the text holds.

    Raises ExpressionRefused for anything else: two statements, a query, an unknown function, text that does not parse.
    """
    tree = grammar(text, dialect=dialect)
    for node in tree.walk():
        if why := refusal_of(node, aggregates=aggregates):
            raise ExpressionRefused(why)
    return tree


def grammar(text: str, *, dialect: str) -> exp.Expr:
    """The one expression that the text holds by its grammar, whatever stands in it. Raises ExpressionRefused."""
    if not text.strip():
        raise ExpressionRefused("is empty")
    try:
        trees = sqlglot.parse(f"SELECT ({text}\n)", dialect=dialect)
    except (ParseError, TokenError, SqlglotError) as error:
        place = error.errors[0] if isinstance(error, ParseError) and error.errors else None
        near = f" near {place['highlight']!r}" if place and place.get("highlight") else ""
        raise ExpressionRefused(f"cannot be parsed as one SQL expression{near}") from error
    tree = trees[0]
    if _is_commented(text, dialect):
        raise ExpressionRefused("holds a comment; take it out")
    is_plain = isinstance(tree, exp.Select) and not {name for name, value in tree.args.items() if value} - {"expressions", "kind"}
    if len(trees) != 1 or not isinstance(tree, exp.Select) or not is_plain or len(tree.expressions) != 1:
        raise ExpressionRefused("is not exactly one SQL expression")
    wrapped = tree.expressions[0]
    if not isinstance(wrapped, exp.Paren):
        raise ExpressionRefused("is not exactly one SQL expression")
    return wrapped.this


def column_paths(tree: exp.Expr) -> Iterator[str]:
    """Every column the expression reads, as the dotted path it is written with; lambda parameters are none."""
    for node in tree.find_all(exp.Column):
        path = ".".join(part.name for part in node.parts)
        if not _is_lambda_parameter(node, node.parts[0].name):
            yield path


def _is_lambda_parameter(node: exp.Expr, name: str) -> bool:
    parent = node.parent
    while parent is not None:
        if isinstance(parent, exp.Lambda) and any(parameter.name == name for parameter in parent.expressions):
            return True
        parent = parent.parent
    return False


def resolve(tree: exp.Expr, resolve_column: Callable[[str], exp.Expr], *, now: Callable[[], exp.Expr]) -> exp.Expr:
    """The expression over an engine's columns, with every spelling of the present replaced by one instant."""

    def replaced(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Column) and not _is_lambda_parameter(node, node.parts[0].name):
            return resolve_column(".".join(part.name for part in node.parts))
        if isinstance(node, exp.CurrentDate):
            return exp.cast(now(), "date")
        return now() if _is_now(node) else node

    return tree.transform(replaced)
