package export

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify"
)

// transformed says what a model's transform makes, for errors.
func transformed(t *classify.Transform) string {
	logs, ranks, n := 0, 0, len(t.Products)
	for _, c := range t.Columns {
		if len(c.Knots) > 0 {
			ranks++
		} else {
			logs++
		}
	}
	var parts []string
	for _, x := range []struct {
		number int
		what   string
	}{{logs, "logarithms"}, {ranks, "ranks"}, {n * (n + 1) / 2, "products"}} {
		if x.number > 0 {
			what := x.what
			if x.number == 1 {
				what = strings.TrimSuffix(what, "s")
			}
			parts = append(parts, fmt.Sprintf("%d %s", x.number, what))
		}
	}
	if len(parts) == 0 {
		return "columns as they are"
	}
	return strings.Join(parts, " and ") + " of columns"
}

// refuseTransform returns the error of a format that holds weights of raw values only.
func refuseTransform(format string, t *classify.Transform) error {
	return noregret.Errorf(noregret.Usage, "format",
		"%s holds weights of raw values, and the model is of %s, which training chose: write onnx or "+
			"sklearn, or train a named algorithm (--algorithm)", format, transformed(t))
}

// sklearnTransform is a transform in JSON. Columns and Products are as in the model file; Subtract
// is what is subtracted from each feature before, often 0.
type sklearnTransform struct {
	Subtract []float64                `json:"subtract"`
	Columns  []classify.ColumnMap     `json:"columns"`
	Products []classify.ProductColumn `json:"products"`
}

// transformOf returns the transform of a model, nil if there is none.
func transformOf(m *classify.Model) *sklearnTransform {
	if m.Transform == nil {
		return nil
	}
	out := &sklearnTransform{
		Subtract: make([]float64, m.Dim()), Columns: m.Transform.Columns,
		Products: m.Transform.Products,
	}
	centers, _ := centered(m)
	for _, c := range centers {
		out.Subtract[c.feature] = c.center
	}
	return out
}

// onnxGraph is a GraphProto in the making.
type onnxGraph struct {
	message
	nodes int
}

// constant adds an initializer of 32-bit floats, or of whole numbers, of the given shape.
func (g *onnxGraph) constant(name string, shape []int64, floats []float32, whole []int64) string {
	var t message
	for _, n := range shape {
		t.varint(1, n)
	}
	if whole != nil {
		t.varint(2, elementInt64)
		var raw []byte
		for _, v := range whole {
			raw = binary.LittleEndian.AppendUint64(raw, uint64(v))
		}
		t.text(8, name)
		t.bytes(9, raw)
	} else {
		t.varint(2, elementFloat)
		t.floats(4, floats)
		t.text(8, name)
	}
	g.bytes(5, t)
	return name
}

// vector adds an initializer with one value for each column.
func (g *onnxGraph) vector(name string, v []float32) string {
	return g.constant(name, []int64{int64(len(v))}, v, nil)
}

// operator adds a standard operator and returns the name of its output.
func (g *onnxGraph) operator(name string, inputs []string, attributes ...message) string {
	g.nodes++
	out := name + "_" + strconv.Itoa(g.nodes)
	var n message
	for _, i := range inputs {
		n.text(1, i)
	}
	n.text(2, out)
	n.text(3, out)
	n.text(4, name)
	for _, a := range attributes {
		n.bytes(5, a)
	}
	n.text(7, "")
	g.bytes(1, n)
	return out
}

// finite32 rounds a number to one that is finite as float32.
func finite32(v float64) float32 { return float32(min(max(v, -math.MaxFloat32), math.MaxFloat32)) }

// transform adds the operators of a transform and returns the name of what they make of input.
//
// A logarithm is Sign(x)·Log(1 + Abs(x)/scale). A rank is the sum over the segments between knots
// of Clip((x - knot)/length, 0, 1), times 2/segments, less 1. All columns are computed at once, by
// vectors that are 0 for columns without the map.
func (g *onnxGraph) transform(t *classify.Transform, input string) string {
	keep, scales := ones(t.Dim), make([]float32, t.Dim)
	logs, segments := false, 0
	for _, c := range t.Columns {
		keep[c.Index] = 0
		if len(c.Knots) == 0 {
			scales[c.Index], logs = finite32(1/c.Scale), true
		}
		segments = max(segments, len(c.Knots)-1)
	}
	made := input
	if len(t.Columns) > 0 {
		made = g.operator("Mul", []string{input, g.vector("kept", keep)})
	}
	if logs {
		size := g.operator("Mul", []string{g.operator("Abs", []string{input}), g.vector("scales", scales)})
		log := g.operator("Log", []string{g.operator("Add", []string{size, g.constant("one", nil, []float32{1}, nil)})})
		made = g.operator("Add", []string{made, g.operator("Mul", []string{g.operator("Sign", []string{input}), log})})
	}
	if segments > 0 {
		made = g.operator("Add", []string{made, g.ranks(t, input, segments)})
	}
	if len(t.Products) == 0 {
		return made
	}
	return g.operator("Concat", []string{made, g.products(t, made)},
		attribute("axis", attributeInt, func(a *message) { a.varint(3, 1) }))
}

// ranks adds the operators of ranks and returns the name of their output, 0 for other columns.
func (g *onnxGraph) ranks(t *classify.Transform, input string, segments int) string {
	ends := []string{g.constant("low", nil, []float32{0}, nil), g.constant("high", nil, []float32{1}, nil)}
	var sum string
	share, less := make([]float32, t.Dim), make([]float32, t.Dim)
	for k := range segments {
		from, inverse := make([]float32, t.Dim), make([]float32, t.Dim)
		for _, c := range t.Columns {
			if k+1 < len(c.Knots) {
				from[c.Index] = float32(c.Knots[k])
				inverse[c.Index] = finite32(1 / (c.Knots[k+1] - c.Knots[k]))
				share[c.Index], less[c.Index] = float32(2/float64(len(c.Knots)-1)), 1
			}
		}
		number := strconv.Itoa(k)
		x := g.operator("Sub", []string{input, g.vector("knot"+number, from)})
		x = g.operator("Mul", []string{x, g.vector("slope"+number, inverse)})
		x = g.operator("Clip", append([]string{x}, ends...))
		if k > 0 {
			x = g.operator("Add", []string{sum, x})
		}
		sum = x
	}
	sum = g.operator("Mul", []string{sum, g.vector("share", share)})
	return g.operator("Sub", []string{sum, g.vector("less", less)})
}

// products adds the operators of products and returns the name of their output.
func (g *onnxGraph) products(t *classify.Transform, made string) string {
	var columns, left, right []int64
	var centers, inverses []float32
	for k, p := range t.Products {
		columns = append(columns, int64(p.Index))
		centers, inverses = append(centers, finite32(p.Center)), append(inverses, finite32(p.Inverse))
		for l := k; l < len(t.Products); l++ {
			left, right = append(left, int64(k)), append(right, int64(l))
		}
	}
	axis := attribute("axis", attributeInt, func(a *message) { a.varint(3, 1) })
	gather := func(from, name string, index []int64) string {
		return g.operator("Gather", []string{from, g.constant(name, []int64{int64(len(index))}, nil, index)}, axis)
	}
	factors := gather(made, "factors", columns)
	factors = g.operator("Sub", []string{factors, g.vector("centers", centers)})
	factors = g.operator("Mul", []string{factors, g.vector("inverses", inverses)})
	product := g.operator("Mul", []string{gather(factors, "left", left), gather(factors, "right", right)})
	return g.operator("Clip", []string{
		product, g.constant("least", nil, []float32{-math.MaxFloat32}, nil),
		g.constant("largest", nil, []float32{math.MaxFloat32}, nil),
	})
}

func ones(n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = 1
	}
	return v
}
