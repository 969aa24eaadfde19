package dataset

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/noregret/noregret"
)

// An array of objects has the rows of the same objects on lines, however it is laid out.
func TestJSONArray(t *testing.T) {
	lines := "{\"label\":1,\"x\":2,\"s\":\"a[b}\\\"\"}\n{\"label\":0,\"x\":3,\"features\":{\"y\":4}}\n{\"label\":1}\n"
	lines = strings.ReplaceAll(lines, ",\"features\":{\"y\":4}", ",\"y\":4")
	objects := strings.Split(strings.TrimSpace(lines), "\n")
	want := allRows(t, load(t, Options{}, writeFile(t, "rows.jsonl", lines)))
	for name, text := range map[string]string{
		"compact": "[" + strings.Join(objects, ",") + "]",
		"lines":   "[\n" + strings.Join(objects, ",\n") + "\n]\n",
		"pretty":  " [\n  " + strings.ReplaceAll(strings.Join(objects, ",\n"), ",", ",\n   ") + "\n]\n\n",
		"mark":    "\ufeff[ " + strings.Join(objects, "\n,") + " ]",
	} {
		if got := allRows(t, load(t, Options{}, writeFile(t, "rows.json", text))); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		opt := Options{Stdin: iotest.OneByteReader(strings.NewReader(text))}
		if got := allRows(t, load(t, opt, "-")); !slices.Equal(got, want) {
			t.Errorf("%s, a byte at a time: %q, want %q", name, got, want)
		}
	}
	for text, want := range map[string]string{
		"[{\"label\":1,\"x\":1},\n{\"label\":1,\n \"x\":}\n]":    ":2: ",
		"[\n{\"label\":1,\"x\":1}\n{\"label\":0,\"x\":2}]":       `:3: '{' in the array: want objects with commas`,
		"[\n{\"label\":1,\"x\":1},\n]":                           `:3: ']' in the array`,
		"[\n{\"label\":1,\"x\":1},\n 5]":                         `:3: '5' in the array`,
		"[\n{\"label\":1,\"x\":1}]\n{\"label\":1}":               `:3: '{' follows the array`,
		"[\n{\"label\":1,\"x\":1}":                               "the array is not closed",
		"[\n{\"label\":1,\"x\":\n{\"y\":1}":                      "the array is not closed",
		"[\n{\"label\":1,\"x\":\"a\nb\"},{\"label\":0,\"x\":2}]": ":2: ",
		"[]": "the input has no examples",
	} {
		_, err := Load(t.Context(), []string{writeFile(t, "bad.json", text)}, Options{})
		if noregret.CodeOf(err) != noregret.BadInput || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func allRows(t *testing.T, s *Set) []string {
	t.Helper()
	r, err := s.Read()
	return show(t, r, err)
}

const arffHeader = `% a comment
@RELATION 'the weather'

@attribute temperature REAL
@attribute "wind speed" {low, 'very high', 3}
@attribute code {1,2}
@attribute class {no,yes}
@DATA
`

// ARFF has the rows of the same table in CSV: nominal attributes are categorical, also where their
// values are numbers, and sparse rows are filled up.
func TestARFF(t *testing.T) {
	arff := arffHeader + "% rows\n21.5,low,1,no\n?, 'very high' ,2,yes\n\n{0 -3, 1 3, 3 yes}\n{}\n"
	csv := "temperature,wind speed,code,class\n21.5,low,1,no\n?,very high,2,yes\n-3,3,1,yes\n0,low,1,no\n"
	want := load(t, Options{Categorical: []string{"wind speed", "code"}}, writeFile(t, "rows.csv", csv))
	for _, name := range []string{"rows.arff", "rows"} {
		got := load(t, Options{}, writeFile(t, name, arff))
		if a, b := allRows(t, got), allRows(t, want); !slices.Equal(a, b) {
			t.Errorf("rows %q, want %q", a, b)
		}
		if a, b := got.Info().Schema.Features, want.Info().Schema.Features; !slices.Equal(a, b) {
			t.Errorf("features %q, want %q", a, b)
		}
		again := load(t, Options{Schema: got.Info().Schema}, writeFile(t, name, arff))
		if a, b := allRows(t, again), allRows(t, want); !slices.Equal(a, b) {
			t.Errorf("with the schema: rows %q, want %q", a, b)
		}
	}
	for rows, want := range map[string]string{
		"21.5,low,1,no\n1,high,1,no\n":   `:10: attribute wind speed: "high" is none of its 3 values`,
		"21.5,low,1,no\n1,low,1\n":       ":10: 3 values, but there are 4 attributes",
		"21.5,low,1,no\n1,'low,1,no\n":   ":10: a quote in",
		"21.5,low,1,no\n1,'low'x,1,no\n": `:10: "x,1,no" follows a quoted value`,
		"21.5,low,1,no\n{0 1, 4 2}\n":    `:10: index "4" of the sparse row: want ascending numbers below 4`,
		"21.5,low,1,no\n{1 low, 0 2}\n":  `:10: index "0" of the sparse row`,
		"21.5,low,1,no\n{1 low\n":        ":10: the sparse row has no closing brace",
		"21.5,low,1,no\nx,low,1,yes\n":   ":10: ",
	} {
		_, err := Load(t.Context(), []string{writeFile(t, "bad.arff", arffHeader+rows)}, Options{})
		if noregret.CodeOf(err) != noregret.BadInput || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", rows, err, want)
		}
	}
	// Bad rows are skipped as those of other formats are, also the first.
	for _, rows := range []string{"21.5,low,1,no\n%s2,low,2,yes\n", "%s21.5,low,1,no\n2,low,2,yes\n"} {
		text := arffHeader + fmt.Sprintf(rows, "1,high,1,no\n1,low,1\n1,'low,1,no\n{1 low\n")
		set := load(t, Options{MaxBadLines: 4}, writeFile(t, "some.arff", text))
		i := set.Info()
		if i.Rows != 2 || i.BadLines != 4 || i.Written != "ARFF" || !strings.Contains(i.FirstBad[0].Error(), `"high" is none of its 3`) {
			t.Errorf("%d rows, %d bad lines, %v", i.Rows, i.BadLines, i.FirstBad)
		}
		_, err := Load(t.Context(), []string{writeFile(t, "some.arff", text)}, Options{MaxBadLines: 3})
		if err == nil || !strings.Contains(err.Error(), "the sparse row has no closing brace") {
			t.Errorf("one bad line too many: %v", err)
		}
	}
	for header, want := range map[string]string{
		"@relation x\n@attribute a numeric\n":               "ARFF without a line @data",
		"@relation x\n@data\n":                              ":2: @data without an attribute",
		"@relation x\n@attribute a relational\n@data\n":     `the type "relational" is not read`,
		"@relation x\n@attribute a real\n@attribute a real": ":3: @attribute a: there is one of this name already",
		"@relation x\nb real\n":                             `:2: "b real": want @attribute or @data`,
	} {
		_, err := Load(t.Context(), []string{writeFile(t, "bad.arff", header)}, Options{})
		if noregret.CodeOf(err) != noregret.BadInput || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", header, err, want)
		}
	}
}

// Any bytes lead to rows or to an error, and the same for any division of the reads.
func FuzzConvert(f *testing.F) {
	for _, s := range []string{`[{"label":1,"x":2}]`, arffHeader + "1,low,1,no\n", "1 2 't|n a:2", "[", "@relation x", "0\n00\x00\x00000"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		read := func(opt Options) (rows []string, failed bool) {
			opt.MaxDim = 1000
			set, err := Load(t.Context(), []string{"-"}, opt)
			if err != nil {
				if noregret.CodeOf(err) == noregret.Internal {
					t.Fatal(err)
				}
				return nil, true
			}
			defer func() { _ = set.Close() }()
			return allRows(t, set), false
		}
		a, failed := read(Options{Stdin: bytes.NewReader(text)})
		b, other := read(Options{Stdin: iotest.OneByteReader(bytes.NewReader(text))})
		if failed != other || !slices.Equal(a, b) {
			t.Errorf("%q (%t) and %q (%t)", a, failed, b, other)
		}
	})
}
