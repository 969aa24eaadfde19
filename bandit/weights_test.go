package bandit

import (
	"math"
	"slices"
	"testing"

	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/random"
)

// The losses and the forced arms of the reference runs.
var (
	referenceLosses = [][]float64{{.6, .2, .9}, {.4, .1, .8}, {1, .3, .5}, {.7, 0, .2}}
	referenceArms   = []int{0, 1, 2, 0}
)

func referencePlayers() []*Player {
	return of(
		3, ExploringWeights{Rate: .5, Explore: .3, Limit: 1}, Exp3{Rate: .5, Limit: 1},
		INF{Rate: .5, Q: .5, Limit: 1}, INF{Rate: .5, Q: .75, Limit: 1}, INF{Rate: .5, Q: .999, Limit: 1},
	)
}

// The distributions and estimates of a run of four rounds, computed independently to 10 digits.
func TestReferenceRunOfEstimates(t *testing.T) {
	want := []struct{ second, last, sums []float64 }{
		{
			[]float64{0.2182590999, 0.39087045, 0.39087045},
			[]float64{0.1475402714, 0.5042290468, 0.3482306818},
			[]float64{4.536648232, 0.2558392429, 1.231085607},
		},
		{
			[]float64{0.1689415713, 0.4155292144, 0.4155292144},
			[]float64{0.0536432362, 0.5785508875, 0.3678058763},
			[]float64{4.996999204, 0.240656966, 1.146599403},
		},
		{
			[]float64{0.166702478, 0.416648761, 0.416648761},
			[]float64{0.07086744405, 0.5972669428, 0.3318656132},
			[]float64{5.165003395, 0.2400103141, 1.123874038},
		},
		{
			[]float64{0.1743491568, 0.4128254216, 0.4128254216},
			[]float64{0.07092493083, 0.5771502033, 0.3519248659},
			[]float64{4.984988148, 0.2422331445, 1.148443967},
		},
		{
			[]float64{0.168982969, 0.4155085155, 0.4155085155},
			[]float64{0.05374216627, 0.5785169319, 0.3677409018},
			[]float64{4.996703908, 0.2406689545, 1.146641975},
		},
	}
	for i, p := range referencePlayers() {
		for round, arm := range referenceArms {
			if round == 1 {
				nearAll(t, "second distribution", p.Probabilities(), want[i].second)
			}
			pull(t, p, arm, referenceLosses[round][arm])
		}
		nearAll(t, "last distribution", p.Probabilities(), want[i].last)
		nearAll(t, "estimates", p.Estimates(), want[i].sums)
	}
}

// enumerate plays all sequences of arms and returns the expected loss and the expected estimates.
func enumerate(t *testing.T, make func() *Player, losses [][]float64) (loss float64, sums []float64) {
	t.Helper()
	d, n := len(losses[0]), 1
	for range losses {
		n *= d
	}
	sums = slices.Repeat([]float64{0}, d)
	for code := range n {
		p, chance, paid := make(), 1.0, 0.0
		for rest, round := code, 0; round < len(losses); rest, round = rest/d, round+1 {
			arm := rest % d
			chance *= p.Probabilities()[arm]
			paid += losses[round][arm]
			pull(t, p, arm, losses[round][arm])
		}
		loss += chance * paid
		for i, g := range p.Estimates() {
			sums[i] += chance * g
		}
	}
	return loss, sums
}

// The estimates are unbiased: over all sequences of arms their mean is the sum of the losses. The
// expected losses were computed independently.
func TestEstimatesAreUnbiased(t *testing.T) {
	losses := [][]float64{{.2, .8}, {.9, .4}, {.5, .1}}
	for _, c := range []struct {
		make func() *Player
		loss float64
	}{
		{func() *Player { return made(NewPlayer(2, Exp3{Rate: .5, Limit: 1})) }, 1.489620961},
		{func() *Player {
			return made(NewPlayer(2, ExploringWeights{Rate: .5, Explore: .3, Limit: 1}))
		}, 1.477709318},
		{func() *Player { return made(NewPlayer(2, INF{Rate: .5, Q: .5, Limit: 1})) }, 1.499717569},
		{func() *Player { return made(NewPlayer(2, TsallisINF{Limit: 1})) }, 0},
		{func() *Player { return made(NewPlayer(2, AnytimeExp3{Limit: 1})) }, 0},
	} {
		loss, sums := enumerate(t, c.make, losses)
		if c.loss != 0 {
			near(t, "expected loss", loss, c.loss)
		}
		nearAll(t, "expected estimates", sums, []float64{1.6, 1.3})
	}
}

// The estimates of reduced variance are unbiased too, in rounds where the base of some arms is L/2.
func TestReducedVarianceIsUnbiased(t *testing.T) {
	for _, limit := range []float64{1, 4} {
		f := TsallisINF{Estimator: ReducedVariance, Limit: limit}
		const round = 60 // 16/60 is between .2 and .3
		p, losses := []float64{.5, .3, .2}, []float64{.25, .5, 1}
		mean := make([]float64, 3)
		for arm, x := range p {
			sums := make([]float64, 3)
			base := f.mark(make([]uint64, 1), p, round)
			f.credit(sums, &drawn{Arm: arm, Propensity: x, Base: base}, losses[arm]*limit)
			if base := sums[(arm+1)%2] / limit; arm == 2 && base != .5 {
				t.Errorf("the base is %v", base)
			}
			if arm != 2 && sums[2] != 0 {
				t.Errorf("the base of a rare arm is %v", sums[2])
			}
			for i, g := range sums {
				mean[i] += x * g / limit
			}
		}
		nearAll(t, "mean estimate", mean, losses)
	}
}

// localNorm is the sum of g̃²·p^(2−q)/(2q) over arms.
func localNorm(p []float64, arm int, estimate, q float64) float64 {
	return square(estimate) * portable.Pow(p[arm], 2-q) / (2 * q)
}

// pathwise plays forced or drawn arms and returns both sides of the inequality that holds on every
// path: Σ⟨g̃_t, x_t − u⟩ ≤ (d^{1−q} − 1)/(η(1−q)) + η·Σ g̃²·p^{2−q}/(2q), and ln d/η for q = 1, for
// the best vertex u.
func pathwise(
	t *testing.T, p *Player, rate, q float64, rounds int, play func(round int) (int, float64),
) (regret, bound float64) {
	t.Helper()
	d := float64(p.Arms())
	bound = portable.Log(d) / rate
	if q < 1 {
		bound = (math.Pow(d, 1-q) - 1) / (rate * (1 - q))
	}
	for round := range rounds {
		arm, loss := play(round)
		bound += rate * localNorm(p.Probabilities(), arm, loss/p.Probabilities()[arm], q)
		regret += loss
		pull(t, p, arm, loss)
	}
	return regret - slices.Min(p.Estimates()), bound
}

// The path-wise inequality in the reference run, both sides computed independently.
func TestPathwiseReference(t *testing.T) {
	play := func(round int) (int, float64) {
		return referenceArms[round], referenceLosses[round][referenceArms[round]]
	}
	exp3, inf := referencePlayers()[1], referencePlayers()[2]
	regret, bound := pathwise(t, exp3, .5, 1, 4, play)
	near(t, "regret of Exp3", regret, 1.659343034)
	near(t, "bound of Exp3", bound, 3.176040788)
	regret, bound = pathwise(t, inf, .5, .5, 4, play)
	near(t, "regret of INF", regret, 1.659989686)
	near(t, "bound of INF", bound, 3.972292265)
}

// The path-wise inequality holds on random runs of every kind of loss.
func TestPathwiseOnRandomRuns(t *testing.T) {
	for seed := range uint64(60) {
		r := random.New(seed, "pathwise")
		d, rate := 2+r.IntN(6), portable.Exp(-4*r.Float64())
		q := []float64{1, .5, .2, .9, .999}[seed%5]
		var p *Player
		if q == 1 {
			p = made(NewPlayer(d, Exp3{Rate: rate, Limit: 1}))
		} else {
			p = made(NewPlayer(d, INF{Rate: rate, Q: q, Limit: 1}))
		}
		regret, bound := pathwise(t, p, rate, q, 200, func(round int) (int, float64) {
			arm := random.Index(p.Probabilities(), r.Float64())
			return arm, square(r.Float64()) * float64((arm+round/50)%d) / float64(d-1)
		})
		if regret > bound*(1+1e-9) {
			t.Errorf("seed %d, %v: regret %v, bound %v", seed, p, regret, bound)
		}
	}
}

// The distribution depends on differences of the estimates only, follows the arms under a
// permutation, and is uniform for equal ones. A loss of 0 leaves it unchanged.
func TestSymmetries(t *testing.T) {
	for _, p := range referencePlayers() {
		scheme := p.plan.method.(*weights).rule
		got, shifted, turned := make([]float64, 3), make([]float64, 3), make([]float64, 3)
		scheme.weigh(got, []float64{1, 2.5, 4}, 1)
		scheme.weigh(shifted, []float64{8, 9.5, 11}, 1)
		scheme.weigh(turned, []float64{2.5, 4, 1}, 1)
		nearAll(t, "shifted", shifted, got)
		nearAll(t, "permuted", turned, []float64{got[1], got[2], got[0]})
		scheme.weigh(got, []float64{7, 7, 7}, 1)
		nearAll(t, "equal", got, []float64{1. / 3, 1. / 3, 1. / 3})
		pull(t, p, 1, .5)
		before := slices.Clone(p.Probabilities())
		pull(t, p, 2, 0)
		if !slices.Equal(before, p.Probabilities()) {
			t.Errorf("%v: a loss of 0 led from %v to %v", p, before, p.Probabilities())
		}
	}
}

// Sums of any size give a distribution.
func TestExtremeEstimates(t *testing.T) {
	for _, p := range of(
		3, Exp3{Rate: 1e100, Limit: 1}, INF{Rate: 1e100, Q: .5, Limit: 1}, INF{Rate: 1e100, Q: .9, Limit: 1},
		INF{Rate: 1e-100, Q: .01, Limit: 1},
		ExploringWeights{Rate: 1e100, Explore: 1e-9, Limit: 1e100, Signed: true},
	) {
		scheme := p.plan.method.(*weights).rule
		for _, sums := range [][]float64{{0, 0, 1e300}, {-maxSum, 0, maxSum}, {1e300, 1e300, 1e300}, {0, 1e-300, 1}} {
			w, sum := make([]float64, 3), 0.0
			scheme.weigh(w, sums, 1)
			for _, x := range w {
				sum += x
			}
			if !(math.Abs(sum-1) <= 1e-12) || slices.Min(w) < 0 {
				t.Errorf("%v: %v has the weights %v", p, sums, w)
			}
		}
	}
	if got := addEstimate(1e300, math.Inf(1)); got != maxSum {
		t.Errorf("sum %v", got)
	}
}

// A snapshot in which an arm of probability 0 has been drawn is refused, and changes nothing.
func TestSnapshotOfAnImpossibleDraw(t *testing.T) {
	p := made(NewPlayer(2, Exp3{Rate: 1, Limit: 1}))
	before := snapshotOf(t, p)
	p.s = state{Rounds: 1, Committed: none, Pulls: []int{1, 0}, Means: []float64{1, 0}, Sums: []float64{1e6, 0}}
	bad := snapshotOf(t, p)
	q := made(NewPlayer(2, Exp3{Rate: 1, Limit: 1}))
	if err := q.UnmarshalBinary(bad); err == nil || !slices.Equal(snapshotOf(t, q), before) {
		t.Errorf("restored: %v", err)
	}
}
