#!/usr/bin/env python3
"""Writes the Parquet input of each acceptance case into OUT/<case id>/ .

    python make_inputs.py OUT            # every case
    python make_inputs.py OUT id [id..]  # some of them
    python make_inputs.py --list

Self-contained: Python 3.11 and pyarrow only.  All values are invented.
The asset's path (what the recipe checks) is OUT/<id>/asset.parquet, a file or a
directory, unless the case's `asset` field says otherwise.
"""

import datetime as dt, os, shutil, struct, sys
from decimal import Decimal as D
from pathlib import Path
import pyarrow as pa
import pyarrow.parquet as pq

CASES = {}
NAN, INF = float("nan"), float("inf")
UTC = dt.timezone.utc


def case(cid):
    def deco(f):
        assert cid not in CASES, cid
        CASES[cid] = f
        return f

    return deco


def W(path, table, **kw):
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path, **kw)
    return path


def A(d):
    return Path(d) / "asset.parquet"


# ---------------------------------------------------------------- numbers
@case("num-nan-null-ceiling")
def _(d):
    W(A(d), pa.table({"reading": pa.array([NAN, NAN, NAN, None, 1.5], pa.float64())}))


@case("num-nan-unique")
def _(d):
    # two NaN payloads (quiet NaN, negative NaN) and a NULL pair
    n1, n2 = struct.unpack("<dd", struct.pack("<QQ", 0x7FF8000000000000, 0xFFF8000000000001))
    W(A(d), pa.table({"k": pa.array([n1, n2, 1.0, 2.0], pa.float64())}))


@case("num-inf-range-metadata")
def _(d):
    W(A(d), pa.table({"v": pa.array([INF, -INF, 1.7976931348623157e308, 5.0, None], pa.float64())}))


@case("num-double-on-bound")
def _(d):
    W(A(d), pa.table({"v": pa.array([0.3, 0.1 + 0.2, 0.41000000000000003, 1.0], pa.float64())}))


@case("num-float32-on-bound")
def _(d):
    W(A(d), pa.table({"v": pa.array([0.1, 0.2, 0.3], pa.float32())}))


@case("num-decimal-bound-20int-18frac")
def _(d):
    v = [D("99999999999999999999.999999999999999999"), D("99999999999999999999.999999999999999998"), D("0.000000000000000001")]
    W(A(d), pa.table({"x": pa.array(v, pa.decimal128(38, 18))}))


@case("num-decimal256")
def _(d):
    base = "12345678901234567890123456789012345678901234567890."
    v = [D(base + "1234567891"), D(base + "1234567892"), D("-2.2500000000")]
    W(A(d), pa.table({"x": pa.array(v, pa.decimal256(60, 10))}))


@case("num-uint64-max")
def _(d):
    W(A(d), pa.table({"u": pa.array([0, 2**64 - 2, 2**64 - 1], pa.uint64())}))


@case("num-int64-extreme-gap")
def _(d):
    W(A(d), pa.table({"i": pa.array([2**63 - 1, -(2**63)], pa.int64())}))


@case("num-sum-decimal38-overflow")
def _(d):
    W(A(d), pa.table({"x": pa.array([D(9 * 10**37)] * 2, pa.decimal128(38, 0))}))


@case("num-ppm-zero-ceiling-one-null")
def _(d):
    n = 2_100_000  # one null = 0.476 ppm, rounds to 0
    W(A(d), pa.table({"c": pa.array([None] + [1] * (n - 1), pa.int8())}), compression="zstd")


@case("num-float16")
def _(d):
    W(A(d), pa.table({"h": pa.array([1.0, 0.5, 65504.0, None]).cast(pa.float16())}))


@case("key-null-composite")
def _(d):
    W(
        A(d),
        pa.table(
            {"a": pa.array(["s1", "s1", None, None, "s2"]), "b": pa.array([None, None, None, None, 1], pa.int64()), "id": [1, 2, 3, 4, 5]}
        ),
    )


@case("key-concat-collision")
def _(d):
    W(A(d), pa.table({"x": pa.array(["ab", "a", None, "", "a|b", "a"]), "y": pa.array(["c", "bc", "", None, "c", "b|c"])}))


@case("key-unicode-nfc-nfd")
def _(d):
    W(A(d), pa.table({"city": ["caf\u00e9", "cafe\u0301", "Caf\u00e9"]}))


@case("key-binary-nul-bytes")
def _(d):
    W(A(d), pa.table({"h": pa.array([b"", b"\x00", b"\x00\x00", b"\xff\xfe", b"\xff\xfe", None], pa.binary())}))


@case("key-nested-struct-list")
def _(d):
    s = pa.array([{"a": None}, None, {"a": 1}, {"a": 1}], pa.struct([("a", pa.int64())]))
    l = pa.array([[1, None], [None, 1], [1], [1]], pa.list_(pa.int64()))
    W(A(d), pa.table({"s": s, "l": l}))


@case("key-across-parts")
def _(d):
    W(A(d) / "part-0.parquet", pa.table({"k": [1, 2, 3]}))
    W(A(d) / "part-1.parquet", pa.table({"k": [4, 5, 3]}))


@case("fk-null-parts")
def _(d):
    W(A(d), pa.table({"c": pa.array(["DE", None, "FR", None, "XX"]), "r": pa.array([1, 1, None, None, 9], pa.int64())}))
    W(Path(d) / "ref.parquet", pa.table({"c": pa.array(["DE", None, "FR"]), "r": pa.array([1, 1, 2], pa.int64())}))


@case("fk-null-in-reference")
def _(d):
    W(A(d), pa.table({"k": pa.array([1, 2, 9, None], pa.int64())}))
    W(Path(d) / "ref.parquet", pa.table({"k": pa.array([1, 2, None], pa.int64())}))


@case("fk-type-mismatch-text-int")
def _(d):
    W(A(d), pa.table({"k": ["1", "01", "2", "x"]}))
    W(Path(d) / "ref.parquet", pa.table({"k": pa.array([1, 2], pa.int64())}))


@case("list-null-in-allowed")
def _(d):
    W(A(d), pa.table({"v": pa.array([1, 3, None], pa.int64())}))


@case("list-quotes-in-values")
def _(d):
    W(A(d), pa.table({"reason": ["Already Has", "Can't Proceed", "'a'", "x') OR 1=1 --", "a\\b", "100%_"]}))


@case("list-bare-word-vs-literal")
def _(d):
    W(A(d), pa.table({"status": ["ACTIVE", "INACTIVE", "GONE"], "ACTIVE": ["GONE", "GONE", "GONE"]}))


@case("text-string-case")
def _(d):
    W(
        A(d),
        pa.table(
            {"s": ["HELLO World", "hello world", "Hello\tworld", "Hello\u00a0world", "\u00c9cole Uno", "\u00e9cole", "3rd Row", None]}
        ),
    )


@case("text-invalid-utf8")
def _(d):
    buf = b"ok\xc3\x28bad!"
    s = pa.Array.from_buffers(pa.string(), 3, [None, pa.py_buffer(struct.pack("<4i", 0, 2, 4, 8)), pa.py_buffer(buf)])
    W(A(d), pa.table({"id": [1, 2, 3], "s": s}), use_dictionary=False)


@case("re-partial-vs-full")
def _(d):
    W(A(d), pa.table({"s": pa.array(["abcd", "bc", "xbcx", "ab", None])}))


@case("re-lookahead-refused")
def _(d):
    W(A(d), pa.table({"ct": ["text/html", "image/png"]}))


@case("re-catastrophic")
def _(d):
    W(A(d), pa.table({"s": ["a" * 40 + "!", "aaaa", "a" * 5000 + "!"]}))


@case("re-invalid-or-unbounded")
def _(d):
    W(A(d), pa.table({"s": ["a", "b"]}))


@case("fmt-email")
def _(d):
    v = [
        "user@example.com",
        "user+tag@example.co.uk",
        '"a@b"@example.com',
        "user@[192.0.2.1]",
        "user@[256.0.2.1]",
        "user@localhost",
        "user@example.c",
        "user@example.123",
        ".user@example.com",
        "us..er@example.com",
        "user@-ex.com",
        "u" * 64 + "@example.com",
        "u" * 65 + "@example.com",
        "user@example.com\n",
        "us er@example.com",
        "user@b\u00fccher.example",
        None,
    ]
    W(A(d), pa.table({"email": v}))


@case("fmt-ipv6-cidr")
def _(d):
    W(
        A(d),
        pa.table(
            {
                "ip": [
                    "2001:db8::1",
                    "2001:DB8:ffff:ffff:ffff:ffff:ffff:ffff",
                    "2001:db9::",
                    "2001:db7:ffff::",
                    "::ffff:32.1.13.184",
                    "junk",
                    None,
                ]
            }
        ),
    )


@case("fmt-ipv4-cidr-highbit")
def _(d):
    W(
        A(d),
        pa.table(
            {"ip": ["200.1.2.0", "200.1.2.255", "200.1.3.0", "200.001.2.3", "200.1.2", "200.1.2.3\n", " 200.1.2.3", "256.1.2.3", None]}
        ),
    )


@case("fmt-uuid")
def _(d):
    u = "550e8400-e29b-41d4-a716-446655440000"
    W(
        A(d),
        pa.table(
            {
                "u": [
                    u,
                    u.upper(),
                    "00000000-0000-0000-0000-000000000000",
                    "ffffffff-ffff-ffff-ffff-ffffffffffff",
                    "{" + u + "}",
                    u.replace("-", ""),
                    "urn:uuid:" + u,
                    u + "\n",
                    u[:-1],
                    "5-50e8400e29b41d4a716446655440000",
                    "550e8400-e29b-91d4-c716-446655440000",
                    None,
                ]
            }
        ),
    )


@case("fmt-country-numeric-int")
def _(d):
    W(A(d), pa.table({"n": pa.array([4, 840, 999, None], pa.int64()), "a2": ["US", "us", "XK", None], "cur": ["XXX", "USD", "usd", None]}))


@case("json-strictness")
def _(d):
    W(
        A(d),
        pa.table(
            {
                "j": [
                    '{"a":1}',
                    '{"a":1,"a":2}',
                    ' {"a":[1,2]} ',
                    "1",
                    "null",
                    '{"a":NaN}',
                    '{"a":Infinity}',
                    '{"a":FALSE}',
                    "{'a':1}",
                    '{"a":1,}',
                    "[1,]",
                    "",
                    '{"a":01}',
                    '{"a":1}{"b":2}',
                    "nul",
                    '{"a":"\t"}',
                    None,
                ]
            }
        ),
    )


@case("json-invalid-unicode")
def _(d):
    W(
        A(d),
        pa.table(
            {
                "j": [
                    '{"a":"\\ud83d\\ude00"}',
                    '{"a":"\U0001f600"}',
                    '{"a":"\u2028"}',
                    '{"a":"\\x41"}',
                    '{"a":"\\u00zz"}',
                    '\ufeff{"a":1}',
                    '{"a":"\\ud800"}',
                    '{"a\\u0000b":1}',
                    None,
                ]
            }
        ),
    )


@case("json-schema-required-keys")
def _(d):
    W(
        A(d),
        pa.table(
            {
                "j": [
                    '{"id":1,"name":"x"}',
                    '{"id":2,"name":5,"extra":0}',
                    '{"name":"x"}',
                    '{"id":null,"name":"x"}',
                    '{"id":1}',
                    "not json",
                    None,
                ]
            }
        ),
    )


# ---------------------------------------------------------------- time
@case("ts-duplicates-collapse")
def _(d):
    base = dt.datetime(2026, 3, 1, 0, 51)
    h = dt.timedelta(hours=1)
    W(A(d), pa.table({"t": pa.array([base + 2 * h, base, base, base + h, base + h, base + h, None], pa.timestamp("us"))}))


@case("ts-ns-gap-one-ns-over")
def _(d):
    W(A(d), pa.table({"t": pa.array([0, 1_000_000_000, 2_000_000_001], pa.timestamp("ns"))}))


@case("ts-dst-aware-hourly")
def _(d):
    # hourly instants across the US spring change (2024-03-10 07:00Z) and autumn change (2024-11-03 06:00Z)
    a = [dt.datetime(2024, 3, 10, h, tzinfo=UTC) for h in range(4, 11)]
    W(A(d), pa.table({"t": pa.array(a, pa.timestamp("us", "America/New_York"))}))


@case("ts-year-1-and-9999")
def _(d):
    W(
        A(d),
        pa.table(
            {
                "t": pa.array(
                    [dt.datetime(1, 1, 1), dt.datetime(1969, 12, 31, 23, 59, 59, 500000), dt.datetime(9999, 12, 31, 23, 59, 59, 999999)],
                    pa.timestamp("us"),
                ),
                "day": pa.array([dt.date(1, 1, 1), dt.date(1969, 12, 31), dt.date(9999, 12, 31)], pa.date32()),
            }
        ),
    )


@case("ts-unsorted-row-groups-parts")
def _(d):
    s = [i * 60 for i in range(0, 100)]
    late = pa.table({"t": pa.array([x * 1000 for x in s[50:][::-1]], pa.timestamp("ms"))})
    early = pa.table({"t": pa.array([x * 1000 for x in s[:50] if x != 1500], pa.timestamp("ms"))})
    W(A(d) / "part-0.parquet", late, row_group_size=7)
    W(A(d) / "part-1.parquet", early, row_group_size=7)


@case("ts-mixed-units-parts")
def _(d):
    W(A(d) / "part-0.parquet", pa.table({"t": pa.array([0], pa.timestamp("ms"))}))
    W(A(d) / "part-1.parquet", pa.table({"t": pa.array([1_000_000], pa.timestamp("us"))}))
    W(A(d) / "part-2.parquet", pa.table({"t": pa.array([2_000_000_001], pa.timestamp("ns"))}))


@case("ts-window-gaps-grouped")
def _(d):
    m = lambda h, mi=0: dt.datetime(2025, 7, 15, h, mi, tzinfo=UTC)
    W(
        A(d),
        pa.table(
            {
                "ts": pa.array([m(0), m(0, 59), m(1), m(4), m(4, 1), m(5), m(0), m(1), None], pa.timestamp("us", "UTC")),
                "dev": pa.array(["a", "a", "a", "a", "a", "a", None, None, "a"]),
            }
        ),
    )


@case("ts-fresh-host-timezone")
def _(d):
    W(
        A(d),
        pa.table(
            {
                "aware": pa.array(
                    [dt.datetime(2024, 6, 1, 11, 30, tzinfo=UTC), dt.datetime(2024, 6, 1, 9, 59, tzinfo=UTC), None],
                    pa.timestamp("us", "UTC"),
                ),
                "naive": pa.array([dt.datetime(2024, 6, 1, 11, 30), dt.datetime(2024, 6, 1, 9, 59), None], pa.timestamp("us")),
            }
        ),
    )


# ---------------------------------------------------------------- columns and shape
@case("col-dot-vs-struct")
def _(d):
    W(
        A(d),
        pa.table(
            {
                "a.b": pa.array([1, 2, 3, 4], pa.int64()),
                "a": pa.array([{"b": None}, {"b": None}, None, {"b": 1}], pa.struct([("b", pa.int64())])),
            }
        ),
    )


@case("col-unicode-twins")
def _(d):
    W(
        A(d),
        pa.Table.from_arrays(
            [
                pa.array([1, None]),
                pa.array([None, None], pa.int64()),
                pa.array([1, 2]),
                pa.array([None, 1]),
                pa.array([1, 1]),
                pa.array([5, 6]),
            ],
            names=["caf\u00e9", "cafe\u0301", "\u00c9", "\u00e9", "\u212a", "k"],
        ),
    )


@case("col-empty-name")
def _(d):
    W(A(d), pa.Table.from_arrays([pa.array([1, 2, 3]), pa.array([None, None, 7], pa.int64())], names=["id", ""]))


@case("col-helper-name-clash")
def _(d):
    n = ["filename", "file_row_number", "_dq_errors", "_dq_passed", "condition", "count", "rn", "t", "input_view", "_ubunye_failed_rules"]
    W(A(d), pa.Table.from_arrays([pa.array(["u", "u", None]) for _ in n], names=n))


@case("shape-zero-rows-in-parts")
def _(d):
    sch = pa.schema([("id", pa.int64()), ("v", pa.float64())])
    W(A(d) / "part-0.parquet", sch.empty_table())
    W(A(d) / "part-1.parquet", pa.table({"id": [1, 2], "v": [1.0, None]}, schema=sch))
    W(A(d) / "part-2.parquet", sch.empty_table())


@case("shape-null-typed-column")
def _(d):
    W(A(d), pa.table({"id": [1, 2, 3], "n": pa.nulls(3)}))


@case("shape-one-row")
def _(d):
    W(A(d), pa.table({"id": [7], "v": pa.array([None], pa.float64()), "t": pa.array([dt.datetime(2024, 1, 1)], pa.timestamp("us"))}))


@case("shape-no-statistics")
def _(d):
    W(
        A(d),
        pa.table({"s": pa.array(["a" * 5000 + "x", None, "a" * 5000 + "y", None]), "i": pa.array([1, None, 3, 101], pa.int64())}),
        write_statistics=False,
        row_group_size=2,
    )


@case("shape-no-columns")
def _(d):
    W(A(d), pa.table({}))


# ---------------------------------------------------------------- part files and partitions
@case("parts-decimal-scales")
def _(d):
    W(A(d) / "part-0.parquet", pa.table({"x": pa.array([D("99.99")], pa.decimal128(10, 2))}))
    W(A(d) / "part-1.parquet", pa.table({"x": pa.array([D("100.0049")], pa.decimal128(10, 4))}))


@case("parts-int-then-double")
def _(d):
    W(A(d) / "part-0.parquet", pa.table({"x": pa.array([1], pa.int64())}))
    W(A(d) / "part-1.parquet", pa.table({"x": pa.array([100.4], pa.float64())}))


@case("parts-added-column")
def _(d):
    W(A(d) / "part-0.parquet", pa.table({"a": [1, 2]}))
    W(A(d) / "part-1.parquet", pa.table({"a": [3, 4], "b": ["ok", "BAD"]}))


@case("parts-missing-column")
def _(d):
    W(A(d) / "part-0.parquet", pa.table({"a": [1, 2], "b": ["x", "y"]}))
    W(A(d) / "part-1.parquet", pa.table({"a": [3, 4]}))


@case("hive-null-empty-encoded")
def _(d):
    for v, n in (("__HIVE_DEFAULT_PARTITION__", 1), ("a%20b%2Fc", 2), ("S%C3%A3o", 3)):
        W(A(d) / f"k={v}" / "p.parquet", pa.table({"v": [n]}))


@case("part-prefix-1-and-10")
def _(d):
    W(A(d) / "d=1" / "p.parquet", pa.table({"v": [5, 6]}))
    W(A(d) / "d=10" / "p.parquet", pa.table({"v": [500, None]}))
    W(A(d) / "d=2" / "p.parquet", pa.table({"v": [7]}))


@case("part-key-slash-dot-space")
def _(d):
    for name, vals in (("0.94-to-0.95", [1, 2]), ("0.94-to-0.96", [1, 1]), ("a b", [3]), ("2024-01-01", [4])):
        W(A(d) / name / "data.parquet", pa.table({"v": vals}))


# ---------------------------------------------------------------- files
@case("file-zero-byte")
def _(d):
    A(d).write_bytes(b"")


@case("file-bitflip-page-crc")
def _(d):
    p = W(
        A(d),
        pa.table({"v": pa.array(list(range(1000)), pa.int64())}),
        compression="none",
        use_dictionary=False,
        write_page_checksum=True,
        write_statistics=False,
    )
    b = bytearray(p.read_bytes())
    i = bytes(b).find(struct.pack("<qq", 500, 501))
    b[i + 7] ^= 0x10  # 500 becomes 1152921504606847476
    p.write_bytes(bytes(b))


@case("file-one-bad-part")
def _(d):
    W(A(d) / "part-0.parquet", pa.table({"v": [1, 2, 3]}))
    W(A(d) / "part-1.parquet", pa.table({"v": [4, 5]}))
    (A(d) / "part-2.parquet").write_bytes(b"")


@case("file-hidden-and-temporary")
def _(d):
    W(A(d) / "part-0.parquet", pa.table({"v": [1, 2]}))
    W(A(d) / "_temporary" / "0" / "part-9.parquet", pa.table({"v": [1, 2]}))
    W(A(d) / ".part-8.parquet", pa.table({"v": [999]}))
    (A(d) / "_SUCCESS").write_bytes(b"")
    (A(d) / ".part-0.parquet.crc").write_bytes(b"crc\x00")


@case("path-odd-characters")
def _(d):
    for n in ("a b", "it's", "st*r", "q?", "\u00e9\U0001f680", "50%25", "a#b", "{a,b}", "semi;colon", "k=v", "back\\slash"):
        W(Path(d) / f"{n}.parquet", pa.table({"v": [1, 2]}))
    W(Path(d) / "q2.parquet", pa.table({"v": [9] * 7}))  # would match q?.parquet
    W(Path(d) / "stX-r.parquet", pa.table({"v": [9] * 7}))  # would match st*r.parquet


@case("sec-filter-stacked-statement")
def _(d):
    W(A(d), pa.table({"a": [1, 2, 3]}))


@case("sec-keyword-false-positive")
def _(d):
    W(A(d), pa.table({"update_time": [1, 2, None], "deleted_flag": [True, False, None], "cmd": ["DROP", "insert", "x; --"]}))


@case("sec-pii-in-detail")
def _(d):
    W(
        A(d),
        pa.table(
            {
                "card": ["4000-0000-0000-0002", "4000-0000-0000-0002", "1234", None],
                "email": ["pat@example.com", "pat@example.com", "bad", None],
                "amount": [5, 500, 7, 8],
            }
        ),
    )


@case("cfg-128-and-129-checks")
def _(d):
    W(A(d), pa.table({f"c{i:03d}": pa.array([i, None], pa.int64()) for i in range(129)}))


@case("cfg-bound-not-read")
def _(d):
    W(A(d), pa.table({"v": [1, 2, 300]}))


@case("cfg-unknown-column")
def _(d):
    W(A(d), pa.table({"num": [1, 1], "Long Name": ["a", "b"]}))


@case("cfg-17-key-columns")
def _(d):
    W(A(d), pa.table({f"k{i}": [i, i] for i in range(17)}))


@case("agg-count-distinct-null-and-filter")
def _(d):
    W(
        A(d),
        pa.table(
            {
                "g": pa.array(["a", "a", "b", None, None]),
                "x": pa.array([1, None, 2, 2, None], pa.int64()),
                "ok": pa.array([True, True, False, None, True]),
            }
        ),
    )


@case("agg-filter-outside-groups")
def _(d):
    W(
        A(d),
        pa.table(
            {
                "grp": ["g1", "g1", "g2", "g2", "g3"],
                "val": ["x", "y", "x", "y", "x"],
                "included": pa.array([True, True, False, False, None]),
            }
        ),
    )


@case("agg-matches-null-group")
def _(d):
    W(A(d), pa.table({"region": pa.array(["eu", "eu", None, "us"]), "x": [1, 2, 3, 4]}))
    W(Path(d) / "ref.parquet", pa.table({"region": pa.array(["eu", None, None, "apac"]), "x": [3, 1, 2, 9]}))


@case("row-sql-expression-polarity")
def _(d):
    W(A(d), pa.table({"n": pa.array([5, 11, None, 10], pa.int64())}))


@case("row-schema-check-spaces-order")
def _(d):
    W(A(d), pa.table({"Customer Name": ["a"], "id": pa.array([1], pa.int32()), "_dq": ["x"]}))


@case("quar-two-rules-one-row")
def _(d):
    W(
        A(d),
        pa.table(
            {
                "quantity": pa.array([0, 3, None, 0, 7], pa.int64()),
                "pay": pa.array(["cash", "visa", None, "visa", "amex"]),
                "id": [1, 2, 3, 4, 5],
            }
        ),
    )


@case("quar-rate-exactly-at-limit")
def _(d):
    W(A(d), pa.table({"q": [0] + [1] * 19}))


@case("quar-nan-between")
def _(d):
    W(A(d), pa.table({"q": pa.array([NAN, None, 0.5, 5.0, INF], pa.float64())}))


# ---------------------------------------------------------------- Dagster behaviour (the data is small on purpose)
@case("dag-blocking-multi-check")
def _(d):
    W(A(d), pa.table({"id": [1, 1, 2], "v": [1, 2, 300]}))


@case("dag-advisory-is-warn")
def _(d):
    W(A(d), pa.table({"id": [1, 2, 3], "v": pa.array([None, None, 3], pa.int64())}))


@case("dag-schedule-run")
def _(d):
    W(A(d), pa.table({"id": [1, 2, 3]}))


@case("dag-partition-under-check")
def _(d):
    for p, v in (("2024-01-01", [1, 2]), ("2024-01-02", [3, 3]), ("2024-01-03", [4])):
        W(A(d) / f"{p}.parquet", pa.table({"id": v}))


@case("dag-concurrent-same-asset")
def _(d):
    W(A(d), pa.table({"id": list(range(10000)), "v": [1.0] * 9999 + [NAN]}), row_group_size=1000)


@case("dag-rerun-idempotent")
def _(d):
    W(A(d), pa.table({"q": [0, 1, 2, 0], "id": [1, 2, 3, 4]}))


@case("dag-asset-key-with-dot")
def _(d):
    W(A(d), pa.table({"id": [1, 2]}))


@case("dag-metadata-types")
def _(d):
    W(
        A(d),
        pa.table(
            {
                "v": pa.array([NAN, INF, 1.0, None], pa.float64()),
                "x": pa.array([D("1.10"), None, D("3.30"), D("4.40")], pa.decimal128(10, 2)),
            }
        ),
    )


# ---------------------------------------------------------------- resources
@case("res-out-of-memory")
def _(d):
    W(A(d), pa.table({"k": [f"{i:08d}-" + "k" * 60 for i in range(400_000)], "v": pa.array([1] * 400_000, pa.int8())}), compression="zstd")


@case("res-disk-full-while-spilling")
def _(d):
    W(A(d), pa.table({"k": [f"{(i * 7919) % 400_000:08d}-" + "q" * 60 for i in range(400_000)]}), compression="zstd")


@case("res-spill-directory-private")
def _(d):
    W(A(d), pa.table({"k": [f"{i:08d}-" + "z" * 40 for i in range(200_000)]}), compression="zstd")


def main(argv):
    if argv[:1] == ["--list"]:
        print("\n".join(CASES))
        return
    if not argv:
        sys.exit(__doc__)
    out, ids = Path(argv[0]), argv[1:] or list(CASES)
    for cid in ids:
        d = out / cid
        shutil.rmtree(d, ignore_errors=True)
        d.mkdir(parents=True)
        CASES[cid](d)
    print(f"wrote {len(ids)} cases into {out}")


if __name__ == "__main__":
    main(sys.argv[1:])
