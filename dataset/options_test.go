package dataset

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/noregret/noregret"
)

// onlyCase is a format with rows of it, and its schema.
type onlyCase struct {
	header string
	row    func(i int) string
	schema Schema
	null   []string // lines that are null rows
}

var onlyCases = []onlyCase{
	{
		row:    func(i int) string { return fmt.Sprintf("%s 1:%d 2:0.5", []string{"no", "yes"}[i%2], i+1) },
		schema: Schema{Format: SVMLight, Base: BaseOne, Dim: 2},
		null: []string{
			"yes 1:nan", "yes 1:inf", "yes 1:x", "yes 1:1e99", "yes 2:1 1:1", "yes 0:1", "yes 1", "nan", "\x00",
			"yes 1:1:1", "", " ", "\t", "\r", "# hi", "  # hi",
		},
	},
	{
		header: "a,b,town,y\n",
		row:    func(i int) string { return fmt.Sprintf(`%d,0.5,",",%s`, i+1, []string{"no", "yes"}[i%2]) },
		schema: Schema{
			Format: CSV, Dim: 2, Header: true, Missing: MissingError, Features: []string{"a", "b"},
			Columns: []Column{{Name: "a", Kind: Numeric}, {Name: "b", Kind: Numeric}, {Name: "y", Kind: LabelKind}},
		},
		null: []string{
			"nan,1,x,yes", "inf,1,x,yes", ",1,x,yes", "old,1,x,yes", "1e99,1,x,yes", "1,2,yes", "1,2,x,yes,3",
			`1,2,"x,yes`, `1,2,"x"z,yes`, `1,2,x"z,yes`, `"1,2,x,yes`, `"`, "\x00", "1,2,x,NaN,1",
			"", " ", "\t", "\r", "# hi",
		},
	},
	{
		row:    func(i int) string { return fmt.Sprintf(`{"y":"%s","a":%d,"b":0.5}`, []string{"no", "yes"}[i%2], i+1) },
		schema: Schema{Format: JSONL, Dim: 2, Label: "y", Weight: "w", Features: []string{"a", "b"}},
		null: []string{
			`{"y":"yes","a":NaN}`, `{"y":"yes","a":1e99}`, `{"y":"yes","a":[1]}`, `{"y":"yes","a":1`, `{`, `7`, "\xff",
			`{"y":"yes","a":1,"a":2}`, `{"y":["yes"]}`, `{"y":"yes","w":-1}`, `{"y":"yes","a":1} x`,
			"", " ", "\t", "\r", "# hi",
		},
	},
}

// rowsOf reads all rows as text: the name of the label, if any, the features and the weight.
func rowsOf(t *testing.T, c onlyCase, lines []string, chunk, workers int) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "in")
	if err := os.WriteFile(path, []byte(c.header+strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(context.Background(), []string{path}, Options{
		Format: c.schema.Format, Schema: &c.schema, OnlyLabels: []string{"no", "yes"}, Header: HeaderYes,
		chunkBytes: chunk, Workers: workers,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	var rows []string
	var b Block
	for s.Next(&b) == nil {
		for i := range b.Len() {
			label := "none"
			if b.Class[i] != NoClass {
				label = s.Info().Labels[b.Class[i]].Name
			}
			index, value := b.Row(i)
			rows = append(rows, fmt.Sprintf("%s %v %v %v", label, index, value, b.RowWeight(i)))
		}
	}
	if s.err.Error() != "EOF" || s.Info().BadLines != 0 || len(s.Info().Labels) > 2 {
		t.Errorf("%v, %d bad lines, labels %v", s.err, s.Info().BadLines, s.Info().Labels)
	}
	return rows
}

// With declared labels any line may be replaced by any other: the number of rows stays, and so do
// all other rows. A line that breaks a rule, is blank or a comment is a null row.
func TestOnlyLabelsRowsAreIndependent(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const n = 12
	for _, c := range onlyCases {
		var lines []string
		for i := range n {
			lines = append(lines, c.row(i))
		}
		want := rowsOf(t, c, lines, 1<<20, 1)
		if len(want) != n || want[1] != "yes [0 1] [2 0.5] 1" {
			t.Fatalf("%s: %d rows, %q", c.schema.Format, len(want), want)
		}
		others := c.null
		for range 200 { // bytes of the other lines, mixed
			text := strings.Join(c.null, "") + c.row(3) + `"""",,::{}[]`
			var b []byte
			for range 1 + r.IntN(20) {
				b = append(b, text[r.IntN(len(text))])
			}
			others = append(others, string(b))
		}
		for k, line := range others {
			at := r.IntN(n)
			changed := append([]string{}, lines...)
			changed[at] = line
			got := rowsOf(t, c, changed, 1+r.IntN(100), 1+r.IntN(3))
			if len(got) != n {
				t.Fatalf("%s, line %q: %d rows, want %d", c.schema.Format, line, len(got), n)
			}
			for i := range got {
				if i != at && got[i] != want[i] {
					t.Errorf("%s, line %d is %q: row %d is %s, want %s", c.schema.Format, at, line, i, got[i], want[i])
				}
			}
			if k < len(c.null) && !strings.HasPrefix(got[at], "none") {
				t.Errorf("%s, line %q: %s, want a null row", c.schema.Format, line, got[at])
			}
		}
	}
}

// Every line that ends counts, also blank ones at the end of a file; the end of the last line
// begins no row.
func TestOnlyLabelsBlankLines(t *testing.T) {
	for _, c := range onlyCases {
		got := rowsOf(t, c, []string{c.row(0), "", c.row(1), "", ""}, 1<<20, 1)
		const null = "none [] [] 1"
		want := []string{"no [0 1] [1 0.5] 1", null, "yes [0 1] [2 0.5] 1", null, null}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", c.schema.Format, got, want)
		}
	}
}

// A quoted cell ends with its line: two lines that could be one row with a line break in a cell are
// two null rows.
func TestOnlyLabelsQuotedLineBreak(t *testing.T) {
	for _, c := range onlyCases {
		if c.schema.Format != CSV {
			continue
		}
		got := rowsOf(t, c, []string{c.row(0), `1,2,"`, `",yes`, c.row(1)}, 1<<20, 1)
		want := []string{"no [0 1] [1 0.5] 1", "none [] [] 1", "none [] [] 1", "yes [0 1] [2 0.5] 1"}
		if !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// More labels than a set can have do not take the place of the declared ones, and a declared label
// has any spelling of its number.
func TestOnlyLabelsMany(t *testing.T) {
	c := onlyCase{schema: Schema{Format: SVMLight, Base: BaseOne, Dim: 1}}
	var lines []string
	for i := range maxLabels + 10 {
		lines = append(lines, fmt.Sprintf("u%d 1:1", i), fmt.Sprintf("1.%s 1:1", strings.Repeat("0", i%50)))
	}
	path := filepath.Join(t.TempDir(), "in")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), []string{path}, Options{Format: SVMLight, Schema: &c.schema, OnlyLabels: []string{"1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	var b Block
	rows := 0
	for err = s.Next(&b); err == nil; err = s.Next(&b) {
		for i := range b.Len() {
			if labeled := b.Class[i] == 0; labeled != (rows%2 == 1) {
				t.Fatalf("row %d has class %d", rows, b.Class[i])
			}
			rows++
		}
	}
	if rows != len(lines) || err.Error() != "EOF" {
		t.Errorf("%d rows of %d: %v", rows, len(lines), err)
	}
}

func TestOnlyLabelsRefused(t *testing.T) {
	for _, opt := range []Options{
		{OnlyLabels: []string{}, Format: CSV},
		{OnlyLabels: []string{"1"}, Schema: &Schema{Format: IDX, Dim: 1}, Format: IDX},
		{OnlyLabels: []string{"1"}, Schema: &Schema{Format: SVMLight, Base: BaseOne, Dim: 1}},
	} {
		if _, err := opt.withDefaults(); noregret.CodeOf(err) != noregret.Usage {
			t.Errorf("%+v: %v", opt.Format, err)
		}
	}
}
