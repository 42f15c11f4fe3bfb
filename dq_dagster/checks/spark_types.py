"""Spark's column types: read from a Spark schema in words, and as Spark gives them to a stored column."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import pyarrow as pa


@dataclass(frozen=True, slots=True)
class SparkType:
    """A type. `members` are a struct's; `key` is a map's; `inner` is what an array or a map holds."""

    name: str
    arguments: tuple[int, ...] = ()
    key: SparkType | None = None
    inner: SparkType | None = None
    members: tuple[SparkMember, ...] = ()

    def within(self) -> Iterator[SparkType]:
        """The type, and every type inside it."""
        yield self
        for type in (self.key, self.inner, *(member.type for member in self.members)):
            if type is not None:
                yield from type.within()

    def __str__(self) -> str:
        match self.name:
            case "struct":
                inside = ", ".join(f"{member.name}: {member}" for member in self.members)
            case "map":
                inside = f"{self.key}, {self.inner}"
            case "array":
                inside = str(self.inner)
            case _:
                return f"{self.name}({', '.join(map(str, self.arguments))})" if self.arguments else self.name
        return f"{self.name}<{inside}>"


@dataclass(frozen=True, slots=True)
class SparkMember:
    """A column, or a member of a struct; a required one may not be null."""

    name: str
    type: SparkType
    is_required: bool = False

    def __str__(self) -> str:
        return f"{self.type} not null" if self.is_required else str(self.type)


class SchemaUnreadable(ValueError):
    """A schema that cannot be read; the message says where it breaks off."""


_TOKEN = re.compile(
    r"\s*(?:`(?P<quoted>(?:[^`]|``)+)`|(?P<word>\w+)|(?P<text>'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.)*\")|(?P<mark>[<>(),:]))"
)
_NAMES = {
    **dict.fromkeys(["tinyint", "byte"], "tinyint"),
    **dict.fromkeys(["smallint", "short"], "smallint"),
    **dict.fromkeys(["int", "integer"], "int"),
    **dict.fromkeys(["bigint", "long"], "bigint"),
    **dict.fromkeys(["float", "real"], "float"),
    **dict.fromkeys(["decimal", "dec", "numeric"], "decimal"),
    **dict.fromkeys(["timestamp", "timestamp_ltz"], "timestamp"),
    **dict.fromkeys(["char", "character"], "char"),
    **{
        name: name
        for name in (
            "boolean",
            "double",
            "string",
            "varchar",
            "binary",
            "date",
            "timestamp_ntz",
            "variant",
            "void",
            "array",
            "map",
            "struct",
        )
    },
}
_MAX_PRECISION = 38
_MAX_DEPTH = 100


@lru_cache(maxsize=64)
def read_schema(text: str) -> SparkType:
    """The struct that a Spark schema describes: `id INT NOT NULL, tags ARRAY<STRING>` or `struct<id: int>`.

    Raises SchemaUnreadable.
    """
    return _Reader(text).whole()


class _Reader:
    """Reads a schema from left to right, one token at a time."""

    def __init__(self, text: str) -> None:
        self._tokens = list(_tokens(text))
        self._place = 0
        self._depth = 0

    def whole(self) -> SparkType:
        if self._peek() == ("word", "struct") and self._peek(1) == ("mark", "<"):
            schema = self._type()
        else:
            schema = SparkType("struct", members=self._members(end=None))
        if self._peek()[0] != "end":
            raise SchemaUnreadable(f"cannot be read from {self._shown()} on")
        return schema

    def _peek(self, ahead: int = 0) -> tuple[str, str]:
        """What kind of token comes next, and its text; a word in lower case."""
        place = self._place + ahead
        if place >= len(self._tokens):
            return "end", ""
        kind, text = self._tokens[place]
        return kind, text.lower() if kind == "word" else text

    def _shown(self) -> str:
        return repr(self._tokens[self._place][1]) if self._place < len(self._tokens) else "its end"

    def _takes(self, kind: str, text: str) -> bool:
        if self._peek() != (kind, text):
            return False
        self._place += 1
        return True

    def _expect(self, mark: str) -> None:
        if not self._takes("mark", mark):
            raise SchemaUnreadable(f"has {self._shown()} where {mark!r} is expected")

    def _members(self, *, end: str | None) -> tuple[SparkMember, ...]:
        members: list[SparkMember] = []
        if end is not None and self._takes("mark", end):
            return ()
        while True:
            members.append(self._member())
            if not self._takes("mark", ","):
                break
        if end is not None:
            self._expect(end)
        names = [member.name for member in members]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise SchemaUnreadable(f"names {twice[0]!r} twice in one struct")
        return tuple(members)

    def _member(self) -> SparkMember:
        kind, _ = self._peek()
        if kind not in ("word", "quoted"):
            raise SchemaUnreadable(f"has {self._shown()} where a name is expected")
        name = self._tokens[self._place][1]
        self._place += 1
        self._takes("mark", ":")
        type = self._type()
        is_required = self._takes("word", "not")
        if is_required and not self._takes("word", "null"):
            raise SchemaUnreadable(f"has {self._shown()} where NULL is expected")
        if self._takes("word", "comment") and self._peek()[0] == "text":
            self._place += 1
        return SparkMember(name, type, is_required)

    def _type(self) -> SparkType:
        kind, word = self._peek()
        if kind != "word" or word not in _NAMES:
            raise SchemaUnreadable(f"has {self._shown()} where a type is expected; the types are {', '.join(sorted(set(_NAMES.values())))}")
        self._place += 1
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise SchemaUnreadable(f"is nested more than {_MAX_DEPTH} levels deep")
        type = self._with_arguments(_NAMES[word])
        self._depth -= 1
        return type

    def _with_arguments(self, name: str) -> SparkType:
        match name:
            case "struct":
                self._expect("<")
                return SparkType(name, members=self._members(end=">"))
            case "array":
                self._expect("<")
                type = SparkType(name, inner=self._type())
            case "map":
                self._expect("<")
                key = self._type()
                self._expect(",")
                type = SparkType(name, key=key, inner=self._type())
            case "decimal":
                return SparkType(name, self._digits())
            case "char" | "varchar":
                return SparkType(name, self._length())
            case _:
                return SparkType(name)
        self._expect(">")
        return type

    def _digits(self) -> tuple[int, int]:
        if not self._takes("mark", "("):
            return 10, 0
        precision, scale = self._number(), 0
        if self._takes("mark", ","):
            scale = self._number()
        self._expect(")")
        if not scale <= precision <= _MAX_PRECISION or precision == 0:
            told = f"has a decimal of precision {precision} and scale {scale}"
            raise SchemaUnreadable(f"{told}; precision is 1 to {_MAX_PRECISION}, scale at most as much")
        return precision, scale

    def _length(self) -> tuple[int]:
        self._expect("(")
        length = self._number()
        self._expect(")")
        return (length,)

    def _number(self) -> int:
        kind, text = self._peek()
        if kind != "word" or not text.isdecimal():
            raise SchemaUnreadable(f"has {self._shown()} where a number is expected")
        self._place += 1
        return int(text)


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    place = 0
    while text[place:].strip():
        match = _TOKEN.match(text, place)
        if match is None or match.lastgroup is None:
            raise SchemaUnreadable(f"cannot be read at {text[place:].strip()[:20]!r}")
        found = match.group(match.lastgroup)
        yield match.lastgroup, found.replace("``", "`") if match.lastgroup == "quoted" else found
        place = match.end()


_STORED = {
    "bool": "boolean", "int8": "tinyint", "int16": "smallint", "int32": "int", "int64": "bigint",
    "uint8": "smallint", "uint16": "int", "uint32": "bigint", "halffloat": "float", "float": "float", "double": "double",
    "string": "string", "date32[day]": "date", "date64[ms]": "date", "null": "void",
}  # fmt: skip


def spark_type(kind: pa.DataType) -> SparkType:
    """The type as which Spark reads a stored column. Everything that is read from Parquet may be null."""
    types = pa.types
    if types.is_struct(kind):
        fields = [kind.field(place) for place in range(kind.num_fields)]
        return SparkType("struct", members=tuple(SparkMember(field.name, spark_type(field.type)) for field in fields))
    if types.is_map(kind):
        return SparkType("map", key=spark_type(kind.key_type), inner=spark_type(kind.item_type))
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return SparkType("array", inner=spark_type(kind.value_type))
    if types.is_decimal(kind):
        return SparkType("decimal", (kind.precision, kind.scale))
    if types.is_uint64(kind):
        return SparkType("decimal", (20, 0))
    if types.is_timestamp(kind):
        return SparkType("timestamp" if kind.tz else "timestamp_ntz")
    if types.is_binary(kind) or types.is_fixed_size_binary(kind):
        return SparkType("binary")
    return SparkType(_STORED.get(str(kind), str(kind)))
