// Package parquet turns Parquet files into CSV with a header, as noregret reads it.
//
// [Open] reads what a file says about itself and refuses what CSV cannot say: fields within fields,
// lists, maps, bytes that are no text, encrypted columns. [WriteCSV] writes the rows of one or
// several files of the same columns. It holds one page of each column at a time, and refuses a file
// whose headers declare more than [Options] allow before it reads those pages.
//
// Each type is one text, so that noregret finds the same kind of column everywhere in a file: see
// [Kind]. A value that is absent is an empty cell, which noregret takes for a missing value.
//
// Errors have the code [noregret.BadInput] and the file, with its row group, column or row, as
// their place. Rows before a fault have been written by then: learn from the output only if
// WriteCSV returns nil. The package is not safe for concurrent use of one file.
package parquet
