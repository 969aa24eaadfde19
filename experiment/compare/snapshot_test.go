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
		"other version":      change(0, 3),
		"one arm":            change(1, 1),
		"too many arms":      change(1, 1<<40),
		"many arms":          change(1, 1<<15),
		"no metrics":         change(2, 0),
		"other pairs":        change(3, 2),
		"other parts":        change(4, 3),
		"negative variance":  change(6, math.Float64bits(-1)),
		"NaN":                change(last, math.Float64bits(math.NaN())),
		"negative weight":    change(last, math.Float64bits(-1)),
		"infinite variances": change(7, math.Float64bits(math.Inf(1))),
	} {
		if err := s.UnmarshalBinary(b); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if !bytes.Equal(s.AppendBinary(nil), good) {
		t.Error("a damaged snapshot has changed the store")
	}
}
