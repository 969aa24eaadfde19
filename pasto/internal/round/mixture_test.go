package round

import (
	"math"
	"slices"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/pasto/internal/pastotest"
)

// What a cap cuts off goes to one arm, or to the best that have room, and mixtures stay mixtures.
func TestCap(t *testing.T) {
	most := []float64{.5, .25, 1, .25}
	score := func(k int) float64 { return []float64{1, 4, 2, 3}[k] }
	active := []bool{true, true, true, true}
	for _, c := range []struct {
		to      int
		p, want []float64
	}{
		{-1, []float64{.5, .25, .25, 0}, []float64{.5, .25, .25, 0}},
		{-1, []float64{1, 0, 0, 0}, []float64{.5, .25, 0, .25}},
		{-1, []float64{.75, .25, 0, 0}, []float64{.5, .25, 0, .25}},
		{-1, []float64{0, 0, 0, 1}, []float64{0, .25, .5, .25}},
		{2, []float64{.75, .25, 0, 0}, []float64{.5, .25, .25, 0}},
	} {
		p := slices.Clone(c.p)
		Cap(p, c.to, most, score, active)
		if !slices.Equal(p, c.want) {
			t.Errorf("%v to %d: %v, want %v", c.p, c.to, p, c.want)
		}
	}
	p := []float64{.5, .5, 0, 0}
	Cap(p, -1, []float64{.1, .3, 0, 0}, score, active)
	pastotest.Near(t, "share without room", p[0], .25, 1e-12)
	pastotest.Near(t, "share without room", p[1], .75, 1e-12)
}

// Shrink mixes with an arm alone.
func TestShrink(t *testing.T) {
	r := random.New(1, "shrink")
	for range 100 {
		p := []float64{r.Float64(), r.Float64(), r.Float64()}
		Normalize(p, []bool{true, true, true})
		was, rho := slices.Clone(p), 1.2*r.Float64()
		Shrink(p, 1, rho)
		rho = min(rho, 1)
		for k, v := range p {
			want := rho * was[k]
			if k == 1 {
				want += 1 - rho
			}
			if math.Abs(v-want) > 1e-15 {
				t.Fatalf("%v by %v: %v", was, rho, p)
			}
		}
	}
}

// SafeShare is the largest share of p beside a safe arm that holds every guardrail: a little more
// breaks one.
func TestSafeShare(t *testing.T) {
	slack := NewTable(3, 2)
	copy(slack.Arm(0), []float64{0.1, 0.5})
	copy(slack.Arm(1), []float64{-0.3, 1})
	copy(slack.Arm(2), []float64{0.2, math.Inf(-1)})
	for _, c := range []struct {
		p    []float64
		want float64
	}{
		{[]float64{1, 0, 0}, 1},
		{[]float64{0, 1, 0}, 0.25},
		{[]float64{0.5, 0.5, 0}, 0.5},
		{[]float64{0.9, 0.1, 0}, 1},
		{[]float64{0.9, 0, 0.1}, 0},
		{[]float64{0, 0, 1}, 0},
	} {
		if got := SafeShare(c.p, 0, slack); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%v: %v, want %v", c.p, got, c.want)
		}
	}
	slack.Arm(1)[1] = -1.5 // the second guardrail binds, beside an arm without a bound in it
	if got := SafeShare([]float64{0, 1, 0}, 0, slack); math.Abs(got-0.25) > 1e-12 {
		t.Errorf("%v beside an arm without a bound and a share, want 0.25", got)
	}
	if slack.Arm(1)[1] = -2; math.Abs(SafeShare([]float64{0, 1, 0}, 0, slack)-0.2) > 1e-12 {
		t.Error("the second guardrail does not bind")
	}
	if slack.Arm(0)[1] = -1e-9; SafeShare([]float64{0, 1, 0}, 0, slack) != 0 {
		t.Error("a share beside an arm that is not safe itself")
	}
}

// LargestShare ends at the largest multiple of 2^−steps that succeeds, with a call for it.
func TestLargestShare(t *testing.T) {
	for _, c := range []struct{ most, want float64 }{{0, 0}, {0.3, 0.25}, {0.5, 0.5}, {0.99, 0.9375}, {1, 0.9375}} {
		last, calls := -1.0, 0
		LargestShare(4, func(x float64) bool {
			last, calls = x, calls+1
			return x <= c.most
		})
		if last != c.want || calls > 5 {
			t.Errorf("up to %v: %d calls, the last for %v; want %v", c.most, calls, last, c.want)
		}
	}
}
