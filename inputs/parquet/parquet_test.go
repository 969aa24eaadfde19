package parquet

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	library "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/deprecated"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/dataset"
)

// pyarrow is the content of testdata/pyarrow.parquet, by the program that made it.
const pyarrow = `flag,i8,u32,i64,u64,f16,f32,f64,price,long,day,clock,at,local,word,kind,none,y
1,-3,4294967295,-9223372036854775808,18446744073709551615,-1,0,0,-12345.67,-1.50000,` +
	`1969-12-29,86399,1969-12-31T23:59:57.25Z,2026-02-28T00:00:00,plain,a,,0
0,-2,4294967294,-9223372036854775807,18446744073709551614,-0.75,0.1,0.1,-12344.67,` +
	`123456789012345678901234567890.12345,` +
	`1969-12-30,86399.5,1969-12-31T23:59:58.25Z,2026-03-01T00:00:00,"say ""hi""",b,,1
1,-1,4294967293,-9223372036854775806,18446744073709551613,-0.5,0.2,0.2,-12343.67,` +
	`223456789012345678901234567890.12345,` +
	`1969-12-31,86399,1969-12-31T23:59:59.25Z,2026-03-02T00:00:00,"a,b",a,,0
,,,,,,,,,,,,,,,,,1
1,1,4294967291,-9223372036854775804,18446744073709551611,0,0.4,0.4,-12341.67,` +
	`423456789012345678901234567890.12345,` +
	`1970-01-02,86399,1970-01-01T00:00:01.25Z,2026-03-04T00:00:00," blank",a,,0
0,2,4294967290,-9223372036854775803,18446744073709551610,0.25,0.5,,-12340.67,` +
	`523456789012345678901234567890.12345,` +
	`1970-01-03,86399.5,1970-01-01T00:00:02.25Z,2026-03-05T00:00:00,zwölf,b,,1
1,3,4294967289,-9223372036854775802,18446744073709551609,0.5,0.6,0.6000000000000001,-12339.67,` +
	`623456789012345678901234567890.12345,` +
	`1970-01-04,86399,1970-01-01T00:00:03.25Z,2026-03-06T00:00:00,"two
lines",a,,0
`

func readFile(t testing.TB) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/pyarrow.parquet")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// convert writes files as CSV. They are named 1.parquet and so on.
func convert(opt Options, contents ...[]byte) (string, int64, error) {
	var files []*File
	for i, b := range contents {
		f, err := Open(fmt.Sprintf("%d.parquet", i+1), bytes.NewReader(b), int64(len(b)), opt)
		if err != nil {
			return "", 0, err
		}
		files = append(files, f)
	}
	var out strings.Builder
	rows, err := WriteCSV(context.Background(), &out, files...)
	return out.String(), rows, err
}

// encode writes rows by the library.
func encode[T any](t testing.TB, rows []T, opt ...library.WriterOption) []byte {
	t.Helper()
	var b bytes.Buffer
	w := library.NewGenericWriter[T](&b, opt...)
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// wantFault checks that an error is about the input and says what it must.
func wantFault(t *testing.T, err error, want string) {
	t.Helper()
	if noregret.CodeOf(err) != noregret.BadInput || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v (%s), want %q", err, noregret.CodeOf(err), want)
	}
}

func TestEveryType(t *testing.T) {
	b := readFile(t)
	got, rows, err := convert(DefaultOptions(), b)
	if err != nil || rows != 7 || got != pyarrow {
		t.Errorf("%d rows, %v:\n%s\nwant\n%s", rows, err, got, pyarrow)
	}
	// Two files are one set, with one header.
	got, rows, err = convert(DefaultOptions(), b, b)
	_, body, _ := strings.Cut(pyarrow, "\n")
	if err != nil || rows != 14 || got != pyarrow+body {
		t.Errorf("twice: %d rows, %v:\n%s", rows, err, got)
	}
}

func TestKinds(t *testing.T) {
	b := readFile(t)
	f, err := Open("x", bytes.NewReader(b), int64(len(b)), Options{MaxHeld: 1, Ignore: []string{"y", "i8"}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range f.Columns() {
		got = append(got, c.Name+" "+string(c.Kind))
	}
	want := "flag numbers, u32 numbers, i64 numbers, u64 numbers, f16 numbers, f32 numbers, f64 numbers, " +
		"price numbers, long numbers, day dates, clock numbers, at timestamps, local timestamps, word texts, " +
		"kind texts, none nothing"
	if s := strings.Join(got, ", "); s != want || f.Rows() != 7 {
		t.Errorf("%d rows of %s", f.Rows(), s)
	}
}

// What is written is read by noregret as the same kinds of columns, and a null as a missing value.
func TestReadByDataset(t *testing.T) {
	text, _, err := convert(Options{MaxHeld: 1 << 20, Ignore: []string{"i64", "u64", "long", "none"}}, readFile(t))
	if err != nil {
		t.Fatal(err)
	}
	set, err := dataset.Load(context.Background(), []string{"-"}, dataset.Options{Stdin: strings.NewReader(text)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = set.Close() }()
	names := set.Info().Schema.Features
	for _, want := range []string{
		"flag", "flag=missing", "f16", "price", "day=days", "day=missing", "at=hour:23", "local=hour:0", "clock",
		"kind=a", "word= blank",
		"word=two\nlines", "f64=missing",
	} {
		if !slices.Contains(names, want) {
			t.Errorf("no feature %q in %q", want, names)
		}
	}
}

// Older writers have converted types, timestamps of 96 bits and texts without a type.
func TestOldTypes(t *testing.T) {
	type row struct {
		Bytes []byte           `parquet:"bytes"`
		At    deprecated.Int96 `parquet:"at"`
	}
	day := uint64(12*3600*1e9 + 5)
	rows := []row{{[]byte("é"), deprecated.Int96{uint32(day), uint32(day >> 32), 2440588 + 365}}}
	got, _, err := convert(DefaultOptions(), encode(t, rows))
	if want := "bytes,at\né,1971-01-01T12:00:00.000000005\n"; err != nil || got != want {
		t.Errorf("%q, %v", got, err)
	}
	rows[0].Bytes = []byte("a\xff")
	_, _, err = convert(DefaultOptions(), encode(t, rows))
	wantFault(t, err, `1.parquet: row group 1, column "bytes", row 1: bytes that are not UTF-8`)
}

// Every way to pack and to encode pages says the same rows, and a page that unpacks to more than it
// declares is refused.
func TestPackingAndEncodings(t *testing.T) {
	type row struct {
		Dict  string  `parquet:"dict,dict"`
		Plain string  `parquet:"plain,plain"`
		Long  string  `parquet:"long,delta"`
		Bytes []byte  `parquet:"bytes,delta"`
		N     int64   `parquet:"n,delta"`
		M     int32   `parquet:"m,delta,optional"`
		X     float64 `parquet:"x,split"`
		B     bool    `parquet:"b"`
	}
	var rows []row
	want := "dict,plain,long,bytes,n,m,x,b\n"
	for i := range 1500 {
		word := fmt.Sprint("word ", i/100)
		r := row{
			word, fmt.Sprint("p", i), word + "ish", []byte(word), int64(i * i), int32(i % 3), float64(i) / 4, i%2 == 1,
		}
		m := fmt.Sprint(i % 3)
		if i%3 == 0 {
			m = ""
		}
		rows = append(rows, r)
		want += fmt.Sprintf("%s,%s,%s,%s,%d,%s,%v,%d\n", r.Dict, r.Plain, r.Long, r.Bytes, r.N, m, r.X, i%2)
	}
	for _, codec := range []compress.Codec{
		&library.Uncompressed, &library.Snappy, &library.Gzip, &library.Brotli, &library.Zstd, &library.Lz4Raw,
	} {
		for version := 1; version <= 2; version++ {
			b := encode(t, rows, library.Compression(codec), library.DataPageVersion(version),
				library.PageBufferSize(2000), library.MaxRowsPerRowGroup(700))
			got, n, err := convert(DefaultOptions(), b)
			if err != nil || n != 1500 || got != want {
				t.Errorf("%s, pages of version %d: %d rows, %v, same: %t", codec, version, n, err, got == want)
			}
		}
		text := bytes.Repeat([]byte("abcdefgh"), 1000)
		packed, err := codec.Encode(nil, text)
		if err != nil {
			t.Fatal(err)
		}
		for size, fits := range map[int]bool{len(text): true, len(text) - 1: false} {
			if codec != compress.Codec(&library.Uncompressed) {
				if b, err := unpack(codec.CompressionCodec(), packed, size); (err == nil && len(b) == size) != fits {
					t.Errorf("%s into %d bytes: %d, %v", codec, size, len(b), err)
				}
			}
		}
	}
}

// Files of other writers are read: a run of levels that is filled up, a column of nulls alone,
// whose dictionary takes no byte, and no rows.
func TestOtherWriters(t *testing.T) {
	for name, want := range map[string]string{
		"duckdb.parquet": "i,f,s\n0,,\n1,0.5,v1\n2,1,v2\n3,1.5,\n4,2,v4\n5,2.5,v0\n6,3,\n7,,v2\n8,4,v3\n",
		"nulls.parquet":  "a,n,l\n1,,0\n2,,1\n",
		"empty.parquet":  "a,b\n",
	} {
		b, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if got, _, err := convert(DefaultOptions(), b); err != nil || got != want {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
	}
}

// Runs and differences that declare more values than their page has are refused.
func TestDeclaredCounts(t *testing.T) {
	for _, c := range []struct {
		b    []byte
		bits int
		n    int64
		want bool
	}{
		{[]byte{20, 1}, 1, 10, true},
		{[]byte{20, 1}, 1, 9, false},
		{[]byte{3, 0xff}, 1, 5, true}, // eight values, three of which are padding
		{[]byte{3, 0xff, 2, 0}, 1, 5, false},
		{[]byte{3, 0xff, 2, 0}, 1, 9, true},
		{append([]byte{65}, make([]byte, 32)...), 1, 9, true}, // DuckDB's padding
		{append([]byte{3, 0xff, 65}, make([]byte, 32)...), 1, 9, true},
		{append([]byte{3, 0xff, 65}, make([]byte, 32)...), 1, 8, false},
		{append([]byte{129, 1}, make([]byte, 64)...), 1, 9, false},
		{[]byte{3}, 1, 5, false},
		{[]byte{0xfe, 0xff, 0xff, 0xff, 0x0f, 1}, 1, 1 << 20, false},
		{[]byte{5, 1, 2, 3, 4}, 0, 4, false},
		{nil, 1, 4, true},
	} {
		if got := runs(c.b, c.bits, c.n); got != c.want {
			t.Errorf("runs %v of %d bits, %d values: %t", c.b, c.bits, c.n, got)
		}
	}
	if head := []byte{128, 1, 4, 200, 1, 0}; !deltas(head, 200) || deltas(head, 199) || deltas(head[:3], 200) {
		t.Error("differences")
	}
}

// A value that CSV or noregret cannot have is refused with its row.
func TestValuesThatAreRefused(t *testing.T) {
	type row struct {
		X float64   `parquet:"x"`
		T time.Time `parquet:"t,timestamp(microsecond)"`
	}
	good := row{1, time.Unix(0, 0)}
	inf, late := good, good
	inf.X = 1 / (good.X - 1)
	late.T = time.Unix(253402300800, 0)
	rows := make([]row, 3000)
	for i := range rows {
		rows[i] = good
	}
	rows[2999] = inf
	out, n, err := convert(DefaultOptions(), encode(t, rows, library.MaxRowsPerRowGroup(1000)))
	wantFault(t, err, `1.parquet: row group 3, column "x", row 3000: the number is +Inf`)
	if n != 2999 || strings.Count(out, "\n") != 3000 {
		t.Errorf("%d rows before the fault, %d lines", n, strings.Count(out, "\n"))
	}
	_, _, err = convert(DefaultOptions(), encode(t, []row{late}))
	wantFault(t, err, `column "t", row 1: the time is 253402300800 s from 1970`)
}

func TestNestedFieldsAreRefusedByName(t *testing.T) {
	type row struct {
		A    int64            `parquet:"a"`
		Tags []string         `parquet:"tags"`
		List []string         `parquet:"list,list"`
		Map  map[string]int64 `parquet:"map"`
		Sub  struct {
			P, Q int64
		} `parquet:"sub"`
		Z *string `parquet:"z,optional"`
	}
	word := "w"
	b := encode(t, []row{{A: 1, Tags: []string{"x", "y"}, Map: map[string]int64{"k": 1}, Z: &word}, {A: 2}})
	ignore := []string{}
	for _, c := range []struct{ name, what string }{
		{"tags", "list"},
		{"list", "list"},
		{"map", "map"},
		{"sub", "struct"},
	} {
		_, _, err := convert(Options{MaxHeld: 1 << 20, Ignore: ignore}, b)
		wantFault(t, err, fmt.Sprintf("1.parquet: column %q: the field is a %s, and a cell holds one", c.name, c.what))
		ignore = append(ignore, c.name)
	}
	// The columns after nested ones are their own.
	got, _, err := convert(Options{MaxHeld: 1 << 20, Ignore: ignore}, b)
	if want := "a,z\n1,w\n2,\n"; err != nil || got != want {
		t.Errorf("%q, %v", got, err)
	}
	_, _, err = convert(Options{MaxHeld: 1 << 20, Ignore: append(ignore, "nope")}, b)
	wantFault(t, err, `there is no column "nope" to ignore`)
}

func TestFilesOfOtherColumns(t *testing.T) {
	type ab struct {
		A int64  `parquet:"a"`
		B string `parquet:"b"`
	}
	type ac struct {
		A int64  `parquet:"a"`
		C string `parquet:"c"`
	}
	type text struct {
		A string `parquet:"a"`
		B string `parquet:"b"`
	}
	type float struct {
		A float32 `parquet:"a"`
		B string  `parquet:"b"`
	}
	first := encode(t, []ab{{1, "x"}})
	for _, c := range []struct {
		second []byte
		want   string
	}{
		{encode(t, []ac{{1, "x"}}), `2.parquet: column 2 is "c", and in 1.parquet it is "b"`},
		{encode(t, []text{{"1", "x"}}), `2.parquet: column "a" has texts, and in 1.parquet it has numbers`},
		{encode(t, []struct{ A int64 }{{1}}), `2.parquet: the file has 1 columns, and 1.parquet has 2`},
	} {
		out, _, err := convert(DefaultOptions(), first, c.second)
		wantFault(t, err, c.want)
		if out != "" {
			t.Errorf("written before the fault: %q", out)
		}
	}
	got, _, err := convert(DefaultOptions(), first, encode(t, []float{{1.5, "y"}}))
	if want := "a,b\n1,x\n1.5,y\n"; err != nil || got != want {
		t.Errorf("%q, %v", got, err)
	}
}

// The limit counts a page of each column, not the file.
func TestLimitOfPages(t *testing.T) {
	type row struct {
		A, B string
	}
	rows := make([]row, 4000)
	for i := range rows {
		rows[i] = row{strings.Repeat("a", 50) + fmt.Sprint(i), "b"}
	}
	small := encode(t, rows, library.PageBufferSize(4<<10))
	large := encode(t, rows, library.PageBufferSize(1<<20))
	opt := Options{MaxHeld: 64 << 10}
	if _, n, err := convert(opt, small); err != nil || n != 4000 {
		t.Errorf("%d rows, %v", n, err)
	}
	_, _, err := convert(opt, large)
	wantFault(t, err, `1.parquet: row group 1, column "A", byte 4: a page of each column needs`)
	if _, n, err := convert(DefaultOptions(), large); err != nil || n != 4000 {
		t.Errorf("%d rows, %v", n, err)
	}
	if _, _, err := convert(Options{}, small); noregret.CodeOf(err) != noregret.Usage {
		t.Errorf("no limit: %v", err)
	}
}

// A file that is cut anywhere is refused, and one with a wrong byte never breaks the program.
func TestDamagedFiles(t *testing.T) {
	b := readFile(t)
	for n := range b {
		if _, _, err := convert(DefaultOptions(), b[:n]); noregret.CodeOf(err) != noregret.BadInput {
			t.Fatalf("cut at %d: %v", n, err)
		}
	}
	step := 1
	if testing.Short() {
		step = 5
	}
	refused := 0
	for i := 0; i < len(b); i += step {
		c := bytes.Clone(b)
		c[i] ^= 1 << (i % 8)
		_, _, err := convert(Options{MaxHeld: 1 << 20}, c)
		if err != nil {
			if refused++; noregret.CodeOf(err) != noregret.BadInput {
				t.Fatalf("byte %d: %v", i, err)
			}
		}
	}
	if refused == 0 {
		t.Error("no wrong byte was noticed")
	}
}

// What a header declares is not believed before it is there.
func TestDeclaredSizes(t *testing.T) {
	footer := func(b []byte) []byte {
		out := append([]byte("PAR1"), b...)
		return append(binary.LittleEndian.AppendUint32(out, uint32(len(b))), "PAR1"...)
	}
	// Field 2, the schema: a list of 2^31-1 structures.
	bomb := []byte{0x15, 2, 0x19, 0xfc, 0xff, 0xff, 0xff, 0xff, 7}
	for _, c := range []struct {
		b    []byte
		want string
	}{
		{footer(bomb), "damaged: byte"},
		{footer(append([]byte{0x15, 2, 0x19, 0xfc, 0x80, 0x80, 0x80, 1}, make([]byte, 4<<20)...)), "damaged: byte"},
		{[]byte("PAR1....\xff\xff\xff\x7fPAR1"), "damaged: a directory of 2147483647 bytes in a file of 16"},
		{[]byte("PAR1............"), "truncated: the file ends with"},
		{[]byte("label,a,b,c\n1,2,3,4\n"), `the file is not Parquet: it begins with "labe"`},
		{[]byte("PARE........PARE"), "the file is encrypted"},
		{nil, "the file has 0 bytes"},
	} {
		_, _, err := convert(DefaultOptions(), c.b)
		wantFault(t, err, c.want)
	}
}

func TestStopsWithTheContext(t *testing.T) {
	b := readFile(t)
	f, err := Open("x", bytes.NewReader(b), int64(len(b)), DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := WriteCSV(ctx, new(bytes.Buffer), f); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// One column of missing values is rows of CSV, not blank lines.
func TestOneColumn(t *testing.T) {
	type row struct {
		A *int64 `parquet:"a,optional"`
	}
	one := int64(1)
	got, _, err := convert(DefaultOptions(), encode(t, []row{{nil}, {&one}}))
	if want := "a\n\"\"\n1\n"; err != nil || got != want {
		t.Errorf("%q, %v", got, err)
	}
}

func FuzzWriteCSV(f *testing.F) {
	f.Add(readFile(f))
	f.Add(encode(f, []struct {
		A int64
		B *string
	}{{1, nil}, {2, new(string)}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		out, rows, err := convert(Options{MaxHeld: 1 << 20}, b)
		if err != nil {
			if noregret.CodeOf(err) != noregret.BadInput {
				t.Fatal(err)
			}
			return
		}
		r := csv.NewReader(strings.NewReader(out))
		records, err := r.ReadAll() // which checks that all rows have as many cells
		if err == nil && int64(len(records)) != rows+1 && len(records[0]) > 1 {
			t.Fatalf("%d records of %d rows", len(records), rows)
		}
		if err != nil {
			t.Fatalf("%v in %q", err, out)
		}
	})
}
