"""YAML text, read by the core schema of YAML 1.2: exact numbers, `no` is text, no key twice, every line and column kept."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import yaml

from dq_dagster.documents.parsed import Parsed, Place, Reading, Unreadable
from dq_dagster.outcomes import cut
from dq_dagster.plain import MAX_DEPTH, child, shown

REPARSED_CHARS = 100_000
_STANDARD = "tag:yaml.org,2002:"
_TEXT_TAGS = {"!", _STANDARD + "str"}
_PLAIN_TAGS = {_STANDARD + name for name in ("null", "bool", "int", "float", "timestamp", "map", "seq")}
_NULL = re.compile(r"~|null|Null|NULL|")
_TRUTH = re.compile(r"true|True|TRUE|false|False|FALSE")
_NUMBER = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_OTHER_BASE = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_NOT_NUMBER = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)", re.ASCII)
# More than six digits of a second do not fit a datetime: such a timestamp stays text, which loses nothing.
_INSTANT = re.compile(r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?(?: *(?:(Z)|([-+])(\d\d)(?::?(\d\d))?))?", re.ASCII)


@dataclass(slots=True)
class _Node:
    """A node of the text before its aliases are followed. A mapping's entries alternate key and value."""

    kind: str
    place: Place
    tag: str | None = None
    text: str = ""
    is_plain: bool = False
    entries: list[_Node] = field(default_factory=list)


def parse_yaml(text: str) -> Parsed:
    """The document that the text holds. Raises Unreadable where it is not YAML, or more than one document."""
    root = _parsed_root(text)
    reader = _Reader()
    value = None if root is None else reader.value(root, "", root.place, 0)
    return Parsed(value, reader.reading.places, tuple(reader.reading.problems))


def _parsed_root(text: str) -> _Node | None:
    """The root by libyaml's parser, which is fast; the other one words the errors, so that they are the same without libyaml."""
    fast = getattr(yaml, "CSafeLoader", None)
    if fast is not None:
        try:
            return _root(yaml.parse(text, Loader=fast))
        except yaml.YAMLError as error:
            if len(text) > REPARSED_CHARS:
                raise _not_yaml(error, text) from error
    try:
        return _root(yaml.parse(text, Loader=yaml.SafeLoader))
    except yaml.YAMLError as error:
        raise _not_yaml(error, text) from error


def _not_yaml(error: yaml.YAMLError, text: str) -> Unreadable:
    if isinstance(error, yaml.MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        place = None if mark is None else (mark.line + 1, mark.column + 1)
        words = ", ".join(part for part in (error.context, error.problem) if part)
        return Unreadable(f"the document is not YAML: {cut(words, 200)}", place)
    position = error.position if isinstance(error, yaml.reader.ReaderError) else 0
    before = text[:position]
    place = before.count("\n") + 1, position - before.rfind("\n")
    return Unreadable("the document is not YAML: it holds a control character; write it as an escape in double quotes", place)


def _root(events: Iterable[Any]) -> _Node | None:
    """The nodes of the one document, without recursion; None where there is none. The parser is stopped where it gets too deep."""
    root: _Node | None = None
    open_nodes: list[_Node] = []
    anchors: dict[str, _Node] = {}
    for event in events:
        place = event.start_mark.line + 1, event.start_mark.column + 1
        if isinstance(event, yaml.DocumentStartEvent) and root is not None:
            raise Unreadable("the text holds more than one document; keep one, and put the others into files of their own", place)
        if isinstance(event, (yaml.SequenceEndEvent, yaml.MappingEndEvent)):
            open_nodes.pop()
        if not isinstance(event, yaml.NodeEvent):
            continue
        node = _node(event, place, anchors)
        if open_nodes:
            open_nodes[-1].entries.append(node)
        else:
            root = node
        if isinstance(event, (yaml.SequenceStartEvent, yaml.MappingStartEvent)):
            open_nodes.append(node)
            if len(open_nodes) > MAX_DEPTH + 1:
                raise Unreadable(f"the document is nested more than {MAX_DEPTH} deep; write it flatter", place)
    return root


def _node(event: Any, place: Place, anchors: dict[str, _Node]) -> _Node:
    if isinstance(event, yaml.AliasEvent):
        if event.anchor not in anchors:
            raise Unreadable(f"the alias *{cut(str(event.anchor), 60)} names no anchor before it; define it with &", place)
        return anchors[event.anchor]
    if isinstance(event, yaml.ScalarEvent):
        node = _Node("scalar", place, event.tag, event.value, event.implicit[0] and event.tag is None)
    else:
        node = _Node("mapping" if isinstance(event, yaml.MappingStartEvent) else "list", place, event.tag)
    if event.anchor:
        anchors[event.anchor] = node
    return node


class _Reader:
    def __init__(self) -> None:
        self.reading = Reading()

    def value(self, node: _Node, pointer: str, place: Place, depth: int) -> Any:
        self.reading.enter(pointer, place, depth)
        if node.tag is not None and node.tag not in _TEXT_TAGS | _PLAIN_TAGS:
            tag = node.tag.replace(_STANDARD, "!!")
            return self.reading.refuse(pointer, f"the tag {cut(tag, 60)} means nothing in a recipe; take it out", place)
        if node.kind == "mapping":
            return self.mapping(node, pointer, depth)
        if node.kind == "list":
            return [self.value(entry, child(pointer, number), entry.place, depth + 1) for number, entry in enumerate(node.entries)]
        if node.is_plain or node.tag in _PLAIN_TAGS:
            return self.plain_scalar(node.text, pointer, place)
        return self.reading.text(node.text, pointer, place)

    def mapping(self, node: _Node, pointer: str, depth: int) -> dict[str, Any]:
        members: dict[str, Any] = {}
        first: dict[str, Place] = {}
        merged: list[_Node] = []
        for key, value in _pairs(node):
            if key.kind != "scalar":
                self.reading.refuse(pointer, "a key must be text, not a list or a mapping; write it as text", key.place)
            elif key.text == "<<" and key.is_plain:
                merged.append(value)
            elif self.reading.text(key.text, pointer, key.place) is None:
                continue
            elif key.text in first:
                self.reading.refuse_second_key(child(pointer, key.text), key.text, key.place, first[key.text])
            else:
                first[key.text] = key.place
                members[key.text] = self.value(value, child(pointer, key.text), key.place, depth + 1)
        for source in merged:
            self.merge(source, members, pointer, depth)
        return members

    def merge(self, source: _Node, members: dict[str, Any], pointer: str, depth: int) -> None:
        """Takes over what `<<` brings: the members that the mapping does not state itself."""
        self.reading.enter(pointer, source.place, depth + 1)
        if source.kind == "list" and all(entry.kind == "mapping" for entry in source.entries):
            for entry in source.entries:
                self.merge(entry, members, pointer, depth + 1)
        elif source.kind != "mapping":
            self.reading.refuse(pointer, "the key << takes a mapping, or a list of them, from elsewhere; write <<: *name", source.place)
        else:
            for key, value in _pairs(source):
                if key.kind == "scalar" and key.text == "<<" and key.is_plain:
                    self.merge(value, members, pointer, depth + 1)
                elif key.kind == "scalar" and key.text not in members:
                    members[key.text] = self.value(value, child(pointer, key.text), key.place, depth + 1)

    def plain_scalar(self, text: str, pointer: str, place: Place) -> Any:
        if _NULL.fullmatch(text):
            return None
        if _TRUTH.fullmatch(text):
            return text.lower() == "true"
        if _NUMBER.fullmatch(text):
            return self.reading.number(text, pointer, place)
        if _OTHER_BASE.fullmatch(text) and len(text) < 100:
            return int(text, 0)
        if _NOT_NUMBER.fullmatch(text):
            return self.reading.refuse(pointer, f"the document holds {text}, which is no number to compare with", place)
        try:
            return _moment(text) or self.reading.text(text, pointer, place)
        except ValueError:
            return self.reading.refuse(pointer, f"{shown(text)} looks like a date and is none; write it in quotes if it is text", place)


def _pairs(node: _Node) -> Iterator[tuple[_Node, _Node]]:
    return zip(node.entries[::2], node.entries[1::2], strict=True)


def _moment(text: str) -> dt.date | None:
    """The date or the instant that the text spells; None where it spells none. Raises ValueError for a 13th month."""
    if found := _DATE.fullmatch(text):
        return dt.date(*map(int, found.groups()))
    if not (found := _INSTANT.fullmatch(text)):
        return None
    fraction, is_utc, sign, hours, minutes = found.group(7, 8, 9, 10, 11)
    zone = dt.timezone.utc if is_utc else None
    if sign:
        offset = dt.timedelta(hours=int(hours), minutes=int(minutes or 0))
        zone = dt.timezone(-offset if sign == "-" else offset)
    year, month, day, hour, minute, second = map(int, found.group(1, 2, 3, 4, 5, 6))
    return dt.datetime(year, month, day, hour, minute, second, int((fraction or "0").ljust(6, "0")), zone)


class _Writer(yaml.SafeDumper):
    """Quotes what YAML 1.1 or the core schema of YAML 1.2 would read as something else than text."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _whole_text(pattern: re.Pattern[str]) -> re.Pattern[str]:
    return re.compile(rf"(?:{pattern.pattern})$", pattern.flags)


for _tag, _pattern in (("float", _NUMBER), ("float", _NOT_NUMBER), ("int", _OTHER_BASE), ("timestamp", _DATE), ("timestamp", _INSTANT)):
    _Writer.add_implicit_resolver(_STANDARD + _tag, _whole_text(_pattern), None)  # pyright: ignore[reportArgumentType] None: any first letter


def _write_text(writer: Any, text: str) -> Any:
    # PyYAML's emitter folds these line breaks into others unless the text is in double quotes.
    style = '"' if re.search("[\r\x85\u2028\u2029]", text) else None
    return writer.represent_scalar(_STANDARD + "str", text, style=style)


def _write_decimal(writer: Any, number: Decimal) -> Any:
    text = format(number, "f") if abs(number.adjusted()) < 60 else f"{number:E}"
    return writer.represent_scalar(_STANDARD + ("float" if re.search(r"[.E]", text) else "int"), text)


_Writer.add_representer(Decimal, _write_decimal)
_Writer.add_representer(str, _write_text)


def yaml_text(value: Any) -> str:
    """A plain value as YAML, its decimals as exact numbers."""
    return yaml.dump(value, Dumper=_Writer, sort_keys=False, allow_unicode=True, width=120)
