package export

import (
	"encoding/binary"
	"io"
	"math"

	"github.com/noregret/noregret/classify"
)

// message is a message of protocol buffers: fields appended in the wire format of
// https://protobuf.dev/programming-guides/encoding. The field numbers below are those of
// https://github.com/onnx/onnx/blob/main/onnx/onnx.proto.
type message []byte

func (m *message) varint(field int, v int64) {
	*m = binary.AppendUvarint(*m, uint64(field)<<3)
	*m = binary.AppendUvarint(*m, uint64(v))
}

func (m *message) bytes(field int, b []byte) {
	*m = binary.AppendUvarint(*m, uint64(field)<<3|2)
	*m = binary.AppendUvarint(*m, uint64(len(b)))
	*m = append(*m, b...)
}

func (m *message) text(field int, s string) { m.bytes(field, []byte(s)) }

// floats appends packed 32-bit floats.
func (m *message) floats(field int, values []float32) {
	packed := make([]byte, 0, 4*len(values))
	for _, v := range values {
		packed = binary.LittleEndian.AppendUint32(packed, math.Float32bits(v))
	}
	m.bytes(field, packed)
}

// Types of attributes and of the elements of tensors.
const (
	attributeInt, attributeString, attributeFloats, attributeStrings = 2, 3, 6, 8
	elementFloat, elementInt64, elementString                        = 1, 7, 8
)

// node is a NodeProto; a domain of "" is that of the standard operators.
func node(domain, operator, input string, outputs []string, attributes ...message) message {
	var n message
	n.text(1, input)
	for _, o := range outputs {
		n.text(2, o)
	}
	n.text(3, operator)
	n.text(4, operator)
	for _, a := range attributes {
		n.bytes(5, a)
	}
	n.text(7, domain)
	return n
}

// attribute is an AttributeProto with the value that fill appends.
func attribute(name string, kind int64, fill func(a *message)) message {
	var a message
	a.text(1, name)
	fill(&a)
	a.varint(20, kind)
	return a
}

func floatsAttribute(name string, values []float32) message {
	return attribute(name, attributeFloats, func(a *message) { a.floats(7, values) })
}

// tensor is a ValueInfoProto of a tensor with rows of the given width, 0 for one value a row.
func tensor(name string, element, width int64) message {
	var rows, shape, kind, value, info message
	rows.text(2, "N")
	shape.bytes(1, rows)
	if width > 0 {
		var columns message
		columns.varint(1, width)
		shape.bytes(1, columns)
	}
	kind.varint(1, element)
	kind.bytes(2, shape)
	value.bytes(1, kind)
	info.text(1, name)
	info.bytes(2, value)
	return info
}

// writeONNX writes a ModelProto: input "features", [N, dim] 32-bit floats, outputs "label", [N]
// strings, and "scores", [N, C], of which the largest decides. Two classes have the scores 0 and
// that of the positive label less the threshold. If Platt's curve maps the scores to probabilities,
// there is also the output "probability", [N, 1], of the positive label. A Transform is made of
// standard operators before.
func writeONNX(w io.Writer, m *classify.Model) error {
	const ml = "ai.onnx.ml"
	l := linearOf(m)
	dim := int64(m.Features())
	var coefficients, intercepts []float32
	if m.Task == classify.Binary { // the negative class comes first, and so wins where both are 0
		coefficients, intercepts = make([]float32, dim), []float32{0}
	}
	for k, row := range l.coefficients {
		for _, v := range row {
			coefficients = append(coefficients, float32(v))
		}
		intercepts = append(intercepts, float32(l.intercepts[k]))
	}
	var graph onnxGraph
	features := "features"
	if m.Transform != nil {
		features = graph.transform(m.Transform, features)
	}
	graph.bytes(1, node(ml, "LinearClassifier", features, []string{"label", "scores"},
		attribute("classlabels_strings", attributeStrings, func(a *message) {
			for _, c := range l.classes {
				a.text(9, c)
			}
		}),
		floatsAttribute("coefficients", coefficients),
		floatsAttribute("intercepts", intercepts),
		attribute("multi_class", attributeInt, func(a *message) { a.varint(3, 1) }),
		attribute("post_transform", attributeString, func(a *message) { a.text(4, "NONE") }),
	))
	outputs := []message{
		tensor("label", elementString, 0), tensor("scores", elementFloat, int64(len(l.classes))),
	}
	if m.Task == classify.Binary && m.Calibration != nil && len(m.Calibration[0].Map.Score) == 0 {
		c := m.Calibration[0].Map
		scaled := make([]float32, dim)
		for i, v := range l.coefficients[0] {
			scaled[i] = float32(float64(c.Slope * v))
		}
		offset := float64(c.Slope*m.Models[0].Intercept) + c.Offset
		graph.bytes(1, node(ml, "LinearRegressor", features, []string{"logit"},
			floatsAttribute("coefficients", scaled), floatsAttribute("intercepts", []float32{float32(offset)})))
		graph.bytes(1, node("", "Sigmoid", "logit", []string{"probability"}))
		outputs = append(outputs, tensor("probability", elementFloat, 1))
	}
	graph.text(2, "noregret")
	graph.bytes(11, tensor("features", elementFloat, int64(m.Dim())))
	for _, o := range outputs {
		graph.bytes(12, o)
	}
	var model message
	model.varint(1, 8) // the version of the representation
	model.text(2, "noregret")
	model.bytes(7, graph.message)
	for _, set := range []struct {
		domain  string
		version int64
	}{{"", 15}, {ml, 3}} {
		var s message
		s.text(1, set.domain)
		s.varint(2, set.version)
		model.bytes(8, s)
	}
	_, err := w.Write(model)
	return err
}
