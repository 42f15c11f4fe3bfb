"""Kinds about addresses and identifiers whose form is laid down."""

from __future__ import annotations

import ipaddress

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dq_dagster.checks.network import is_in_ipv6_block
from tests.checks.cases import Case, failed, passed, refused, run_cases, tolerated

TEXT = {"s": pa.string()}
FILTERED = {"s": pa.string(), "a": pa.int64()}
COLUMN = {"column": "s"}
UUID = "123e4567-e89b-12d3-a456-426614174000"
KINDS = (
    "is_valid_ipv4_address", "is_valid_ipv6_address", "is_valid_email", "is_valid_url", "is_valid_uuid",
)  # fmt: skip

CASES = [
    *(Case(kind, "no rows", COLUMN, (TEXT, []), passed(detail="none of 0 rows")) for kind in KINDS),
    *(Case(kind, "NULL passes and an empty text does not", COLUMN, (TEXT, [None, ""]), failed(rows=[1])) for kind in KINDS),
    *(
        Case(
            kind,
            "only rows that the filter selects",
            {**COLUMN, "filter": "a > 0"},
            (FILTERED, [("bad one", 1), ("bad one", 0), ("bad one", None)]),
            failed(rows=[0]),
        )
        for kind in KINDS
    ),
    *(
        Case(kind, "a line break at the end is no part of it", COLUMN, (TEXT, [text + "\n", text]), failed(rows=[0]))
        for kind, text in zip(KINDS, ("1.2.3.4", "::1", "a@example.com", "http://h", UUID), strict=True)
    ),
    *(
        Case(kind, "a NUL character is no part of it", COLUMN, (TEXT, [text + "\0", text]), failed(rows=[0]))
        for kind, text in zip(KINDS, ("1.2.3.4", "::1", "a@example.com", "http://h", UUID), strict=True)
    ),
    # IPv4
    Case(
        "is_valid_ipv4_address",
        "four numbers from 0 to 255",
        COLUMN,
        (TEXT, ["0.0.0.0", "255.255.255.255", "256.0.0.1", "1.2.3", "1.2.3.4.5", "01.2.3.4", "1.2.3.4 ", "٣.1.1.1", "1.2.3.4/8"]),
        failed(rows=[2, 3, 4, 5, 6, 7, 8], detail="7 of 9 rows have s that is no IPv4 address"),
    ),
    Case("is_valid_ipv4_address", "a number is judged by its text", COLUMN, ({"s": pa.int32()}, [1, None]), failed(rows=[0])),
    Case("is_valid_ipv4_address", "a tolerance", {**COLUMN, "max_failed_rows": 1}, (TEXT, ["1.2.3.4", "x"]), tolerated(rows=[1])),
    Case(
        "is_ipv4_address_in_cidr",
        "host bits in the block are passed over",
        {**COLUMN, "cidr_block": "200.1.2.77/24"},
        (TEXT, ["200.1.2.0", "200.1.2.255", "200.1.3.0", "200.1.1.255", "200.001.2.3", None]),
        failed(rows=[2, 3, 4], detail="no IPv4 address inside 200.1.2.77/24"),
    ),
    Case(
        "is_ipv4_address_in_cidr",
        "every address lies in /0",
        {**COLUMN, "cidr_block": "0.0.0.0/0"},
        (TEXT, ["0.0.0.0", "255.255.255.255", "9223372036854775807.9223372036854775807.1.1", "", "..."]),
        failed(rows=[2, 3, 4]),
    ),
    Case(
        "is_ipv4_address_in_cidr", "one address", {**COLUMN, "cidr_block": "1.2.3.4/32"}, (TEXT, ["1.2.3.4", "1.2.3.5"]), failed(rows=[1])
    ),
    Case("is_ipv4_address_in_cidr", "no rows", {**COLUMN, "cidr_block": "1.2.3.4/32"}, (TEXT, []), passed()),
    Case(
        "is_ipv4_address_in_cidr",
        "only rows that the filter selects",
        {**COLUMN, "cidr_block": "10.0.0.0/8", "filter": "a > 0"},
        (FILTERED, [("1.1.1.1", 1), ("1.1.1.1", 0)]),
        failed(rows=[0]),
    ),
    *(
        Case(
            "is_ipv4_address_in_cidr",
            f"the block {block!r} is refused",
            {**COLUMN, "cidr_block": block},
            (TEXT, []),
            refused("DECLARED_CHECK_INVALID", "no IPv4 block; write an address"),
        )
        for block in ("192.168.1.0", "192.168.1/24", "", "1.2.3.4/33", "1.2.3.4/024", "300.1.1.1/8", "1.2.3.4/8\n", "::1/8")
    ),
    # IPv6
    Case(
        "is_valid_ipv6_address",
        "every spelling",
        COLUMN,
        (
            TEXT,
            [
                "::",
                "::1",
                "2001:DB8::A",
                "1:2:3:4:5:6:7:8",
                "1:2:3:4:5:6:7::",
                "::2:3:4:5:6:7:8",
                "1:2:3:4:5:6:1.2.3.4",
                "::ffff:192.0.2.1",
                "fe80::1%eth0",
            ],
        ),
        passed(),
    ),
    Case(
        "is_valid_ipv6_address",
        "what is none",
        COLUMN,
        (
            TEXT,
            [
                "1:2:3:4:5:6:7",
                "1:2:3:4:5:6:7:8:9",
                "1::2::3",
                ":::",
                ":1",
                "1:",
                "12345::",
                "g::1",
                "::ffff:256.0.0.1",
                "fe80::1%",
                "::1%a%b",
                "[::1]",
                "::1/128",
                " ::1",
                "1.2.3.4",
                "1:2:3:4::5:6:7:8",
                "::00001",
                "::01.2.3.4",
            ],
        ),
        failed(rows=range(18)),
    ),
    Case(
        "is_ipv6_address_in_cidr",
        "spellings of one address, and its neighbours",
        {**COLUMN, "cidr_block": "2001:db8::1/32"},
        (
            TEXT,
            [
                "2001:db8::1",
                "2001:DB8:ffff:ffff:ffff:ffff:ffff:ffff",
                "2001:db9::",
                "2001:db7:ffff::",
                "::ffff:32.1.13.184",
                "junk",
                "1.2.3.4",
                None,
            ],
        ),
        failed(rows=[2, 3, 4, 5, 6], detail="no IPv6 address inside 2001:db8::1/32"),
    ),
    Case(
        "is_ipv6_address_in_cidr",
        "an embedded IPv4 address, a zone",
        {**COLUMN, "cidr_block": "64:ff9b::/96"},
        (TEXT, ["64:ff9b::198.51.100.1", "64:ff9b::c633:6401%eth0", "64:ff9b::1:0:0", "::1\0"]),
        failed(rows=[2, 3]),
    ),
    Case("is_ipv6_address_in_cidr", "no rows", {**COLUMN, "cidr_block": "::/0"}, (TEXT, []), passed()),
    Case(
        "is_ipv6_address_in_cidr",
        "only rows that the filter selects",
        {**COLUMN, "cidr_block": "::/128", "filter": "a > 0"},
        (FILTERED, [("::1", 1), ("::1", 0)]),
        failed(rows=[0]),
    ),
    *(
        Case(
            "is_ipv6_address_in_cidr",
            f"the block {block!r} is refused",
            {**COLUMN, "cidr_block": block},
            (TEXT, []),
            refused("DECLARED_CHECK_INVALID", "no IPv6 block; write an address"),
        )
        for block in ("2001:db8::", "", "::/129", "::/-1", "::/x", "10.0.0.0/8")
    ),
    # email
    Case(
        "is_valid_email",
        "plain and quoted forms, and a host in brackets",
        COLUMN,
        (
            TEXT,
            [
                "user+tag@example.co.uk",
                "o'neil@example.com",
                '"a@b"@example.com',
                '""@example.com',
                r'"a\"b"@example.com',
                r'"a\ b"@example.com',
                "u@[192.0.2.1]",
                "u@[IPv6:2001:db8::1]",
                "u@xn--exmple-cua.com",
                "u@sub.sub2.example.museum",
            ],
        ),
        passed(),
    ),
    Case(
        "is_valid_email",
        "what is none",
        COLUMN,
        (
            TEXT,
            [
                "u@localhost",
                "u@example.c",
                "u@example.123",
                ".u@example.com",
                "u.@example.com",
                "u..u@example.com",
                "u@-example.com",
                "u@example-.com",
                "u@exa_mple.com",
                "u@example..com",
                "u u@example.com",
                '"a b"@example.com',
                "a@b@example.com",
                "u@[256.0.0.1]",
                "u@192.168.0.1",
                "üser@example.com",
                "u@exämple.com",
                "u@example.xn--p1ai",
                "a(comment)@example.com",
            ],
        ),
        failed(rows=range(19)),
    ),
    Case(
        "is_valid_email",
        "64 characters before the first @, 254 in all, 63 in a label",
        COLUMN,
        (
            TEXT,
            [
                "u" * 64 + "@example.com",
                "u" * 65 + "@example.com",
                '"a@' + "b" * 80 + '"@example.com',
                "u@" + "l" * 63 + ".com",
                "u@" + "l" * 64 + ".com",
                "u@" + "a." * 124 + "com",
                "u@" + "a." * 125 + "com",
            ],
        ),
        failed(rows=[1, 4, 6]),
    ),
    # URL
    Case(
        "is_valid_url",
        "any scheme, an empty host, a host in brackets",
        COLUMN,
        (
            TEXT,
            [
                "https://example.com:8080/a/b?q=1#f",
                "ftp://u:p@h/x",
                "mailto:a@b.c",
                "javascript:alert(1)",
                "http://",
                "http:",
                "file:///etc/x",
                "http://[::1]/",
                "http://h/%20",
                "HTTP://H",
                "urn:isbn:123",
                "http://[v1.a:b]/",
            ],
        ),
        passed(),
    ),
    Case(
        "is_valid_url",
        "what is none",
        COLUMN,
        (
            TEXT,
            [
                "example.com",
                "/path",
                "//host/path",
                "http://exa mple.com",
                "http://h/%zz",
                "1http://x",
                ":x",
                "http://h/ä",
                "http://h:x/",
                "http://[1.2.3.4]/",
                "http://a@b@c/",
                "http://h/#a#b",
            ],
        ),
        failed(rows=range(12), detail="no absolute URI"),
    ),
    # UUID
    Case(
        "is_valid_uuid",
        "the usual text alone",
        COLUMN,
        (
            TEXT,
            [
                UUID,
                UUID.upper(),
                "0" * 8 + "-0000-0000-0000-" + "0" * 12,
                "{" + UUID + "}",
                UUID.replace("-", ""),
                "urn:uuid:" + UUID,
                UUID[:-1],
                "5-50e8400e29b41d4a716446655440000",
            ],
        ),
        failed(rows=[3, 4, 5, 6, 7]),
    ),
    Case(
        "is_valid_uuid",
        "strict: a version and the variant of RFC 9562",
        {**COLUMN, "strict": True},
        (
            TEXT,
            [
                UUID,
                "0" * 8 + "-0000-0000-0000-" + "0" * 12,
                "f" * 8 + "-ffff-ffff-ffff-" + "f" * 12,
                UUID.replace("-1", "-9"),
                UUID.replace("-a", "-c"),
                UUID.replace("-1", "-8").replace("-a", "-B"),
            ],
        ),
        failed(rows=[1, 2, 3, 4], detail="no UUID of RFC 9562"),
    ),
]

test_cases = run_cases(CASES)


@given(st.ip_addresses(v=6), st.integers(0, 128))
def test_an_ipv6_address_lies_in_a_block_as_pythons_ipaddress_says(address: ipaddress.IPv6Address, prefix: int):
    block = ipaddress.IPv6Network((int(address) ^ 1, prefix), strict=False)
    for text in (str(address), address.exploded.upper(), f"{address}%zone"):
        assert is_in_ipv6_block(text, str(block)) is (address in block)


@pytest.mark.parametrize("text", ["", "1.2.3.4", "::g", "::1\0", "\ud800"])
def test_what_is_no_ipv6_address_lies_in_no_block(text: str):
    assert not is_in_ipv6_block(text, "::/0")
