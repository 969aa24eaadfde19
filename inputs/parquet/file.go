package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	library "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/noregret/noregret"
)

// The directory at the end of a file is at most so long, with so many parts.
const (
	maxFooter = 64 << 20
	maxParts  = 1 << 20
)

// Options say what of a file is read. The zero value reads all columns and needs MaxHeld.
type Options struct {
	// Ignore names columns to leave out. Each must exist.
	Ignore []string
	// MaxHeld is the most memory, in bytes, that one page of each column may take together, by what
	// the headers declare. A file that needs more is refused.
	MaxHeld int64
}

// DefaultOptions returns all columns and a limit of 512 MiB.
func DefaultOptions() Options { return Options{MaxHeld: 512 << 20} }

// File is a Parquet file whose directory has been read.
type File struct {
	name   string
	r      io.ReaderAt
	size   int64
	opt    Options
	meta   *format.FileMetaData
	inner  *library.File // the columns without the pages
	leaves []leaf
}

// Open reads the directory of a file of so many bytes, which name stands for in errors.
func Open(name string, r io.ReaderAt, size int64, opt Options) (*File, error) {
	if opt.MaxHeld <= 0 {
		return nil, noregret.Errorf(noregret.Usage, "", "a limit of %d bytes for pages: it must be positive",
			opt.MaxHeld)
	}
	f := &File{name: name, r: r, size: size, opt: opt}
	footer, err := f.readFooter()
	if err != nil {
		return nil, err
	}
	if err := f.guarded(name, func() error { return f.open(footer) }); err != nil {
		return nil, err
	}
	if f.leaves, err = leaves(name, f.meta.Schema, opt.Ignore); err != nil {
		return nil, err
	}
	return f, nil
}

// Columns returns the columns in their order, without those that are ignored.
func (f *File) Columns() []Column {
	columns := make([]Column, len(f.leaves))
	for i, l := range f.leaves {
		columns[i] = l.Column
	}
	return columns
}

// Rows returns the number of rows that the file declares.
func (f *File) Rows() int64 { return f.meta.NumRows }

// virtualOffset is where the pages of each column begin for the library.
const virtualOffset = 4

// open reads the directory, and makes the library read one with the same columns, whose pages are
// not packed and come from [pages].
func (f *File) open(footer []byte) error {
	var protocol thrift.CompactProtocol
	f.meta = new(format.FileMetaData)
	if err := thrift.NewDecoder(protocol.NewReader(bytes.NewReader(footer))).Decode(f.meta); err != nil {
		return err
	}
	if len(f.meta.Schema) == 0 {
		return errors.New("the directory has no schema")
	}
	virtual := format.FileMetaData{Version: f.meta.Version, Schema: f.meta.Schema}
	if len(f.meta.RowGroups) > 0 {
		group := format.RowGroup{Columns: slices.Clone(f.meta.RowGroups[0].Columns)}
		for i := range group.Columns {
			meta := &group.Columns[i].MetaData
			group.Columns[i] = format.ColumnChunk{MetaData: format.ColumnMetaData{
				Type: meta.Type, Encoding: meta.Encoding, PathInSchema: meta.PathInSchema,
				DataPageOffset: virtualOffset, TotalCompressedSize: 1 << 62,
			}}
		}
		virtual.RowGroups = []format.RowGroup{group}
	}
	b, err := thrift.Marshal(&protocol, &virtual)
	if err != nil {
		return err
	}
	file := slices.Concat([]byte("PAR1"), b, binary.LittleEndian.AppendUint32(nil, uint32(len(b))), []byte("PAR1"))
	f.inner, err = library.OpenFile(bytes.NewReader(file), int64(len(file)), library.SkipPageIndex(true),
		library.SkipBloomFilters(true))
	return err
}

// readFooter checks both ends of the file, reads its directory and walks it.
func (f *File) readFooter() ([]byte, error) {
	var head, tail [8]byte
	if f.size < 12 {
		return nil, noregret.BadInputf(f.name, "the file has %d bytes and is not Parquet", f.size)
	}
	if _, err := f.r.ReadAt(head[:4], 0); err != nil {
		return nil, f.readError(f.name, err)
	}
	if _, err := f.r.ReadAt(tail[:], f.size-8); err != nil && !errors.Is(err, io.EOF) {
		return nil, f.readError(f.name, err)
	}
	switch magic := string(head[:4]); {
	case magic == "PARE", magic == "PAR1" && string(tail[4:]) == "PARE":
		return nil, noregret.BadInputf(f.name, "the file is encrypted, which is not read")
	case magic != "PAR1":
		return nil, noregret.BadInputf(f.name, "the file is not Parquet: it begins with %q instead of \"PAR1\"", magic)
	case string(tail[4:]) != "PAR1":
		return nil, noregret.BadInputf(f.name, "truncated: the file ends with %q instead of \"PAR1\"", tail[4:])
	}
	n := int64(binary.LittleEndian.Uint32(tail[:4]))
	if n > f.size-12 || n > maxFooter {
		return nil, noregret.BadInputf(f.name, "damaged: a directory of %d bytes in a file of %d; at most %d are read",
			n, f.size, maxFooter)
	}
	b := make([]byte, n)
	if _, err := f.r.ReadAt(b, f.size-8-n); err != nil {
		return nil, f.readError(f.name, err)
	}
	if m, _, ok := skim(b, maxParts); !ok {
		return nil, noregret.BadInputf(f.name, "damaged: byte %d of the directory, which has %d and may have %d parts",
			m, n, maxParts)
	}
	return b, nil
}

// guarded calls the library, which panics on some damaged files. Its faults are those of the file.
func (f *File) guarded(place string, do func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = noregret.BadInputf(place, "damaged: %v", r)
		}
	}()
	if err = do(); err != nil {
		if _, coded := errors.AsType[*noregret.Error](err); !coded {
			err = f.readError(place, err)
		}
	}
	return err
}

// readError is the error of a file that cannot be read: of the disk, or else of its content.
func (f *File) readError(place string, err error) error {
	if _, disk := errors.AsType[*fs.PathError](err); disk {
		return noregret.Errorf(noregret.Internal, place, "the file cannot be read: %w", err)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return noregret.BadInputf(place, "truncated: the file ends too early")
	}
	return noregret.BadInputf(place, "damaged: %w", err)
}

// placeOf is the place of a column in a row group.
func (f *File) placeOf(group int, l *leaf) string {
	return fmt.Sprintf("%s: row group %d, column %q", f.name, group+1, l.Name)
}
