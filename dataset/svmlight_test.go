package dataset

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/noregret/noregret"
)

func TestSVMLightRows(t *testing.T) {
	for _, c := range []struct {
		name, text string
		opt        Options
		rows       []string
		labels     []string
		dim        int
		base       IndexBase
	}{
		{
			"one-based", "+1 1:0.5 3:2\n-1 2:1e1\n",
			Options{},
			[]string{"0 0:0.5 2:2", "1 1:10"},
			[]string{"1", "-1"},
			3,
			BaseOne,
		},
		{
			"zero-based anywhere", "1 1:1\n0 0:2\n",
			Options{},
			[]string{"0 1:1", "1 0:2"},
			[]string{"1", "0"},
			2,
			BaseZero,
		},
		{"zero-based by flag", "1 1:1\n", Options{Base: BaseZero}, []string{"0 1:1"}, []string{"1"}, 2, BaseZero},
		{
			"crlf, blank lines, comments, qid, tabs", "# head\r\n\r\n1 qid:7 1:1 # x:y\r\n \t\r\n2\t2:3 \r\n# end",
			Options{},
			[]string{"0 0:1", "1 1:3"},
			[]string{"1", "2"},
			2, BaseOne,
		},
		{
			"equal numbers are one label", "+1 1:1\n1.0 1:1\n1e0 1:1\n-0 1:1\n0 1:1\n",
			Options{},
			[]string{"0 0:1", "0 0:1", "0 0:1", "1 0:1", "1 0:1"},
			[]string{"1", "0"},
			1, BaseOne,
		},
		{
			"named labels", "spam 1:1\nham\nspam 2:1",
			Options{},
			[]string{"0 0:1", "1", "0 1:1"},
			[]string{"spam", "ham"},
			2, BaseOne,
		},
		{
			"missing labels", "1:5\n? 2:1\n1 1:1\n",
			Options{AllowNoLabel: true},
			[]string{"- 0:5", "- 1:1", "0 0:1"},
			[]string{"1"},
			2, BaseOne,
		},
		{
			"zeros are dropped but count for the dimension", "1 1:0 2:-0 9:0.0\n",
			Options{},
			[]string{"0"},
			[]string{"1"},
			9, BaseOne,
		},
		{"byte order mark", "\xef\xbb\xbf1 1:1\n", Options{}, []string{"0 0:1"}, []string{"1"}, 1, BaseOne},
		{
			"bad lines allowed", "1 1:1\n1 2:x\nz 9:1 9:1\n2 1:1\n",
			Options{MaxBadLines: 2},
			[]string{"0 0:1", "1 0:1"},
			[]string{"1", "2"},
			1, BaseOne,
		},
		{"unseen ignored", "1 1:1 3:1 4:7\n", Options{
			Schema: &Schema{Format: SVMLight, Base: BaseOne, Dim: 3},
			Unseen: UnseenIgnore,
		}, []string{"0 0:1 2:1"}, []string{"1"}, 3, BaseOne},
		{"a label called like a feature word", "qid 1:1\n", Options{}, []string{"0 0:1"}, []string{"qid"}, 1, BaseOne},
	} {
		t.Run(c.name, func(t *testing.T) {
			set := load(t, c.opt, writeFile(t, "a.svm", c.text))
			r, err := set.Read()
			if d := cmp.Diff(c.rows, show(t, r, err)); d != "" {
				t.Errorf("rows (-want +got):\n%s", d)
			}
			i := set.Info()
			if d := cmp.Diff(c.labels, labelNames(i)); d != "" {
				t.Errorf("labels (-want +got):\n%s", d)
			}
			if i.Dim != c.dim || i.Schema.Base != c.base {
				t.Errorf("dim %d, base %q; want %d, %q", i.Dim, i.Schema.Base, c.dim, c.base)
			}
		})
	}
}

// Hashing takes feature numbers of up to eighteen digits, and --max-dim raises the limit without
// it.
func TestLargeIndices(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.svm")
	if err := os.WriteFile(path, []byte("1 5:1 999999999999999999:2\n0 7:1 40000000:3\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	s, err := Load(context.Background(), []string{path}, Options{Bits: 10})
	if err != nil {
		t.Fatal(err)
	}
	if info := s.Info(); info.Dim != 1024 || info.NonZeros != 4 {
		t.Errorf("dim %d with %d non-zeros, want 1024 with 4", info.Dim, info.NonZeros)
	}
	if err := os.WriteFile(path, []byte("1 5:1\n0 7:1 40000000:3\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(context.Background(), []string{path}, Options{}); err == nil ||
		!strings.Contains(err.Error(), `:2: token "40000000:3": the index must be at most 4194304`) {
		t.Errorf("got %v, want the index refused", err)
	}
	if s, err = Load(context.Background(), []string{path}, Options{MaxDim: 50_000_000}); err != nil ||
		s.Info().Dim != 40_000_000 {
		t.Errorf("with a larger limit: %v", err)
	}
}

func TestSVMLightErrors(t *testing.T) {
	schema := &Schema{Format: SVMLight, Base: BaseOne, Dim: 3}
	for _, c := range []struct {
		line string
		opt  Options
		want string
	}{
		{"1 2:1 2:1", Options{}, `token "2:1": index 2 after index 2; indices must ascend and be unique within a line`},
		{"1 3:1 2:5", Options{}, `token "2:5": index 2 after index 3; indices must ascend and be unique within a line`},
		{
			"1 0:1",
			Options{},
			`token "0:1": index 0, but features are numbered from 1; if the file counts from 0, use --base 0`,
		},
		{"1 -3:1", Options{}, `token "-3:1": the index must not be negative`},
		{"1 a:1", Options{}, `token "a:1": the index must be a whole number`},
		{"1 1.5:1", Options{}, `token "1.5:1": the index must be a whole number`},
		{"1 :1", Options{}, `token ":1": the index must be a whole number`},
		{
			"1 2147483648:1",
			Options{},
			`token "2147483648:1": the index must be at most 4194304; raise the largest dimension (--max-dim) or ` +
				`hash features (--bits)`,
		},
		{
			"1 99999999999999999999:1",
			Options{},
			`token "99999999999999999999:1": the index must be at most 4194304; raise the largest dimension ` +
				`(--max-dim) or hash features (--bits)`,
		},
		{"1 7", Options{}, `token "7": expected index:value`},
		{"1 7: 3", Options{}, `token "7:": the value must be a decimal number`},
		{"1 7:0x10", Options{}, `token "7:0x10": the value must be a decimal number`},
		{"1 7:1_0", Options{}, `token "7:1_0": the value must be a decimal number`},
		{"1 7:1:2", Options{}, `token "7:1:2": the value must be a decimal number`},
		{"1 7:nan", Options{}, `token "7:nan": the value must be a finite number`},
		{"1 7:-Inf", Options{}, `token "7:-Inf": the value must be a finite number`},
		{"1 7:1e39", Options{}, `token "7:1e39": the value must lie in the range of float32, ±3.4028235e38`},
		{"1 1:1 qid:3", Options{}, `token "qid:3": qid must be followed by a number and come before the features`},
		{"1 qid:x 1:1", Options{}, `token "qid:x": qid must be followed by a number and come before the features`},
		{"NaN 1:1", Options{}, `label "NaN": a label must be a finite number or a name`},
		{"-inf 1:1", Options{}, `label "-inf": a label must be a finite number or a name`},
		{"1e999 1:1", Options{}, `label "1e999": the number is out of the range of float64`},
		{"1:5 2:1", Options{}, `token "1:5": the line has no label; a line is a label followed by index:value tokens`},
		{"? 2:1", Options{}, `token "?": the line has no label; a line is a label followed by index:value tokens`},
		{
			"1 4:1",
			Options{Schema: schema},
			`token "4:1": the model has no such feature, its last index is 3; --unseen ignore drops such values`,
		},
	} {
		t.Run(c.line, func(t *testing.T) {
			path := writeFile(t, "a.svm", "1 1:1\n\n"+c.line+"\n1 1:1\n")
			c.opt.Format = SVMLight
			i, err := readAll(c.opt, path)
			if want := path + ":3: " + c.want; err == nil || err.Error() != want {
				t.Fatalf("got  %v\nwant %s", err, want)
			}
			if noregret.CodeOf(err) != noregret.BadInput {
				t.Errorf("code %q", noregret.CodeOf(err))
			}
			if i.Rows != 1 {
				t.Errorf("%d rows before the fault, want 1", i.Rows)
			}
			c.opt.MaxBadLines = 1
			i, err = readAll(c.opt, path)
			if err != nil || i.Rows != 2 || i.BadLines != 1 || len(i.FirstBad) != 1 || len(i.Labels) != 1 || i.Dim > 3 {
				t.Errorf("with one bad line allowed: %v, %d rows, %d bad, labels %v, dim %d", err, i.Rows, i.BadLines,
					i.Labels, i.Dim)
			}
		})
	}
}

// A label that only a refused line has must not become a label of the set.
func TestBadLineLeavesNothing(t *testing.T) {
	path := writeFile(t, "a.svm", "1 1:1\nghost 5:x\nghost 0:1\n1 7:1 7:1\n2 2:1\n")
	i := load(t, Options{MaxBadLines: 3, Base: BaseOne}, path).Info()
	if d := cmp.Diff([]string{"1", "2"}, labelNames(i)); d != "" || i.Dim != 2 || i.Schema.Base != BaseOne {
		t.Errorf("labels %v, dim %d, base %s", i.Labels, i.Dim, i.Schema.Base)
	}
	if i.BadLines != 3 {
		t.Errorf("%d bad lines, want 3", i.BadLines)
	}
}

func TestHashingSumsCollisions(t *testing.T) {
	path := writeFile(t, "a.svm", "1 1:1 2:2 3:4 4:8\n1 5:1e30\n")
	want := make([]float32, 2)
	for i, v := range []float32{1, 2, 4, 8} {
		want[hashIndex(uint64(i+1), 1)] += v
	}
	set := load(t, Options{Bits: 1}, path)
	r, err := set.Read()
	got := show(t, r, err)[0]
	s := "0"
	for i, v := range want {
		if v != 0 {
			s += fmt.Sprintf(" %d:%v", i, v)
		}
	}
	if got != s || set.Info().Dim != 2 {
		t.Errorf("got %q, dim %d; want %q, dim 2", got, set.Info().Dim, s)
	}
}

func mustOptions(t testing.TB, opt Options) *Options {
	t.Helper()
	opt, err := opt.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	return &opt
}

// generated makes svmlight text of n rows in the shape of ijcnn1.
func generated(n int) string {
	var b bytes.Buffer
	for i := range n {
		label := "-1"
		if i%10 == 3 {
			label = "1"
		}
		b.WriteString(label)
		for k := range 13 {
			fmt.Fprintf(&b, " %d:%.6f", k+1+i%9, math.Sin(float64(i*13+k)))
		}
		b.WriteByte('\n')
	}
	return b.String()
}
