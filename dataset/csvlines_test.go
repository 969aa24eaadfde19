package dataset

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// parsedCSV is what a CSV parser makes of a text, with the errors as text.
type parsedCSV struct {
	Parsed   parsed
	Features []string
	Census   []string
}

// parseCSVBy parses text row by row or, if quick, as fast as it can. It returns false if the text
// has no plan.
func parseCSVBy(t testing.TB, text []byte, opt Options, quick bool) (parsedCSV, bool) {
	opt, err := opt.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	plan, err := (&csvPlanner{opt: &opt}).plan("x", text, true)
	if err != nil {
		return parsedCSV{}, false
	}
	p := newCSVParser(&opt, nil)
	p.quick = p.quick && quick
	c := &chunk{file: "x", data: text[plan.skip:], line: 1, plan: plan}
	c.reset()
	p.parse(c)
	out := parsedCSV{Parsed: parsed{Rows: c.rows, At: c.at, Ignored: c.ignored, BadLines: c.badLines}}
	for _, v := range c.rows.Value {
		out.Parsed.IndexBits = append(out.Parsed.IndexBits, math.Float32bits(v))
	}
	for i := range c.labels.len() {
		out.Parsed.Labels = append(out.Parsed.Labels, string(c.labels.at(i)))
	}
	for i := range c.feats.len() {
		out.Features = append(out.Features, string(c.feats.at(i)))
	}
	for _, b := range c.bad {
		out.Parsed.Bad, out.Parsed.BadRow = append(out.Parsed.Bad, b.err.Error()), append(out.Parsed.BadRow, b.row)
	}
	for i := range c.census {
		q := c.census[i]
		kinds := 0.0
		if q.kinds != nil {
			kinds = q.kinds.count()
		}
		q.kinds = nil
		out.Census = append(out.Census,
			fmt.Sprintf("%+v %x %x %v", q, math.Float64bits(q.low), math.Float64bits(q.high), kinds))
	}
	return out, true
}

// sameBothCSV fails unless both ways of parsing give the same. It reports whether there were rows.
func sameBothCSV(t testing.TB, text []byte, opt Options) bool {
	t.Helper()
	slow, ok := parseCSVBy(t, slices.Clone(text), opt, false)
	quick, also := parseCSVBy(t, slices.Clone(text), opt, true)
	if diff := cmp.Diff(slow, quick, cmpopts.EquateEmpty(), cmpopts.EquateNaNs()); ok != also || diff != "" {
		t.Fatalf("%q: -row by row +quickly:\n%s", text[:min(len(text), 500)], diff)
	}
	return ok && slow.Parsed.Rows.Len() > 0
}

// TestCSVLines parses random tables, many rows of which are bad or unusual, in both ways.
func TestCSVLines(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	pick := func(s ...string) string { return s[r.IntN(len(s))] }
	parsed := 0
	for range 3000 {
		delim := pick(",", ",", ";", "\t")
		var b strings.Builder
		b.WriteString(strings.ReplaceAll("a,b,c,day,label\n", ",", delim))
		for range 1 + r.IntN(30) {
			cells := []string{
				randomNumber(r), pick("0", "1", "-1.5", "12.25", randomNumber(r)), pick("x", "y", "z z", "", "NA"),
				pick("2024-02-03", "2025-12-31", "2024-02-30"), pick("yes", "no", "no", "no"),
			}
			switch r.IntN(12) {
			case 0:
				odd := []string{"", " ", "?", "nan", "inf", " 5", "5 ", "\t7", "1 2", "é", "\xff", "+3", "1e3", ".5"}
				cells[r.IntN(5)] = pick(odd...)
			case 1:
				cells[r.IntN(5)] = pick(`"q"`, `"1.5"`, `a"b`, `"open`, "\"two\nlines\"", `"a""b"`)
			case 2:
				cells = cells[:r.IntN(5)]
			case 3:
				cells = append(cells, "more")
			}
			b.WriteString(strings.Join(cells, delim))
			b.WriteString(pick("\n", "\n", "\n", "\n", "\r\n", "\n\n", "\r\r\n", " \n"))
		}
		text := b.String()
		if r.IntN(2) == 0 {
			text = strings.TrimRight(text, "\r\n")
		}
		for _, opt := range []Options{
			{MaxBadLines: 100},
			{MaxBadLines: 3, IgnoreColumns: []string{"b"}},
			{MaxBadLines: 100, Missing: MissingZero, NoQuotes: true},
			{MaxBadLines: 100, Bits: 3, AllowNoLabel: true},
			{MaxBadLines: 100, Categorical: []string{"a"}, WeightColumn: "b"},
		} {
			if sameBothCSV(t, []byte(text), opt) {
				parsed++
			}
		}
	}
	if parsed < 5000 {
		t.Errorf("only %d tables had rows", parsed)
	}
}

// TestShortNumber compares shortNumber with scanNumber, bit for bit.
func TestShortNumber(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	read := 0
	for range 300_000 {
		s := randomNumber(r)
		text := append([]byte(s+","), make([]byte, 64)...)
		v, n := shortNumber(unsafe.Pointer(unsafe.SliceData(text)))
		want, size, ok := scanNumber(text)
		if n == 0 || text[n] != ',' {
			continue // left to scanNumber
		}
		if read++; !ok || n != size || math.Float64bits(v) != math.Float64bits(want) {
			t.Fatalf("%s: %v of %d bytes, want %v of %d", s, v, n, want, size)
		}
	}
	if read < 100_000 {
		t.Errorf("only %d numbers were read", read)
	}
}

// FuzzCSVLines compares the two ways of parsing.
func FuzzCSVLines(f *testing.F) {
	for _, s := range []string{
		"a,b,y\n1,2.5,yes\n-3,0,no\n", "1;2;a\n3;4;b\r\n\n5;6;a", "x,y\n\"1\",a\n2,\"b\nc\"\n3,d",
		"a,y\n1234567.1234567,1\n12345678.5,0\n-0,1\n.5,0\n1e5,1\n",
	} {
		f.Add([]byte(s), uint8(0))
		f.Add([]byte(s), uint8(255))
	}
	f.Fuzz(func(t *testing.T, data []byte, o uint8) {
		sameBothCSV(t, data, Options{
			AllowNoLabel: o&1 != 0, MaxBadLines: int64(o >> 1 & 7), NoQuotes: o&16 != 0, Bits: int(o >> 5 & 3),
		})
	})
}

// BenchmarkCSVParser measures the CSV parser alone on one core, without reading, in both ways: on
// rows like those of covtype.
func BenchmarkCSVParser(b *testing.B) {
	r := rand.New(rand.NewPCG(9, 10))
	var text bytes.Buffer
	for text.Len() < defaultChunk {
		fmt.Fprintf(&text, "%d,%d,%d,%.2f", 1800+r.IntN(2000), r.IntN(360), r.IntN(60), 100*r.NormFloat64())
		for range 50 {
			fmt.Fprintf(&text, ",%d", r.IntN(10)/9)
		}
		fmt.Fprintf(&text, ",%d\n", 1+r.IntN(7))
	}
	for _, quick := range []bool{false, true} {
		b.Run(fmt.Sprintf("quick=%v", quick), func(b *testing.B) {
			opt := mustOptions(b, Options{})
			plan, err := (&csvPlanner{opt: opt}).plan("x", text.Bytes(), true)
			if err != nil {
				b.Fatal(err)
			}
			p := newCSVParser(opt, nil)
			p.quick = quick
			c := &chunk{file: "x", data: slices.Clone(text.Bytes()), line: 1, plan: plan}
			b.ReportAllocs()
			b.SetBytes(int64(text.Len()))
			start := cpuSeconds()
			for b.Loop() {
				c.reset()
				p.parse(c)
			}
			used := cpuSeconds() - start
			b.ReportMetric(float64(b.N)*float64(c.rows.Len())/used, "examples/cpu-s")
			b.ReportMetric(float64(b.N)*float64(text.Len())/1e6/used, "MB/cpu-s")
		})
	}
}
