package random

import "testing"

// Index is the first number whose cumulative probability is above u, and the last possible one
// where rounding leaves none.
func TestIndex(t *testing.T) {
	for _, c := range []struct {
		p    []float64
		u    float64
		want int
	}{
		{[]float64{.25, .25, .5}, 0, 0},
		{[]float64{.25, .25, .5}, .25, 1},
		{[]float64{0, .5, .5, 0}, 0, 1},
		{[]float64{.5, .5 - 1e-9, 0}, 1 - 1e-16, 1},
	} {
		if got := Index(c.p, c.u); got != c.want {
			t.Errorf("u = %v in %v: number %d, want %d", c.u, c.p, got, c.want)
		}
	}
}
