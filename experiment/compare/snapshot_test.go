package compare

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/noregret/noregret/internal/random"
)

// TestSnapshot: a store that was read goes on like the one that was written, bit for bit.
func TestSnapshot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		arms := rapid.SampledFrom([]int{2, 5, 129}).Draw(t, "arms")
		s := newStore(t, arms, Metric{}, Metric{Ratio: true})
		r := random.New(rapid.Uint64().Draw(t, "seed"), "snapshot")
		list := drawRounds(r, arms, 6)
		for _, round := range list[:4] {
			add(t, s, rapid.IntRange(0, 1).Draw(t, "metric"), round)
		}
		b, err := s.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		var got Store
		if err := got.UnmarshalBinary(b); err != nil {
			t.Fatal(err)
		}
		for _, x := range []*Store{s, &got} {
			x.AddArm()
			for _, round := range list[4:] {
				add(t, x, 0, round)
			}
		}
		if !bytes.Equal(s.AppendBinary(nil), got.AppendBinary(nil)) {
			t.Fatal("the store that was read differs")
		}
	})
}

// TestSnapshotRefuses: damaged snapshots are errors and leave the store as it was.
func TestSnapshotRefuses(t *testing.T) {
	s := newStore(t, 2, Metric{Ratio: true})
	for _, round := range drawRounds(random.New(1, "damaged"), 2, 5) {
		add(t, s, 0, round)
	}
	good := s.AppendBinary(nil)
	change := func(at int, v uint64) []byte {
		b := bytes.Clone(good)
		binary.LittleEndian.PutUint64(b[8*at:], v)
		return b
	}
	last := len(good)/8 - 1
	for name, b := range map[string][]byte{
		"empty":              nil,
		"short":              good[:len(good)-1],
		"long":               append(bytes.Clone(good), 0),
		"other version":      change(0, 2),
		"no arm":             change(1, 0),
		"too many arms":      change(1, 1<<40),
		"many arms":          change(1, 1<<15),
		"no metrics":         change(2, 0),
		"other pairs":        change(3, 2),
		"other control":      change(4, 2),
		"a short memory":     change(5, 3),
		"a lost memory":      change(5, 50),
		"no parts":           change(6, 0),
		"other parts":        change(6, 1),
		"other base":         change(8, 2),
		"other factors":      change(9, 2),
		"negative variance":  change(10, math.Float64bits(-1)),
		"NaN":                change(last, math.Float64bits(math.NaN())),
		"negative weight":    change(last, math.Float64bits(-1)),
		"infinite variances": change(11, math.Float64bits(math.Inf(1))),
	} {
		if err := s.UnmarshalBinary(b); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if !bytes.Equal(s.AppendBinary(nil), good) {
		t.Error("a damaged snapshot has changed the store")
	}
}

// TestCopy adds a round to a copy, which the store does not see, and reads a store back from text.
func TestCopy(t *testing.T) {
	metrics := []Metric{{Width: 2}, {Ratio: true}}
	s, err := New(1, metrics)
	if err != nil {
		t.Fatal(err)
	}
	s.AddArm()
	round := []Sums{{Arm: 0, N: 40, X: 1, XX: 30}, {Arm: 1, N: 60, X: 1.5, XX: 20}}
	if err := s.Add(0, round); err != nil {
		t.Fatal(err)
	}
	before, err := s.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	c := s.Copy()
	c.AddArm()
	if err := c.Add(0, []Sums{{Arm: 0, N: 40, X: 3, XX: 30}, {Arm: 2, N: 60, X: 1.5, XX: 20}}); err != nil {
		t.Fatal(err)
	}
	if after, err := s.MarshalText(); err != nil || string(after) != string(before) {
		t.Errorf("a round of the copy has changed the store: %v", err)
	}
	var same Store
	if err := same.UnmarshalText(before); err != nil {
		t.Fatal(err)
	}
	switch {
	case !same.Fits(2, metrics) || same.Fits(3, metrics) || same.Fits(2, metrics[:1]):
		t.Error("the store of text fits other arms or metrics")
	case same.Fits(2, []Metric{{Width: 2}, {}}) || same.Fits(2, []Metric{{Width: 1}, {Ratio: true}}):
		t.Error("the store of text fits another ratio or width")
	}
	if err := same.UnmarshalText([]byte("*")); err == nil {
		t.Error("text that is not base64 is read")
	}
	// With one round the means are the arms' own.
	var e Contrasts
	same.Contrasts(&e, 0, 0, 0)
	for k, want := range []float64{1, 1.5} {
		if x, y, ok := e.Means(k); !ok || math.Abs(x-want) > 1e-12 || y != 0 {
			t.Errorf("arm %d has the means %v and %v, %v: want %v", k, x, y, ok, want)
		}
	}
	same.Contrasts(&e, 1, 0, 0)
	if _, _, ok := e.Means(1); ok {
		t.Error("a metric without rounds has means")
	}
	if err := same.Add(0, []Sums{{Arm: 0, N: 40, X: 1e200, XX: 30}}); err == nil {
		t.Error("a mean whose square is not finite is added")
	}
}
