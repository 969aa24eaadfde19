package export

import (
	"bufio"
	"encoding/binary"
	"io"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/internal/murmur"
)

const (
	// vwConstant is the number of the feature that Vowpal Wabbit adds to each row.
	vwConstant = 11650396
	// vwBits are the fewest bits of an index that Vowpal Wabbit takes for usual, and vwMostBits the
	// most that it takes.
	vwBits, vwMostBits = 18, 31
	// vwVersion is a version of Vowpal Wabbit whose model files all later ones read.
	vwVersion = "9.0.0"
)

// writeVW writes a model file of Vowpal Wabbit, without options: a header with a chained
// MurmurHash3 of its parts, and the index and the weight of each feature that has one. The
// prediction is the score less the threshold, so that a row is positive above 0. Features of data
// in Vowpal Wabbit's text have its numbers; others are the number of the column, from 0, as the
// name of a feature in the namespace without a name.
func writeVW(w io.Writer, m *classify.Model) error {
	if m.Task != classify.Binary {
		return noregret.Errorf(noregret.Usage, "format", "vw holds two classes, the model has %d", len(m.Labels))
	}
	weights := map[uint32]float32{}
	for j, i := range m.Models[0].Weights.Index {
		v := float32(m.Models[0].Weights.Value[j])
		if math.IsInf(float64(v), 0) {
			return noregret.Errorf(noregret.Usage, "format",
				"vw holds 32-bit weights, and that of feature %s is %v", m.FeatureName(i), m.Models[0].Weights.Value[j])
		}
		weights[i] = v
	}
	intercept := m.Models[0].Intercept - m.Models[0].Threshold
	bits := vwBits
	if m.Schema.Format == dataset.VW {
		bits = m.Schema.Bits
	}
	for ; intercept != 0; bits++ {
		constant := uint32(vwConstant & (1<<bits - 1))
		if 1<<bits >= m.Dim() && weights[constant] == 0 {
			weights[constant] = float32(intercept)
			break
		}
		if m.Schema.Format == dataset.VW || bits == vwMostBits {
			return noregret.Errorf(noregret.Usage, "format",
				"vw gives feature %d to the constant, and the model has a weight for both: train with another --bits",
				constant)
		}
	}
	for 1<<bits < m.Dim() {
		bits++
	}
	b := bufio.NewWriter(w)
	_, _ = b.Write(vwHeader(bits)) // errors of b are those of Flush
	var pair [8]byte
	for i := range uint32(m.Dim()) {
		writeVWWeight(b, &pair, i, weights)
	}
	if c := uint32(vwConstant & (1<<bits - 1)); int(c) >= m.Dim() {
		writeVWWeight(b, &pair, c, weights)
	}
	return b.Flush()
}

// writeVWWeight writes the index and the weight of a feature that has one.
func writeVWWeight(b *bufio.Writer, pair *[8]byte, i uint32, weights map[uint32]float32) {
	v := weights[i]
	if v == 0 {
		return
	}
	binary.LittleEndian.PutUint32(pair[:4], i)
	binary.LittleEndian.PutUint32(pair[4:], math.Float32bits(v))
	_, _ = b.Write(pair[:])
}

// vwHeader is the header of a linear model without options.
func vwHeader(bits int) []byte {
	order := binary.LittleEndian
	text := func(b []byte, s string) []byte {
		return append(append(order.AppendUint32(b, uint32(len(s)+1)), s...), 0)
	}
	number := func(n uint32) []byte { return order.AppendUint32(nil, n) }
	out := text(nil, vwVersion)
	sum := uint32(0)
	for _, part := range [][]byte{
		number(1),
		{0},   // no identifier
		{'m'}, // a model
		// The labels, to whose range predictions are clipped.
		number(math.Float32bits(-math.MaxFloat32)), number(math.Float32bits(math.MaxFloat32)),
		number(uint32(bits)),
		number(0), number(0), number(0), // no topics, n-grams or skips
		number(1),
		{0}, // no options
	} {
		out = append(out, part...)
		sum = murmur.Sum32(part, sum)
	}
	out = order.AppendUint32(order.AppendUint32(out, 4), sum)
	return append(out, 0) // without the state of a training
}
