package serving

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"strings"
)

// entry is a prediction whose label is accepted.
type entry struct {
	Number uint64 // of the prediction, from 1
	Check  uint64 // of the row, so that an id of another run names no other row
	Index  []uint32
	Value  []float32
	// What was answered.
	Predicted             []int
	Scores, Probabilities []float64
	// Labelled entries have no row and no answer any more, but their Labels.
	Labelled bool
	Labels   []int
}

func newEntry(number uint64, index []uint32, value []float32, p *Prediction) entry {
	return entry{
		Number: number, Check: checkOf(number, index, value), Index: slices.Clone(index), Value: slices.Clone(value),
		Predicted: p.Labels, Scores: p.Scores, Probabilities: p.Probabilities,
	}
}

// checkOf is a hash of a row and its number. After a service was killed, what it had not saved is
// forgotten and its numbers are given again: an id from before then names no row, unless it is of
// an equal one.
func checkOf(number uint64, index []uint32, value []float32) uint64 {
	b := make([]byte, 0, 8+8*len(index))
	b = binary.LittleEndian.AppendUint64(b, number)
	for j, i := range index {
		b = binary.LittleEndian.AppendUint32(b, i)
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(value[j]))
	}
	sum := sha256.Sum256(b)
	return binary.LittleEndian.Uint64(sum[:])
}

// id is the text that names the entry: its number, a hyphen and 16 hexadecimal digits.
func (e *entry) id() string {
	hex := strconv.FormatUint(e.Check, 16)
	return strconv.FormatUint(e.Number, 10) + "-" + strings.Repeat("0", 16-len(hex)) + hex
}

// parseID reads an id.
func parseID(id string) (number, check uint64, ok bool) {
	a, b, _ := strings.Cut(id, "-")
	number, err := strconv.ParseUint(a, 10, 64)
	if err != nil || number == 0 || len(b) != 16 {
		return 0, 0, false
	}
	check, err = strconv.ParseUint(b, 16, 64)
	e := entry{Number: number, Check: check}
	return number, check, err == nil && e.id() == id
}

// bytes is the memory of an entry.
func (e *entry) bytes() int64 {
	return 208 + 8*int64(len(e.Index)+len(e.Predicted)+len(e.Scores)+len(e.Probabilities)+len(e.Labels))
}

// waiting holds the latest predictions, whose numbers are consecutive.
type waiting struct {
	entries   []entry
	bytes     int64
	open      int // entries without a label
	most      int
	mostBytes int64
}

// add adds an entry, drops the oldest beyond the bounds and returns how many of these had no label.
func (w *waiting) add(e entry) (dropped uint64) {
	w.entries = append(w.entries, e)
	w.bytes += e.bytes()
	if !e.Labelled {
		w.open++
	}
	for len(w.entries) > w.most || w.bytes > w.mostBytes && len(w.entries) > 1 {
		old := &w.entries[0]
		w.bytes -= old.bytes()
		if !old.Labelled {
			w.open--
			dropped++
		}
		*old = entry{} // the array lives on
		w.entries = w.entries[1:]
	}
	return dropped
}

// find returns the entry of a number, nil if it was dropped.
func (w *waiting) find(number uint64) *entry {
	if len(w.entries) == 0 || number < w.entries[0].Number {
		return nil
	}
	return &w.entries[number-w.entries[0].Number]
}

// settle gives an entry its labels and drops its row.
func (w *waiting) settle(e *entry, labels []int) {
	w.bytes -= e.bytes()
	*e = entry{Number: e.Number, Check: e.Check, Labelled: true, Labels: labels}
	w.bytes += e.bytes()
	w.open--
}
