package export_test

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"sort"
	"strings"
	"testing"

	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/classify/export"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
)

// madeModel is a model of four columns, the first of them a logarithm, the second a rank of uneven
// knots, the last as it is, with the products of three.
func madeModel(t *testing.T) *classify.Model {
	t.Helper()
	m := trained(t, []string{"1", "-1"}, classify.Binary)
	m.Transform = &classify.Transform{
		Dim: 4, Columns: []classify.ColumnMap{
			{Index: 0, Scale: 0.3, Knots: []float64{}},
			{Index: 1, Scale: 1, Knots: []float64{-2, -1.5, 0, 0.25, 3}},
			{Index: 2, Scale: 1, Knots: []float64{-1, 1}},
		},
		Products: []classify.ProductColumn{
			{Index: 0, Center: 0.5, Inverse: 2},
			{Index: 1, Center: -0.1, Inverse: 1},
			{Index: 3, Center: 0, Inverse: 0.7},
		},
	}
	w := &m.Models[0].Weights
	w.Index, w.Value = nil, nil
	for i := range m.Transform.Features() {
		w.Index, w.Value = append(w.Index, uint32(i)), append(w.Value, []float64{1, -2, 0.5}[i%3])
	}
	m.Models[0].Intercept, m.Models[0].Threshold = 0.3, 1.2
	m.Scaling = nil
	return m
}

// evaluate computes the inputs of the LinearClassifier as the operators' specification says.
func evaluate(t *testing.T, raw []byte, x []float32) []float32 {
	t.Helper()
	graph := decode(t, decode(t, raw)[7][0].([]byte))
	values := map[string][]float32{"features": x}
	whole := map[string][]int64{}
	for _, b := range graph[5] {
		w := decode(t, b.([]byte))
		name := w.text(8)
		if w[2][0].(uint64) == 7 {
			for p := w[9][0].([]byte); len(p) > 0; p = p[8:] {
				whole[name] = append(whole[name], int64(binary.LittleEndian.Uint64(p)))
			}
			continue
		}
		for p := w[4][0].([]byte); len(p) > 0; p = p[4:] {
			values[name] = append(values[name], math.Float32frombits(binary.LittleEndian.Uint32(p)))
		}
	}
	each := func(f func(a, b float32) float32, a, b []float32) (out []float32) {
		for i := range a {
			y := float32(0)
			if len(b) == 1 {
				y = b[0]
			} else if len(b) > 0 {
				y = b[i]
			}
			out = append(out, f(a[i], y))
		}
		return out
	}
	for _, b := range graph[1] {
		w := decode(t, b.([]byte))
		var in []string
		for _, s := range w[1] {
			in = append(in, string(s.([]byte)))
		}
		a, out := values[in[0]], []float32(nil)
		var second []float32
		if len(in) > 1 {
			second = values[in[1]]
		}
		switch w.text(4) {
		case "Mul":
			out = each(func(a, b float32) float32 { return a * b }, a, second)
		case "Add":
			out = each(func(a, b float32) float32 { return a + b }, a, second)
		case "Sub":
			out = each(func(a, b float32) float32 { return a - b }, a, second)
		case "Abs":
			out = each(func(a, _ float32) float32 { return max(a, -a) }, a, nil)
		case "Log":
			out = each(func(a, _ float32) float32 { return float32(math.Log(float64(a))) }, a, nil)
		case "Sign":
			out = each(func(a, _ float32) float32 {
				switch {
				case a > 0:
					return 1
				case a < 0:
					return -1
				}
				return 0
			}, a, nil)
		case "Clip":
			low, high := second[0], values[in[2]][0]
			out = each(func(a, _ float32) float32 { return min(max(a, low), high) }, a, nil)
		case "Gather":
			for _, i := range whole[in[1]] {
				out = append(out, a[i])
			}
		case "Concat":
			out = append(append(out, a...), second...)
		case "LinearClassifier":
			return a
		default:
			t.Fatalf("the operator %s", w.text(4))
		}
		values[w.text(2)] = out
	}
	t.Fatal("no LinearClassifier")
	return nil
}

// TestTransform compares the features that ONNX's operators make, and those that the documentation
// of the JSON makes, with the model's own. onnxruntime 1.32.0 gave the labels of predict for all
// rows of spambase (ranks), page-blocks0 (logarithms and products) and letter (products, 26
// classes).
func TestTransform(t *testing.T) {
	m := madeModel(t)
	if err := m.Validate(); err != nil {
		t.Fatal(err)
	}
	raw := exported(t, "onnx", m)
	var file struct {
		Coef      [][]float64
		Intercept []float64
		Transform struct {
			Subtract []float64
			Columns  []classify.ColumnMap
			Products []classify.ProductColumn
		}
	}
	if err := json.Unmarshal(exported(t, "sklearn", m), &file); err != nil {
		t.Fatal(err)
	}
	r := random.New(4, "transform")
	for range 500 {
		x := make([]float32, 4)
		for i := range x {
			x[i] = float32(3 * stat.Normal(r))
		}
		x[r.IntN(4)] = []float32{0, -1.5, 3, 1e6}[r.IntN(4)]
		index, value := m.Transform.Apply([]uint32{0, 1, 2, 3}, x, nil, nil)
		want := make([]float64, m.Features())
		for j, i := range index {
			want[i] = float64(value[j])
		}
		for i, v := range evaluate(t, raw, x) {
			if math.Abs(float64(v)-want[i]) > 1e-5*(1+math.Abs(want[i])) {
				t.Fatalf("%v: feature %d is %v in ONNX, want %v", x, i, v, want[i])
			}
		}
		z := file.Intercept[0]
		for i, v := range byHandFeatures(x, file.Transform.Subtract, file.Transform.Columns, file.Transform.Products) {
			z += file.Coef[0][i] * v
		}
		score := m.Classifier().Scores(nil, []uint32{0, 1, 2, 3}, x)[0]
		if math.Abs(z-score) > 1e-4*(1+math.Abs(score)) {
			t.Fatalf("%v: the score of the JSON is %v, want %v", x, z, score)
		}
	}
	for _, name := range []string{"liblinear", "vw"} {
		err := export.Write(new(strings.Builder), name, m)
		if err == nil || !strings.Contains(err.Error(), "1 logarithm and 2 ranks and 6 products") {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
}

// byHandFeatures makes features as docs/how-to/answers.md says.
func byHandFeatures(
	row []float32, subtract []float64, columns []classify.ColumnMap, products []classify.ProductColumn,
) []float64 {
	x := make([]float64, len(row))
	for i, v := range row {
		x[i] = float64(v) - subtract[i]
	}
	for _, c := range columns {
		v, k := &x[c.Index], c.Knots
		if len(k) == 0 {
			*v = math.Copysign(math.Log1p(math.Abs(*v)/c.Scale), *v)
			continue
		}
		j := min(max(sort.SearchFloat64s(k, *v), 1), len(k)-1)
		share := min(max((*v-k[j-1])/(k[j]-k[j-1]), 0), 1)
		*v = 2*(float64(j-1)+share)/float64(len(k)-1) - 1
	}
	var factors []float64
	for _, p := range products {
		factors = append(factors, (x[p.Index]-p.Center)*p.Inverse)
	}
	for i, a := range factors {
		for _, b := range factors[i:] {
			x = append(x, a*b)
		}
	}
	return x
}
