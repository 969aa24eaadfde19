# Writes pyarrow.parquet: every type that package parquet reads, with nulls, in two row groups. Then
# nulls.parquet and empty.parquet.
import datetime as d
import decimal

import pyarrow as pa
import pyarrow.parquet as pq

n = 7
some = [None if i == 3 else i for i in range(n)]


def each(f, t):
    return pa.array([None if i is None else f(i) for i in some], t)


D = decimal.Decimal
table = pa.table({
    "flag": each(lambda i: i % 2 == 0, pa.bool_()),
    "i8": each(lambda i: i - 3, pa.int8()),
    "u32": each(lambda i: 2**32 - 1 - i, pa.uint32()),
    "i64": each(lambda i: -(2**63) + i, pa.int64()),
    "u64": each(lambda i: 2**64 - 1 - i, pa.uint64()),
    "f16": pa.array([None if i is None else i / 4 - 1 for i in some]).cast(pa.float32()).cast(pa.float16()),
    "f32": each(lambda i: 0.1 * i, pa.float32()),
    "f64": each(lambda i: float("nan") if i == 5 else 0.1 * i, pa.float64()),
    "price": each(lambda i: D("-12345.67") + i, pa.decimal128(9, 2)),
    "long": each(lambda i: D("-1.5") if i == 0 else D(f"{i}23456789012345678901234567890.12345"), pa.decimal256(45, 5)),
    "day": each(lambda i: d.date(1969, 12, 29) + d.timedelta(i), pa.date32()),
    "clock": each(lambda i: d.time(23, 59, 59, 500000 * (i % 2)), pa.time64("us")),
    "at": each(lambda i: d.datetime(1969, 12, 31, 23, 59, 57, 250000) + d.timedelta(seconds=i), pa.timestamp("ms", "UTC")),
    "local": each(lambda i: d.datetime(2026, 2, 28) + d.timedelta(days=i), pa.timestamp("us")),
    "word": each(lambda i: ["plain", 'say "hi"', "a,b", "", " blank", "zwölf", "two\nlines"][i], pa.string()),
    "kind": each(lambda i: "ab"[i % 2], pa.string()).dictionary_encode(),
    "none": pa.nulls(n),
    "y": pa.array([i % 2 for i in range(n)], pa.int32()),
})
pq.write_table(table, "pyarrow.parquet", row_group_size=4, compression="zstd")

table = pa.table({"a": [1, 2], "n": pa.array([None, None], pa.int64()), "l": [0, 1]})
pq.write_table(table, "nulls.parquet", compression="none")
pq.write_table(pa.table({"a": pa.array([], pa.int64()), "b": pa.array([], pa.bool_())}), "empty.parquet")
