package bandit

import (
	"math"
	"slices"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
)

// Successive elimination keeps the best of several nearly equal arms in at least 95 % of the runs,
// and eliminates a clearly worse arm in all of them.
func TestEliminationKeepsTheBest(t *testing.T) {
	runs := testsize.Of(400, 100)
	lost := 0
	for seed := range runs {
		p, r := made(NewPlayer(3, Elimination{})), random.New(uint64(seed), "elimination")
		for range 600 {
			k := p.Draw(r)
			if err := p.Update(k, []float64{-.1, 0, 2}[k]+r.NormFloat64()); err != nil {
				t.Fatal(err)
			}
		}
		if !p.s.In[0] {
			lost++
		}
		if p.s.In[2] {
			t.Errorf("seed %d: the worst arm was not eliminated", seed)
		}
	}
	if float64(lost) > .05*float64(runs) {
		t.Errorf("the best arm was eliminated in %d of %d runs", lost, runs)
	}
}

// The distribution: arms without a loss first, evenly, then all until the variance has ten degrees
// of freedom, then those that are left. The sum of squares is that of the deviations from the
// means.
func TestEliminationByHand(t *testing.T) {
	p := made(NewPlayer(2, Elimination{}))
	nearAll(t, "at first", p.Probabilities(), []float64{.5, .5})
	pull(t, p, 1, 4)
	nearAll(t, "an arm without a loss", p.Probabilities(), []float64{1, 0})
	var losses [2][]float64
	losses[1] = []float64{4}
	for round := range 11 {
		k := round % 2
		loss := 4*float64(k) + float64(round%3)
		losses[k] = append(losses[k], loss)
		pull(t, p, k, loss)
		if round < 10 && round > 0 {
			nearAll(t, "before the variance is known", p.Probabilities(), []float64{.5, .5})
		}
	}
	squares := 0.0
	for _, l := range losses {
		mean := 0.0
		for _, v := range l {
			mean += v / float64(len(l))
		}
		for _, v := range l {
			squares += square(v - mean)
		}
	}
	near(t, "squares", p.s.Squares, squares)
	// The widths at n = 6 are √(2·ln(80·2·36)) = 4.16 standard errors.
	se := math.Sqrt(squares / 10 / 6)
	if apart := math.Abs(p.Mean(0)-p.Mean(1)) > 2*EliminationWidth(2, 6)*se; apart != (p.Probabilities()[0] == 1) {
		t.Errorf("apart: %v, but the distribution is %v", apart, p.Probabilities())
	}
	in := []bool{true, true, false}
	Eliminate(in, []float64{1, 1.5, 9}, []float64{.2, .2, .1})
	if want := []bool{false, true, false}; !slices.Equal(in, want) {
		t.Errorf("left %v, want %v", in, want)
	}
}
