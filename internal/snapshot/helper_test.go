package snapshot_test

import (
	"errors"

	"github.com/noregret/noregret/internal/snapshot"
)

type shape interface{ Area() float64 }

type square struct{ Side float64 }

func (s *square) Area() float64 { return s.Side * s.Side }

type point struct{ X, Y float64 }

// code encodes itself.
type code struct{ n byte }

func (c *code) MarshalBinary() ([]byte, error) {
	if c.n == 255 {
		return nil, errors.New("no code")
	}
	return []byte{c.n}, nil
}

func (c *code) UnmarshalBinary(b []byte) error {
	if len(b) != 1 {
		return errors.New("want one byte")
	}
	c.n = b[0]
	return nil
}

// allState has a field of every kind but one that encodes itself.
type allState struct {
	Flag    bool
	Warm    bool
	Count   int
	Small   int32
	Large   uint64
	Text    string
	Raw     []byte
	Vector  []float64
	Table   [][]float64
	Points  []point
	Origin  *point
	None    *point
	Pair    [2]float32
	Names   map[string]int
	Shape   shape
	Shapes  []shape
	derived int // not saved
}

// codeState adds a field that encodes itself.
type codeState struct {
	All  allState
	Code code
}

func init() {
	if err := snapshot.Register("test.square", &square{}); err != nil {
		panic(err)
	}
}

func fullState() allState {
	return allState{
		Flag: true, Warm: true, Count: -3, Small: 70000, Large: 1 << 63, Text: "text", Raw: []byte{1, 0, 255},
		Vector: []float64{1, -0.5, 1e300}, Table: [][]float64{{1}, {2, 3}}, Points: []point{{1, 2}, {3, 4}},
		Origin: &point{5, 6}, Pair: [2]float32{0.5, -1}, Names: map[string]int{"b": 2, "a": 1, "c": 3},
		Shape: &square{2}, Shapes: []shape{&square{3}, &square{4}},
	}
}
