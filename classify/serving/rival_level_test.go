package serving

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/noregret/noregret/classify/measure"
)

// TestRival: answers that are as good as those of the start are hardly ever found to be worse,
// however long they are watched; constant ones are found out soon, also where positives are few.
func TestRival(t *testing.T) {
	f1 := measure.FBeta{B: 1}
	share := 0.02
	r := rand.New(rand.NewPCG(1, 2))
	answer := func(positive bool) bool { // right for 0.8 of the positives and 0.98 of the negatives
		if positive {
			return r.Float64() < 0.8
		}
		return r.Float64() < 0.02
	}
	first := rival{weights: [2]float64{share / (1 - share), 1}}
	first.open()
	for name, c := range map[string]struct {
		learned func(positive bool) bool
		rows    int
		least   int // runs of 100 that are found to be worse
		most    int
	}{
		"as good":  {answer, 20_000, 0, 3},
		"positive": {func(bool) bool { return true }, 500, 100, 100},
		"negative": {func(bool) bool { return false }, 10_000, 100, 100},
		"better":   {func(positive bool) bool { return positive || r.Float64() < 0.01 }, 20_000, 0, 0},
	} {
		found := 0
		for range 100 {
			x := first
			x.open()
			for range c.rows {
				positive := r.Float64() < share
				if x.add(f1, positive, c.learned(positive), answer(positive)) != nil {
					found++
					break
				}
			}
		}
		if found < c.least || found > c.most {
			t.Errorf("%s: %d of 100 are found to be worse, want %d to %d", name, found, c.least, c.most)
		}
	}
}

// The two measures of the message differ as printed.
func TestApart(t *testing.T) {
	for _, c := range []struct {
		a, b     float64
		s, other string
	}{
		{0.5, 0.75, "0.5", "0.75"},
		{0.12345, 0.23456, "0.1235", "0.2346"},
		{0.774612, 0.774644, "0.77461", "0.77464"},
		{0.7746, math.Nextafter(0.7746, 1), "0.7746", "0.7746000000000001"},
	} {
		if s, other := apart(c.a, c.b); s != c.s || other != c.other {
			t.Errorf("%v and %v: %s and %s, want %s and %s", c.a, c.b, s, other, c.s, c.other)
		}
	}
}
