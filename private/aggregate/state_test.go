package aggregate

import (
	"bytes"
	"slices"
	"testing"

	"github.com/noregret/noregret/dp"
)

// TestSnapshot restores the state of every kind after every round: the exact sums go on, with noise
// of their deviation, and a state of other sums is refused.
func TestSnapshot(t *testing.T) {
	for _, kind := range []dp.StreamKind{dp.Tree, dp.Honaker, dp.Doubling, dp.SquareRoot} {
		s := must(New(small(kind)))
		whole := 0.0
		for round := range int64(4) {
			if err := s.Step([]int64{1000, 0, 0, -7}, make([]float64, 4)); err != nil {
				t.Fatal(err)
			}
			whole += 1000 * s.Resolution(0)
			data := must(s.MarshalBinary())
			again := must(New(small(kind)))
			if err := again.UnmarshalBinary(data); err != nil {
				t.Fatal(err)
			}
			if again.Rounds() != round+1 || !bytes.Equal(must(again.MarshalBinary()), data) {
				t.Errorf("%s: %d rounds after a snapshot of %d", kind, again.Rounds(), round+1)
			}
			other := small(kind)
			other.Metrics = slices.Clone(other.Metrics)
			other.Metrics[1].High = 51
			if err := must(New(other)).UnmarshalBinary(data); err == nil {
				t.Errorf("%s: a state of other ranges is restored", kind)
			}
			s = again
		}
		for _, change := range []func(*Config){
			func(c *Config) { c.Contribution++ },
			func(c *Config) { c.Epsilon = 2 },
			func(c *Config) { c.Rounds++ },
			func(c *Config) { c.Arms, c.Metrics = 4, c.Metrics[:1] },
		} {
			other := small(kind)
			change(&other)
			if err := must(New(other)).UnmarshalBinary(must(s.MarshalBinary())); err == nil {
				t.Errorf("%s: a state of another configuration is restored: %+v", kind, other)
			}
		}
	}
}

// FuzzUnmarshal restores damaged states: an error leaves the sums as they were, and what is
// restored can go on.
func FuzzUnmarshal(f *testing.F) {
	for _, kind := range []dp.StreamKind{dp.Tree, dp.Honaker, dp.Doubling, dp.SquareRoot} {
		s := must(New(small(kind)))
		f.Add(uint8(kind), must(s.MarshalBinary()))
		if err := s.Step(make([]int64, 4), make([]float64, 4)); err != nil {
			f.Fatal(err)
		}
		data := must(s.MarshalBinary())
		f.Add(uint8(kind), data)
		f.Add(uint8(kind), data[:len(data)-1])
		f.Add(uint8(kind), append(slices.Clone(data), 0))
	}
	f.Fuzz(func(t *testing.T, kind uint8, data []byte) {
		s := must(New(small(dp.Tree + dp.StreamKind(kind%4))))
		before := must(s.MarshalBinary())
		if err := s.UnmarshalBinary(data); err != nil {
			if !bytes.Equal(must(s.MarshalBinary()), before) {
				t.Fatal("an error changed the state")
			}
			return
		}
		out := make([]float64, 4)
		for s.Rounds() < s.Config().Rounds {
			if err := s.Step(make([]int64, 4), out); err != nil {
				t.Fatal(err)
			}
		}
	})
}
