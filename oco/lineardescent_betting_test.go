package oco

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/noregret/noregret/internal/random"
)

// TestLinearDescentBetting compares the betting step with ScaleFreeKT on dense, standardised rows:
// every iterate, the rising average, a snapshot on the way, columns that appear late, one whose
// unit changes, and a shift of the origin.
func TestLinearDescentBetting(t *testing.T) {
	const dim, rounds, epsilon = 9, 600, 0.5
	r := random.New(8, "betting")
	l := must(NewLinearDescent(dim-2, 0.7, math.Inf(1)))
	center, inverse := make([]float64, dim), make([]float64, dim)
	for i := range inverse {
		inverse[i] = math.Exp(r.NormFloat64())
		if i%3 == 0 && i < dim-2 {
			center[i] = 2 * r.NormFloat64()
		}
	}
	inverse[dim-2], inverse[dim-1] = 1, 1
	l.Standardize(center[:dim-2], inverse[:dim-2])
	kt := must(NewScaleFreeKT(dim+1, epsilon))
	origin, sum := make([]float64, dim+1), make([]float64, dim+1)
	x, g, n := make([]float64, dim+1), make([]float64, dim+1), 0.0
	at := func(i int) float64 { return origin[i] + kt.At(i) }
	for round := 1; round <= rounds; round++ {
		index, value := []uint32{}, []float32{}
		clear(x)
		for i := range dim {
			if r.IntN(3) > 0 && (i < dim-2 || round > 50) {
				v := float32(r.NormFloat64() + 1)
				index, value = append(index, uint32(i)), append(value, v)
				x[i] = float64(v)
			}
			x[i] = (x[i] - center[i]) * inverse[i]
		}
		x[dim] = 0.7
		if round == 51 {
			l.Grow(dim)
		}
		if round == 200 { // column 1 changes its unit; the function that is learned does not
			const ratio = 1.5
			l.Rescale(1, inverse[1]*ratio)
			inverse[1] *= ratio
			x[1] *= ratio
			kt.state.Stakes[1] = kt.state.Stakes[1].rescaled(1 / ratio)
			sum[1] /= ratio
		}
		if round == 300 { // the average becomes the iterate; the bets go on
			w, bias := l.Average()
			weights, intercept := l.Raw(w, bias)
			l.Assign(weights, intercept)
			l.ResetAverage()
			for i, v := range append(w, bias) {
				origin[i] = v - kt.At(i)
			}
			clear(sum)
			n = 0
		}
		z := 0.0
		for i, v := range x {
			z += at(i) * v
		}
		sameTo10(t, "score", l.Score(l.Products(index, value)), z)
		l.AccumulateRising()
		n++
		for i := range sum {
			sum[i] += n * at(i)
		}
		c := (r.NormFloat64() + 0.3) * math.Exp(r.NormFloat64())
		l.BettingStep(index, value, c, epsilon)
		for i, v := range x {
			g[i] = -c * v
		}
		if err := kt.Update(g); err != nil {
			t.Fatal(err)
		}
		var n2 float64
		for i := range l.Dim() {
			sameTo10(t, "weight", l.Weight(i), at(i))
			n2 += at(i) * at(i)
		}
		sameTo10(t, "bias", l.Bias(), at(dim))
		sameTo10(t, "norm", l.Norm(), math.Sqrt(n2))
		if round == 120 || round == 400 {
			l = must(RestoreLinearDescent(l.State()))
		}
		if t.Failed() {
			t.Fatalf("in round %d", round)
		}
	}
	average, bias := l.Average()
	for i, v := range average {
		sameTo10(t, "average", v, sum[i]/(n*(n+1)/2))
	}
	sameTo10(t, "average bias", bias, sum[dim]/(n*(n+1)/2))
	index, value := sparseRow(rand.New(rand.NewPCG(1, 2)), dim, 0.5)
	if n := testing.AllocsPerRun(100, func() {
		l.AccumulateRising()
		l.BettingStep(index, value, 0.1, epsilon)
	}); n > 0 {
		t.Errorf("%v allocations per betting step", n)
	}
}

// TestLinearDescentBettingRange: neither the size of c nor a column's unit matters, a wealth out of
// range ends the descent, and damaged bettors are refused.
func TestLinearDescentBettingRange(t *testing.T) {
	a, b := must(NewLinearDescent(2, 1, math.Inf(1))), must(NewLinearDescent(2, 1, math.Inf(1)))
	b.Standardize([]float64{0, 0}, []float64{0x1p40, 0x1p-60})
	r := random.New(5, "range")
	for range 300 {
		c, v := r.NormFloat64(), []float32{float32(r.NormFloat64()), 1}
		a.BettingStep([]uint32{0, 1}, v, c, 1)
		b.BettingStep([]uint32{0, 1}, v, math.Ldexp(c, 200), 1)
		for i := range 2 {
			if a.Weight(i) != b.Weight(i) {
				t.Fatalf("weights %v and %v of the same column in other units", a.Weight(i), b.Weight(i))
			}
		}
	}
	rounds := 0
	for ; rounds < 5000 && !a.Diverged(0); rounds++ {
		a.BettingStep([]uint32{0, 1}, []float32{1, 1}, 10, 1)
	}
	if rounds < 500 || rounds == 5000 {
		t.Errorf("coins of one sign end the descent after %d rounds", rounds)
	}
	far := must(NewLinearDescent(1, 0, math.Inf(1)))
	far.BettingStep([]uint32{0}, []float32{1}, 1, 1)
	far.BettingStep([]uint32{0}, []float32{1}, math.Inf(1), 1)
	if !far.Diverged(0) {
		t.Error("an infinite derivative does not end the descent")
	}
	for name, damage := range map[string]func(s *LinearDescentState){
		"number":  func(s *LinearDescentState) { s.Stakes = make([]Stake, 3) },
		"wealth":  func(s *LinearDescentState) { s.Stakes = []Stake{{Largest: 1, Mass: 1, Wealth: -1}} },
		"sum":     func(s *LinearDescentState) { s.Stakes = []Stake{{Largest: 1, Mass: 1, Sum: 2, Wealth: 1}} },
		"largest": func(s *LinearDescentState) { s.Stakes = []Stake{{Mass: 1, Wealth: 1}} },
		"NaN":     func(s *LinearDescentState) { s.Stakes = []Stake{{Largest: math.NaN(), Wealth: 1}} },
		"bias":    func(s *LinearDescentState) { s.BiasStake = Stake{Largest: 1, Wealth: math.Inf(1)} },
		"rising":  func(s *LinearDescentState) { s.Risen = -1 },
	} {
		s := b.State()
		damage(&s)
		if _, err := RestoreLinearDescent(s); err == nil {
			t.Errorf("%s: a damaged state is not refused", name)
		}
	}
}
