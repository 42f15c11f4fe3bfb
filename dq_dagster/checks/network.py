"""Kinds about addresses and identifiers whose form is laid down: IP, email, URL, UUID."""

from __future__ import annotations

import ipaddress
import re
import socket
from functools import lru_cache
from typing import Literal

from pydantic import field_validator
from sqlglot import exp

from dq_dagster import sql
from dq_dagster.checks.fields import ColumnRef
from dq_dagster.checks.functions import judgement
from dq_dagster.checks.shapes import RowCheck
from dq_dagster.checks.table import CheckedTable

_OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
IPV4 = rf"{_OCTET}(?:\.{_OCTET}){{3}}"
_CIDR_V4 = re.compile(rf"(?P<address>{IPV4})/(?P<prefix>3[0-2]|[12]?[0-9])")

_GROUP = "[0-9A-Fa-f]{1,4}"
_LAST_TWO = f"(?:{_GROUP}:{_GROUP}|{IPV4})"
IPV6 = "|".join(
    [
        f"(?:{_GROUP}:){{6}}{_LAST_TWO}",
        f"::(?:{_GROUP}:){{0,5}}{_LAST_TWO}",
        *(f"(?:{_GROUP}:){{{before}}}:(?:{_GROUP}:){{0,{5 - before}}}{_LAST_TWO}" for before in range(1, 6)),
        f"(?:{_GROUP}:){{1,6}}:{_GROUP}",
        f"(?:{_GROUP}:){{1,7}}:",
        f"::{_GROUP}",
        "::",
    ]
)
IPV6_WITH_ZONE = f"(?:{IPV6})(?:%[^%/]+)?"

_LETTERS = "-A-Za-z0-9!#$%&'*+/=?^_`{|}~"
_LOCAL = rf"[{_LETTERS}]+(?:\.[{_LETTERS}]+)*" + r'|"(?:[\x21\x23-\x5b\x5d-\x7e]|\\[\x20-\x7e])*"'
_DOMAIN = r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z]{2,63}"
EMAIL = rf"(?:{_LOCAL})@(?:{_DOMAIN}|\[{IPV4}\]|\[IPv6:[0-9A-Fa-f:]+\])"
_LONGEST_LOCAL, _LONGEST_EMAIL = 64, 254

_PLAIN = r"-A-Za-z0-9._~!$&'()*+,;="
_USER = f"(?:[{_PLAIN}:]|%[0-9A-Fa-f]{{2}})*@"
_HOST = rf"\[(?:{IPV6}|[vV][0-9A-Fa-f]+\.[{_PLAIN}:]+)\]|(?:[{_PLAIN}]|%[0-9A-Fa-f]{{2}})*"
_SEGMENT = f"(?:[{_PLAIN}:@]|%[0-9A-Fa-f]{{2}})"
_AFTER = f"(?:[{_PLAIN}:@/?]|%[0-9A-Fa-f]{{2}})*"
URL = (
    f"[A-Za-z][A-Za-z0-9+.-]*:"
    f"(?://(?:{_USER})?(?:{_HOST})(?::[0-9]*)?(?:/{_SEGMENT}*)*|/?(?:{_SEGMENT}+(?:/{_SEGMENT}*)*)?)"
    rf"(?:\?{_AFTER})?(?:#{_AFTER})?"
)

_HEX = "[0-9A-Fa-f]"
UUID = f"{_HEX}{{8}}(?:-{_HEX}{{4}}){{3}}-{_HEX}{{12}}"
STRICT_UUID = f"{_HEX}{{8}}-{_HEX}{{4}}-[1-8]{_HEX}{{3}}-[89abAB]{_HEX}{{3}}-{_HEX}{{12}}"


class IsValidIpv4Address(RowCheck):
    """Every value is an IPv4 address: four numbers from 0 to 255 between dots, without leading zeros or anything else.

    A column that is no text is judged by its text. NULL passes. An empty table passes.

    Example:
        {check_id: client_address, kind: is_valid_ipv4_address, enforcement: required, column: client_ip}
    """

    kind: Literal["is_valid_ipv4_address"] = "is_valid_ipv4_address"
    column: ColumnRef

    def bad_row(self, table: CheckedTable) -> exp.Expr:
        return sql.not_(sql.matches(table.value(self.column).as_text, IPV4))

    def fault(self, table: CheckedTable) -> str:
        return f"{self.column.label} that is no IPv4 address"


class IsIpv4AddressInCidr(RowCheck):
    """Every value is an IPv4 address inside `cidr_block`, such as 192.168.1.0/24.

    The block may have host bits set. What is no IPv4 address breaks the check. NULL passes. An empty table passes.

    Example:
        {check_id: client_inside, kind: is_ipv4_address_in_cidr, enforcement: required, column: client_ip, cidr_block: 10.0.0.0/8}
    """

    kind: Literal["is_ipv4_address_in_cidr"] = "is_ipv4_address_in_cidr"
    column: ColumnRef
    cidr_block: str

    @field_validator("cidr_block")
    @classmethod
    def _is_block(cls, block: str) -> str:
        if _CIDR_V4.fullmatch(block) is None:
            raise ValueError("is no IPv4 block; write an address, a slash and 0 to 32, such as 192.168.1.0/24")
        return block

    def bad_row(self, table: CheckedTable) -> exp.Expr:
        value = table.value(self.column).as_text
        block = ipaddress.IPv4Network(self.cidr_block, strict=False)
        number: exp.Expr = sql.integer(0)
        for place in range(4):
            part = sql.try_cast(sql.call("split_part", value, sql.text("."), sql.integer(place + 1)), "SMALLINT")
            octet = sql.cast(part, "BIGINT")  # a small number even where the text is no address, so that no product overflows
            number = exp.Add(this=number, expression=exp.Mul(this=octet, expression=sql.integer(256 ** (3 - place))))
        first, last = sql.integer(int(block.network_address)), sql.integer(int(block.broadcast_address))
        return sql.any_of([sql.not_(sql.matches(value, IPV4)), exp.paren(number) < first, exp.paren(number.copy()) > last])

    def fault(self, table: CheckedTable) -> str:
        return f"{self.column.label} that is no IPv4 address inside {self.cidr_block}"


class IsValidIpv6Address(RowCheck):
    """Every value is an IPv6 address (RFC 4291), which may end in an IPv4 address or in a zone such as %eth0.

    Brackets, prefix lengths and spaces break it. A column that is no text is judged by its text. NULL passes. An empty
    table passes.

    Example:
        {check_id: peer_address, kind: is_valid_ipv6_address, enforcement: required, column: peer_ip}
    """

    kind: Literal["is_valid_ipv6_address"] = "is_valid_ipv6_address"
    column: ColumnRef

    def bad_row(self, table: CheckedTable) -> exp.Expr:
        return sql.not_(sql.matches(table.value(self.column).as_text, IPV6_WITH_ZONE))

    def fault(self, table: CheckedTable) -> str:
        return f"{self.column.label} that is no IPv6 address"


@lru_cache(maxsize=64)
def _ipv6_block(block: str) -> tuple[int, int]:
    """The first and the last address of the block."""
    network = ipaddress.IPv6Network(block, strict=False)
    return int(network.network_address), int(network.broadcast_address)


@judgement("dq_is_in_ipv6_block")
def is_in_ipv6_block(text: str, block: str) -> bool:
    """Whether the text, where it is an IPv6 address, lies inside the block. An address has too many spellings to say it in SQL."""
    first, last = _ipv6_block(block)
    try:
        packed = socket.inet_pton(socket.AF_INET6, text.partition("%")[0])  # ten times as fast as ipaddress
    except (OSError, ValueError):  # ValueError: a NUL character
        return False
    return first <= int.from_bytes(packed, "big") <= last


class IsIpv6AddressInCidr(RowCheck):
    """Every value is an IPv6 address inside `cidr_block`, such as 2001:db8::/32, in whatever of its spellings.

    The block may have host bits set; a zone in an address is left out of account. What is no IPv6 address breaks the
    check, an IPv4 address too. NULL passes. An empty table passes.

    Example:
        {check_id: peer_inside, kind: is_ipv6_address_in_cidr, enforcement: required, column: peer_ip, cidr_block: "2001:db8::/32"}
    """

    kind: Literal["is_ipv6_address_in_cidr"] = "is_ipv6_address_in_cidr"
    column: ColumnRef
    cidr_block: str

    @field_validator("cidr_block")
    @classmethod
    def _is_block(cls, block: str) -> str:
        try:
            if "/" not in block:
                raise ValueError(block)
            _ipv6_block(block)
        except ValueError as error:
            raise ValueError("is no IPv6 block; write an address, a slash and 0 to 128, such as 2001:db8::/32") from error
        return block

    def bad_row(self, table: CheckedTable) -> exp.Expr:
        value = table.value(self.column).as_text
        inside = sql.call_python("dq_is_in_ipv6_block", value, self.cidr_block)
        return sql.any_of([sql.not_(sql.matches(value, IPV6_WITH_ZONE)), sql.not_(inside)])

    def fault(self, table: CheckedTable) -> str:
        return f"{self.column.label} that is no IPv6 address inside {self.cidr_block}"


class IsValidEmail(RowCheck):
    """Every value is an email address, by a practical part of RFC 5322.

    Before the `@`: words between single dots, or a quoted text without bare spaces; at most 64 characters up to the first
    `@`. After it: a host name of at least two labels whose last is 2 to 63 letters, or `[IPv4]` or `[IPv6:…]`. At most
    254 characters, ASCII alone; no comments. NULL passes. An empty table passes.

    Example:
        {check_id: email_usable, kind: is_valid_email, enforcement: advisory, column: email}
    """

    kind: Literal["is_valid_email"] = "is_valid_email"
    column: ColumnRef

    def bad_row(self, table: CheckedTable) -> exp.Expr:
        value = table.value(self.column).as_text
        too_long = sql.call("length", value) > sql.integer(_LONGEST_EMAIL)
        local_too_long = sql.call("strpos", value, sql.text("@")) > sql.integer(_LONGEST_LOCAL + 1)
        return sql.any_of([sql.not_(sql.matches(value, EMAIL)), too_long, local_too_long])

    def fault(self, table: CheckedTable) -> str:
        return f"{self.column.label} that is no email address"


class IsValidUrl(RowCheck):
    """Every value is an absolute URI by RFC 3986: it opens with a scheme, and holds no space and nothing beyond ASCII.

    The host may be empty, and any scheme will do: `mailto:a@b.c` and `javascript:alert(1)` are URIs. NULL passes. An
    empty table passes.

    Example:
        {check_id: homepage_usable, kind: is_valid_url, enforcement: advisory, column: homepage}
    """

    kind: Literal["is_valid_url"] = "is_valid_url"
    column: ColumnRef

    def bad_row(self, table: CheckedTable) -> exp.Expr:
        return sql.not_(sql.matches(table.value(self.column).as_text, URL))

    def fault(self, table: CheckedTable) -> str:
        return f"{self.column.label} that is no absolute URI"


class IsValidUuid(RowCheck):
    """Every value is a UUID in its usual text: 8, 4, 4, 4 and 12 hexadecimal digits between hyphens, in either case.

    With `strict` the version must be 1 to 8 and the variant that of RFC 9562, which the nil and the max UUID are not.
    NULL passes. An empty table passes.

    Example:
        {check_id: order_id_is_uuid, kind: is_valid_uuid, enforcement: required, column: order_id, strict: true}
    """

    kind: Literal["is_valid_uuid"] = "is_valid_uuid"
    column: ColumnRef
    strict: bool = False

    def bad_row(self, table: CheckedTable) -> exp.Expr:
        return sql.not_(sql.matches(table.value(self.column).as_text, STRICT_UUID if self.strict else UUID))

    def fault(self, table: CheckedTable) -> str:
        return f"{self.column.label} that is no UUID{' of RFC 9562' if self.strict else ''}"
