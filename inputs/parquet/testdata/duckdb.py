# Writes duckdb.parquet.
import duckdb

duckdb.sql("""copy (
    select i, case when i % 7 = 0 then null else i * 0.5::double end f,
        case when i % 3 = 0 then null else 'v' || (i % 5) end s
    from range(9) r(i)
) to 'duckdb.parquet' (format parquet)""")
