package parquet

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	library "github.com/parquet-go/parquet-go"

	"github.com/noregret/noregret"
)

// WriteCSV writes the names of the columns and the rows of the files, in their order, and returns
// how many rows it has written. All files must have the columns of the first, in its order, of the
// same kinds; that is checked first. It stops when ctx ends.
func WriteCSV(ctx context.Context, w io.Writer, files ...*File) (rows int64, err error) {
	if len(files) == 0 {
		return 0, noregret.Errorf(noregret.Usage, "", "no files")
	}
	for _, f := range files[1:] {
		if err := f.sameAs(files[0]); err != nil {
			return 0, err
		}
	}
	out := bufio.NewWriterSize(w, 64<<10)
	var line []byte
	for i, c := range files[0].leaves {
		if i > 0 {
			line = append(line, ',')
		}
		line = appendQuoted(line, []byte(c.Name))
	}
	if _, err := out.Write(append(line, '\n')); err != nil {
		return 0, writeError(err)
	}
	for _, f := range files {
		n, err := f.write(ctx, out)
		if rows += n; err != nil {
			return rows, errors.Join(err, out.Flush())
		}
	}
	if err := out.Flush(); err != nil {
		return rows, writeError(err)
	}
	return rows, nil
}

// writeError is the error of the output.
func writeError(err error) error {
	return noregret.Errorf(noregret.Internal, "", "the output cannot be written: %w", err)
}

// sameAs returns an error unless two files have the same columns.
func (f *File) sameAs(first *File) error {
	if len(f.leaves) != len(first.leaves) {
		return noregret.BadInputf(f.name, "the file has %d columns, and %s has %d", len(f.leaves), first.name,
			len(first.leaves))
	}
	for i, l := range f.leaves {
		want := first.leaves[i]
		if l.Name != want.Name {
			return noregret.BadInputf(f.name, "column %d is %q, and in %s it is %q", i+1, l.Name, first.name, want.Name)
		}
		if l.Kind != want.Kind && l.Kind != Empty && want.Kind != Empty {
			return noregret.BadInputf(f.name, "column %q has %s, and in %s it has %s", l.Name, l.Kind, first.name,
				want.Kind)
		}
	}
	return nil
}

// write writes the rows of a file.
func (f *File) write(ctx context.Context, out *bufio.Writer) (rows int64, err error) {
	for g := range f.meta.RowGroups {
		n, err := f.writeGroup(ctx, out, g, rows)
		if rows += n; err != nil {
			return rows, err
		}
	}
	if want := f.meta.NumRows; rows != want {
		return rows, noregret.BadInputf(f.name, "damaged: the row groups have %d rows, and the directory says %d",
			rows, want)
	}
	return rows, nil
}

// writeGroup writes the rows of a row group, before which the file has so many.
func (f *File) writeGroup(ctx context.Context, out *bufio.Writer, g int, before int64) (rows int64, err error) {
	cursors, err := f.cursors(g)
	defer func() {
		for i := range cursors {
			cursors[i].close()
		}
	}()
	if err != nil {
		return 0, err
	}
	var line []byte
	for ; rows < f.meta.RowGroups[g].NumRows; rows++ {
		if rows%4096 == 0 && ctx.Err() != nil {
			return rows, ctx.Err()
		}
		line = line[:0]
		for i := range cursors {
			if i > 0 {
				line = append(line, ',')
			}
			if line, err = cursors[i].append(line, before+rows+1); err != nil {
				return rows, err
			}
		}
		if len(line) == 0 { // one column without a value: a blank line would not be a row
			line = append(line, `""`...)
		}
		if _, err := out.Write(append(line, '\n')); err != nil {
			return rows, writeError(err)
		}
	}
	return rows, nil
}

// cursors returns the readers of the columns of a row group.
func (f *File) cursors(g int) ([]cursor, error) {
	meta := &f.meta.RowGroups[g]
	cursors := make([]cursor, len(f.leaves))
	budget := f.opt.MaxHeld
	for i := range cursors {
		l := &f.leaves[i]
		place := f.placeOf(g, l)
		if l.chunk >= len(meta.Columns) {
			return cursors, noregret.BadInputf(place, "damaged: the row group has %d columns", len(meta.Columns))
		}
		chunk := &meta.Columns[l.chunk]
		switch {
		case chunk.CryptoMetadata.Value != nil || len(chunk.EncryptedColumnMetadata) > 0:
			return cursors, noregret.BadInputf(place, "the column is encrypted, which is not read: leave it out "+
				"(--ignore-columns)")
		case chunk.FilePath != "":
			return cursors, noregret.BadInputf(place, "the column is in another file, %q, which is not read",
				chunk.FilePath)
		case chunk.MetaData.NumValues != meta.NumRows || meta.NumRows < 0:
			return cursors, noregret.BadInputf(place, "damaged: the column has %d values in %d rows",
				chunk.MetaData.NumValues, meta.NumRows)
		}
		source, err := f.newPages(place, l, &chunk.MetaData, &budget)
		if err != nil {
			return cursors, err
		}
		cursors[i] = cursor{source: source}
		err = f.guarded(place, func() error {
			chunk := f.inner.RowGroups()[0].ColumnChunks()[l.chunk].(*library.FileColumnChunk)
			cursors[i].pages = chunk.PagesFrom(source)
			return nil
		})
		if err != nil {
			return cursors, err
		}
	}
	return cursors, nil
}

// cursor reads the values of a column in a row group, one after the other.
type cursor struct {
	source *pages
	pages  library.Pages
	page   library.Page
	values library.ValueReader
	batch  [128]library.Value
	at, n  int
}

// append writes the next value, of the row with this number in the file.
func (c *cursor) append(b []byte, row int64) ([]byte, error) {
	if c.at == c.n {
		if err := c.source.file.guarded(c.source.place, c.fill); err != nil {
			return b, err
		}
	}
	v := c.batch[c.at]
	c.at++
	if v.IsNull() {
		return b, nil
	}
	b, fault := c.source.leaf.format(b, v)
	if fault != "" {
		return b, noregret.BadInputf(fmt.Sprintf("%s, row %d", c.source.place, row), "%s", fault)
	}
	return b, nil
}

// fill reads the next values.
func (c *cursor) fill() error {
	c.at, c.n = 0, 0
	for {
		if c.values != nil {
			n, err := c.values.ReadValues(c.batch[:])
			if err != nil && !errors.Is(err, io.EOF) {
				return err
			}
			if c.n = n; n > 0 {
				return nil
			}
			c.release()
		}
		page, err := c.pages.ReadPage()
		if fault := c.source.err; fault != nil && !errors.Is(fault, io.EOF) {
			return fault
		}
		if err != nil {
			return err
		}
		c.page, c.values = page, page.Values()
	}
}

func (c *cursor) release() {
	if c.page != nil {
		library.Release(c.page)
	}
	c.page, c.values = nil, nil
}

func (c *cursor) close() {
	c.release()
	if c.pages != nil {
		_ = c.pages.Close()
	}
}
