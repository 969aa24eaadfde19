package ascent

import (
	"math"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/pastotest"
	"github.com/noregret/noregret/pasto/internal/round"
)

// boundWorld gives the means of two arms and two metrics, in [−1, 1], in round t; p is the serving
// distribution.
type boundWorld struct {
	name  string
	means func(t int, p []float64, r *random.Source) *pasto.Table
}

func boundWorlds() []boundWorld {
	var fixed *pasto.Table
	return []boundWorld{
		{"random", func(t int, _ []float64, r *random.Source) *pasto.Table {
			if t == 1 {
				fixed = round.NewTable(2, 2)
				for k := range 2 {
					for i := range fixed.Arm(k) {
						fixed.Arm(k)[i] = 2*r.Float64() - 1
					}
				}
			}
			return fixed
		}},
		// The arm with the larger share is the worse one.
		{"adversarial", func(_ int, p []float64, _ *random.Source) *pasto.Table {
			m := round.NewTable(2, 2)
			for k := range 2 {
				m.Arm(k)[0], m.Arm(k)[1] = 1, 1
				if p[k] >= .5 {
					m.Arm(k)[0], m.Arm(k)[1] = -1, -1
				}
			}
			return m
		}},
		{"drifting", func(t int, _ []float64, _ *random.Source) *pasto.Table {
			m, x := round.NewTable(2, 2), math.Sin(float64(t)/700)
			copy(m.Arm(0), []float64{x, -x})
			copy(m.Arm(1), []float64{-x, math.Cos(float64(t) / 900)})
			return m
		}},
	}
}

// measured returns the regret of a run against the best fixed mixture for the running averages of
// the means, and the largest range of the scores.
func measured(t *testing.T, w boundWorld, f *pasto.Goals, groups, rounds int, sigma float64, seed uint64) (regret,
	spread float64, a *Algorithm,
) {
	t.Helper()
	const grid = 100
	o := PaperOptions(2)
	o.Pseudocount, o.Step, o.Exploration = 0, TheoremStep(rounds), TheoremExploration(1)
	a = newAlgorithm(t, f, 2, o)
	r := random.New(seed, "bound")
	v, theta, played := round.NewTable(2, 2), make([]float64, 2), 0.0
	var fixed [grid + 1]float64
	p := make([]float64, 2)
	for n := 1; n <= rounds; n++ {
		copy(p, a.Serving())
		mu := w.means(n, p, r)
		for k := range v.Arms() {
			for i, x := range mu.Arm(k) {
				v.Arm(k)[i] += (x - v.Arm(k)[i]) / float64(n)
			}
		}
		pastotest.Play(t, a, mu, groups, 1, sigma, r)
		spread = max(spread, math.Abs(a.g[0]-a.g[1]))
		v.Mean(theta, p)
		played += f.Value(theta) / float64(rounds)
		for i := range fixed {
			q := float64(i) / grid
			v.Mean(theta, []float64{q, 1 - q})
			fixed[i] += f.Value(theta) / float64(rounds)
		}
	}
	for _, x := range fixed {
		regret = max(regret, x-played)
	}
	return regret, spread, a
}

// On random, adversarial and drifting means the measured regret of Algorithm 1 is below the
// corrected bound, and the bound is informative: it is at most half the range of the objective. The
// printed theorem's bound is larger and is vacuous at this horizon.
func TestBoundHolds(t *testing.T) {
	testsize.NoRace(t)
	const groups, rounds, sigma, seeds = 100, 10_000, .1, 5
	f, err := pasto.NewGoals([]pasto.Metric{{Name: "x"}, {Name: "y", Role: pasto.Guardrail, Lambda: .5}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	lipschitz, smooth := f.Constants([]float64{-1, -1}, []float64{1, 1})
	const span = 2.5 // of f on [−1, 1]²
	for _, w := range boundWorlds() {
		n := seeds
		if testsize.Short() {
			n = 1
		}
		mean, spread := 0.0, 0.0
		var a *Algorithm
		for seed := range n {
			regret, s, l := measured(t, w, f, groups, rounds, sigma, uint64(seed))
			mean, spread, a = mean+regret/float64(n), max(spread, s), l
		}
		c := Constants{Gradient: lipschitz, Smooth: smooth, Means: 2, Step: spread}
		bound,
			err := SupportedBound(Supported{
			Arms: 2, Groups: groups, Rounds: rounds, Gamma: 1 / math.Sqrt(rounds),
			Explore: TheoremExploration(1), Constants: c, Noise: math.Sqrt(2 * 2 * (1 + sigma*sigma)), Spread: spread,
		})
		if err != nil {
			t.Fatal(err)
		}
		printed, err := a.Bound(c)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%-12s regret %.4f, corrected bound %.4f, printed bound %.4f, range of f %.1f, of g %.2f", w.name, mean,
			bound, printed, span, spread)
		if mean > bound || bound > span/2 || printed < bound {
			t.Error("want regret ≤ corrected bound ≤ half the range of f, and corrected bound ≤ printed bound")
		}
	}
}

// The corrected bound is the formula of [SupportedBound], summed here term by term, and for one
// round by hand. The printed bound is C/√T for the rounds so far.
func TestBoundValue(t *testing.T) {
	value := func(b Supported) float64 {
		v, err := SupportedBound(b)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	b := Supported{
		Arms: 7, Groups: 3, Rounds: 40, Gamma: .02, Explore: PaperExploration(),
		Constants: Constants{Gradient: 1.5, Smooth: 2, Means: .7}, Noise: 3, Spread: 5,
	}
	eps := func(t int) float64 { return .1 / math.Sqrt(float64(t)+10) }
	explored, weighed := 0.0, 0.0
	for n := 1; n <= 40; n++ {
		explored += eps(n)
		inverse := 0.0
		for s := 1; s <= n; s++ {
			inverse += 1 / eps(s)
		}
		weighed += math.Sqrt(inverse) / float64(n)
	}
	pastotest.Near(t, "bound", value(b),
		math.Log(7)/(.02*40)+.02*25/8+5./40*explored+math.Sqrt2*(1.5+.7*2)*3*math.Sqrt(7./3)*weighed/40, 1e-12)
	// T = 1, ε = ¼: ln 2/½ + ½·4²/8 + 4·¼ + √2·(1 + 2·3)·5·√(2/8)·√4 = 2·ln 2 + 2 + 35·√2.
	b = Supported{
		Arms: 2, Groups: 8, Rounds: 1, Gamma: .5, Explore: Constant(.25),
		Constants: Constants{Gradient: 1, Smooth: 3, Means: 2}, Noise: 5, Spread: 4,
	}
	pastotest.Near(t, "bound of one round", value(b), 2*math.Ln2+2+35*math.Sqrt2, 1e-12)

	a := newAlgorithm(t, pastotest.Goals(t, 5, false, 0), 2, PaperOptions(2))
	pastotest.Play(t, a, pastotest.Toy(t), 1, 9, 0, random.New(1, "bound"))
	printed, err := a.Bound(Constants{1, 3, 2, .5})
	if err != nil {
		t.Fatal(err)
	}
	pastotest.Near(t, "printed bound", printed, (math.Ln2+math.E+32*(1+4*9)*4/.5)/3, 1e-9)
}

// Constants and horizons that give no bound are refused.
func TestBoundRefused(t *testing.T) {
	ok := Supported{
		Arms: 2, Groups: 1, Rounds: 10, Gamma: .1, Explore: PaperExploration(),
		Constants: Constants{1, 1, 1, 1}, Noise: 1, Spread: 1,
	}
	if v, err := SupportedBound(ok); err != nil || !(v > 0) {
		t.Fatal(v, err)
	}
	for want, change := range map[string]func(b *Supported){
		"bound: 0 arms, 1 groups and 10 rounds: want at least 1 of each": func(b *Supported) { b.Arms = 0 },
		"bound: 2 arms, 0 groups and 10 rounds: want at least 1 of each": func(b *Supported) { b.Groups = 0 },
		"bound: 2 arms, 1 groups and 0 rounds: want at least 1 of each":  func(b *Supported) { b.Rounds = 0 },
		"gamma: 0: want a finite step above 0":                           func(b *Supported) { b.Gamma = 0 },
		"gamma: NaN: want a finite step above 0":                         func(b *Supported) { b.Gamma = math.NaN() },
		"noise: -1: want a finite number, at least 0":                    func(b *Supported) { b.Noise = -1 },
		"spread: +Inf: want a finite range, at least 0":                  func(b *Supported) { b.Spread = math.Inf(1) },
		"means: NaN: " +
			"want a finite bound, at least 0": func(b *Supported) { b.Constants.Means = math.NaN() },
		"gradient: -1: " +
			"want a finite bound, at least 0": func(b *Supported) { b.Constants.Gradient = -1 },
		"smooth: +Inf: " +
			"want a finite bound, at least 0": func(b *Supported) { b.Constants.Smooth = math.Inf(1) },
		"exploration: no schedule: " +
			"make one with Constant, PaperExploration or another function": func(b *Supported) {
			b.Explore = Schedule{}
		},
		"exploration: constant(0) is 0 in round 1" +
			": want a share above 0, as the weights are up to K/ε": func(b *Supported) { b.Explore = Constant(0) },
		"exploration: func(bad) is NaN in round 7" +
			": want a finite number from 0 to 1": func(b *Supported) { b.Explore = onlyBadAt(7) },
	} {
		b := ok
		change(&b)
		_, err := SupportedBound(b)
		pastotest.Same(t, err, want)
	}
	_, err := TheoremConstant(0, Constants{1, 1, 1, 1})
	pastotest.Same(t, err, "arms: 0: want at least 1")
	_, err = TheoremConstant(2, Constants{1, 1, 1, 0})
	pastotest.Same(t, err, "step: 0: want a bound on ‖g‖ above 0, as the theorem divides by it")
	a := newAlgorithm(t, pastotest.Goals(t, 5, false, 0), 2, PaperOptions(2))
	_, err = a.Bound(Constants{1, 1, math.NaN(), 1})
	pastotest.Same(t, err, "means: NaN: "+
		"want a finite bound, at least 0")
	if v, err := a.Bound(Constants{1, 1, 1, 1}); err != nil || !math.IsInf(v, 1) {
		t.Errorf("before the first round: %v, %v", v, err)
	}
}
