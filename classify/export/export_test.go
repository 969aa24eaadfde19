package export_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/classify/export"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
)

// trained returns a small model of the given labels, with Platt's probabilities.
func trained(t testing.TB, labels []string, task classify.Task) *classify.Model {
	t.Helper()
	b, err := dataset.NewBuilder(4, labels...)
	if err != nil {
		t.Fatal(err)
	}
	r := random.New(1, "export")
	for i := range 600 {
		k := i % len(labels)
		v := []float32{float32(stat.Normal(r)), float32(stat.Normal(r)), float32(stat.Normal(r))}
		v[k%3] += 2
		if err := b.Add([]uint32{0, 1, 3}, v, k, 1); err != nil {
			t.Fatal(err)
		}
	}
	set, err := b.Set()
	if err != nil {
		t.Fatal(err)
	}
	return fitted(t, set, task)
}

// fitted returns a model of the set, with Platt's probabilities.
func fitted(t testing.TB, set *dataset.Set, task classify.Task) *classify.Model {
	t.Helper()
	d, err := classify.NewData(set, task)
	if err != nil {
		t.Fatal(err)
	}
	opt := classify.Options{Measure: measure.FBeta{B: 1}, Algorithm: "plugin", Calibration: classify.CalibrationPlatt}
	if task != classify.Binary {
		if opt.Measure, err = task.Measure("macro_f1"); err != nil {
			t.Fatal(err)
		}
	}
	result, err := classify.Fit(t.Context(), d, opt)
	if err != nil {
		t.Fatal(err)
	}
	m, err := classify.NewModel(result, opt, d)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func exported(t *testing.T, format string, m *classify.Model) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := export.Write(&b, format, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// wire is a message of protocol buffers by field: []byte or uint64.
type wire map[uint64][]any

// decode reads a message in the wire format.
func decode(t *testing.T, b []byte) wire {
	t.Helper()
	out := wire{}
	next := func() uint64 {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			t.Fatalf("damaged message: %q", b)
		}
		b = b[n:]
		return v
	}
	for len(b) > 0 {
		tag := next()
		switch tag & 7 {
		case 0:
			out[tag>>3] = append(out[tag>>3], next())
		case 2:
			n := next()
			out[tag>>3] = append(out[tag>>3], b[:n])
			b = b[n:]
		default:
			t.Fatalf("wire type %d", tag&7)
		}
	}
	return out
}

func (w wire) text(field uint64) string { return string(w[field][0].([]byte)) }

// node is an operator of an ONNX graph.
type node struct {
	operator, domain string
	floats           map[string][]float32
	strings          []string
}

// nodes reads those of a model.
func nodes(t *testing.T, raw []byte) (out []node) {
	t.Helper()
	graph := decode(t, decode(t, raw)[7][0].([]byte))
	for _, b := range graph[1] {
		w := decode(t, b.([]byte))
		n := node{operator: w.text(4), domain: w.text(7), floats: map[string][]float32{}}
		for _, b := range w[5] {
			a := decode(t, b.([]byte))
			for _, s := range a[9] {
				n.strings = append(n.strings, string(s.([]byte)))
			}
			for _, packed := range a[7] {
				for p := packed.([]byte); len(p) > 0; p = p[4:] {
					bits := binary.LittleEndian.Uint32(p)
					n.floats[a.text(1)] = append(n.floats[a.text(1)], math.Float32frombits(bits))
				}
			}
		}
		out = append(out, n)
	}
	return out
}

// decider decides a dense row of four features.
type decider func(x []float32) string

// The deciders read a format as its specification says, without this package.
func onnxDecider(t *testing.T, raw []byte) decider {
	n := nodes(t, raw)[0]
	if n.operator != "LinearClassifier" || n.domain != "ai.onnx.ml" {
		t.Fatalf("the first operator is %+v", n)
	}
	return func(x []float32) string {
		best, top := 0, math.Inf(-1)
		for k, z := range n.floats["intercepts"] {
			for i, v := range x {
				z += n.floats["coefficients"][k*len(x)+i] * v
			}
			if float64(z) > top {
				best, top = k, float64(z)
			}
		}
		return n.strings[best]
	}
}

func liblinearDecider(t *testing.T, raw []byte) decider {
	head, body, ok := strings.Cut(string(raw), "\nw\n")
	if !ok || !strings.Contains(head, "\nnr_feature 4\nbias 1") {
		t.Fatalf("head %q", head)
	}
	_, list, _ := strings.Cut(head, "\nlabel ")
	list, _, _ = strings.Cut(list, "\n")
	labels := strings.Fields(list)
	var weights [][]float64
	for line := range strings.Lines(body) {
		var row []float64
		for _, f := range strings.Fields(line) {
			v, err := strconv.ParseFloat(f, 64)
			if err != nil {
				t.Fatal(err)
			}
			row = append(row, v)
		}
		weights = append(weights, row)
	}
	if len(weights) != 5 {
		t.Fatalf("%d rows of weights, want those of 4 features and the bias", len(weights))
	}
	return func(x []float32) string {
		z := slices.Clone(weights[4])
		for k := range z {
			for i, v := range x {
				z[k] += weights[i][k] * float64(v)
			}
		}
		if len(z) == 1 {
			if z[0] > 0 {
				return labels[0]
			}
			return labels[1]
		}
		return labels[slices.Index(z, slices.Max(z))]
	}
}

func sklearnDecider(t *testing.T, raw []byte) decider {
	var m struct {
		Classes   []string
		Coef      [][]float64
		Intercept []float64
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatal(err)
	}
	return func(x []float32) string {
		z := slices.Clone(m.Intercept)
		for k := range z {
			for i, v := range x {
				z[k] += m.Coef[k][i] * float64(v)
			}
		}
		if len(z) == 1 {
			if z[0] > 0 {
				return m.Classes[1]
			}
			return m.Classes[0]
		}
		return m.Classes[slices.Index(z, slices.Max(z))]
	}
}

func TestDecisionsAreTheModels(t *testing.T) {
	two, three := trained(t, []string{"1", "-1"}, classify.Binary), trained(t, []string{"3", "7", "20"},
		classify.Multiclass)
	for _, m := range []*classify.Model{two, three} {
		for name, read := range map[string]func(*testing.T, []byte) decider{
			"onnx": onnxDecider, "liblinear": liblinearDecider, "sklearn": sklearnDecider,
		} {
			decide, c := read(t, exported(t, name, m)), m.Classifier()
			r := random.New(2, name)
			seen := map[string]int{}
			for range 2000 {
				x := make([]float32, 4)
				for i := range x {
					x[i] = float32(2 * stat.Normal(r))
				}
				scores := c.Scores(nil, []uint32{0, 1, 2, 3}, x)
				want := m.NegativeName()
				if p := c.Decide(nil, scores); len(p) > 0 {
					want = m.Labels[p[0]]
				}
				slices.Sort(scores)
				margin := math.Abs(scores[len(scores)-1])
				if len(scores) > 1 {
					margin = scores[len(scores)-1] - scores[len(scores)-2]
				}
				if got := decide(x); got != want && margin > 1e-4 {
					t.Fatalf("%s, %s: decided for %q, want %q", name, m.Task, got, want)
				}
				seen[want]++
			}
			if len(seen) != len(m.Labels) {
				t.Errorf("%s: only %v was decided for", name, seen)
			}
		}
	}
}

// TestONNXBytes compares with a file that onnx 1.23.2 checked and onnxruntime 1.32.0 ran. Of larger
// models of two and of three classes the labels that onnxruntime, LIBLINEAR 2.50 and scikit-learn
// 1.9.1 gave for 20,000 and 900 rows were those of predict, and onnxruntime's probabilities within
// 2e-7 of those of predict --proba.
func TestONNXBytes(t *testing.T) {
	got := exported(t, "onnx", trained(t, []string{"1", "-1"}, classify.Binary))
	const file = "testdata/two.onnx"
	if os.Getenv("UPDATE_EXPORT") != "" {
		if err := os.WriteFile(file, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("the bytes differ: check the new file with onnxruntime")
	}
}

func TestLIBLINEARNumbersWords(t *testing.T) {
	raw := string(exported(t, "liblinear", trained(t, []string{"yes", "no"}, classify.Binary)))
	if !strings.Contains(raw, "\nlabel 1 0\n") {
		t.Errorf("labels of words are not 1 and 0: %.60s", raw)
	}
}

func TestCard(t *testing.T) {
	m := trained(t, []string{"yes", "no"}, classify.Binary)
	m.Warnings = []string{"a | b <script>"}
	m.Figures = &classify.ModelFigures{
		Rows: 600, Folds: 3, Values: []classify.Figure{{Measure: "f1", Value: 0.75, Low: 0.7, High: 0.8}},
	}
	card := string(exported(t, "card", m))
	for _, want := range []string{
		"## Intended use", `Labels: "`, "600 rows", "interval of 95 %", "| feature | weight |",
		"cross-fitted on 600 rows in 3 folds", "| f1 | 0.75 | 0.7 | 0.8 |", `a \| b &lt;script>`,
	} {
		if !strings.Contains(card, want) {
			t.Errorf("the card lacks %q:\n%s", want, card)
		}
	}
}

// TestNumbersOfTheFile exports a model of Unix seconds, from which reading subtracts the first one.
func TestNumbersOfTheFile(t *testing.T) {
	var b strings.Builder
	b.WriteString("at,x,y\n")
	r := random.New(3, "seconds")
	var rows [][]float64
	for i := range 400 {
		at, x := math.Floor(1.7e9+1e4*r.Float64()), stat.Normal(r)
		rows = append(rows, []float64{at, x})
		y := 0
		if at+float64(2000*x) > 1.7e9+6000 {
			y = 1
		}
		fmt.Fprintf(&b, "%.0f,%v,%d\n", rows[i][0], rows[i][1], y)
	}
	path := filepath.Join(t.TempDir(), "seconds.csv")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	opt := dataset.Options{LabelColumn: "y"}
	set, err := dataset.Load(t.Context(), []string{path}, opt)
	if err != nil {
		t.Fatal(err)
	}
	m := fitted(t, set, classify.Binary)
	if c := m.Schema.Columns[0]; c.Center == 0 {
		t.Fatalf("nothing is subtracted from the column: %+v", c)
	}
	var out struct {
		Coef      [][]float64
		Intercept []float64
	}
	if err := json.Unmarshal(exported(t, "sklearn", m), &out); err != nil {
		t.Fatal(err)
	}
	center := m.Schema.Columns[0].Center
	for _, x := range rows {
		got := out.Intercept[0] + out.Coef[0][0]*x[0] + out.Coef[0][1]*x[1]
		read := []float32{float32(x[0] - center), float32(x[1])}
		want := m.Classifier().Scores(nil, []uint32{0, 1}, read)[0]
		if !(math.Abs(got-want) < 1e-5*(1+math.Abs(want))) {
			t.Fatalf("%v: the score is %v, want %v", x, got, want)
		}
	}
	for _, name := range []string{"onnx", "vw"} {
		err := export.Write(&bytes.Buffer{}, name, m)
		if err == nil || !strings.Contains(err.Error(), `"at"`) {
			t.Errorf("%s: %v, want a refusal that names the column", name, err)
		}
	}
	m.Schema.Features = nil
	if err := export.Write(&bytes.Buffer{}, "sklearn", m); err == nil || !strings.Contains(err.Error(), "hashed") {
		t.Errorf("hashed features: %v, want a refusal", err)
	}
}

func TestRefused(t *testing.T) {
	m := trained(t, []string{"1", "2", "1,2"}, classify.Multilabel)
	if err := export.Write(&bytes.Buffer{}, "onnx", m); err == nil || !strings.Contains(err.Error(), "several labels") {
		t.Errorf("the error is %v", err)
	}
	if err := export.Write(&bytes.Buffer{}, "pmml", m); err == nil || !strings.Contains(err.Error(),
		"onnx, liblinear, vw") {
		t.Errorf("the error is %v", err)
	}
	if card := exported(t, "card", m); !bytes.Contains(card, []byte("multilabel data")) {
		t.Errorf("no card of several labels: %s", card)
	}
}

func Example() {
	fmt.Println(strings.Join(export.Formats(), ", "))
	// Output: onnx, liblinear, vw, sklearn, card
}
