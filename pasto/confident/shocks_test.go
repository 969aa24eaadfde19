package confident

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/pastotest"
	"github.com/noregret/noregret/pasto/internal/round"
	"github.com/noregret/noregret/pasto/optimum"
)

// crowd is a world of rounds whose groups have something in common: a shock of the round in every
// metric, and, unless each group has a control group of its own, the control group that they are
// compared with. The guardrail is hard and relative: y at least 0.8 times the control's.
type crowd struct {
	groups       int
	own          bool    // control groups
	shock, noise float64 // standard deviations
}

func (c crowd) String() string {
	return fmt.Sprintf("groups=%d own control=%v shock=%v", c.groups, c.own, c.shock)
}

// crowdGoals are x and the relative guardrail.
func crowdGoals(t *testing.T) *pasto.Goals {
	t.Helper()
	g,
		err := pasto.NewGoals([]pasto.Metric{
		{Name: "x"},
		{Name: "y", Role: pasto.Guardrail, Relative: true, Threshold: -.2, Hard: true},
	},
		0)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// crowdOutcome is what the deployed mixture is worth by the truth at each of the rounds asked for.
type crowdOutcome struct {
	broken  []bool
	regret  []float64 // the optimum less its x
	changes int
}

// playCrowd plays the default on arms of x in [0, 1] and y in [0.4, 1.2], of which arm 0 is the
// control with y = 1.
func playCrowd(t *testing.T, c crowd, seed uint64, at []int) crowdOutcome {
	t.Helper()
	const arms, control = 5, 1.0
	g, r := crowdGoals(t), random.New(seed, "crowd")
	raw := round.NewTable(arms, 2)
	for k := range arms {
		raw.Arm(k)[0], raw.Arm(k)[1] = r.Float64(), .4+.8*r.Float64()
	}
	raw.Arm(0)[1] = control
	truth := raw.Clone()
	for k := range arms {
		truth.Arm(k)[1] -= .8 * control
	}
	best, err := optimum.Maximize(g, truth, optimum.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	l, err := New(g, arms, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	var out crowdOutcome
	drawn, obs, theta := make([]int, c.groups), make([]pasto.Observation, c.groups), make([]float64, 2)
	values, controls := make([]float64, 2*c.groups), make([]float64, 2*c.groups)
	for round, next := 1, 0; next < len(at); round++ {
		l.Draw(r, drawn)
		sx, sy := c.shock*stat.Normal(r), c.shock*stat.Normal(r)
		for q, k := range drawn {
			v, w := values[2*q:2*q+2], controls[2*q:2*q+2]
			v[0], v[1] = raw.Arm(k)[0]+sx+c.noise*stat.Normal(r), raw.Arm(k)[1]+sy+c.noise*stat.Normal(r)
			if w[0], w[1] = sx, control+sy+c.noise*stat.Normal(r); !c.own {
				w = controls[:2]
			}
			obs[q] = pasto.Observation{Arm: k, Metrics: v, Control: w}
		}
		if err := l.Observe(obs); err != nil {
			t.Fatal(err)
		}
		if round == at[next] {
			truth.Mean(theta, l.Deployed())
			out.broken = append(out.broken, theta[1] < -1e-9)
			out.regret = append(out.regret, best.Value-theta[0])
			next++
		}
	}
	out.changes = l.Changes()
	return out
}

// A hard guardrail relative to a control group is held, and the mixture converges, whether groups
// of a round share the control group or have their own, and with or without shocks common to them:
// what they have in common does not average out over a round's groups. Of 40 runs at most two are
// beyond the guardrail, at most one finds a change where there is none, and x is within 0.02 of the
// optimum at the end on average.
func TestCommonEffects(t *testing.T) {
	testsize.NoRace(t)
	seeds := testsize.Of(40, 12)
	for _, q := range []int{1, 10, 100} {
		for _, own := range []bool{false, true} {
			for _, shock := range []float64{0, .5} {
				c, at := crowd{q, own, shock, .5}, []int{100, 300, 1000, 3000}
				if testsize.Short() && q == 100 {
					if own {
						continue
					}
					at = at[:3]
				}
				t.Run(c.String(), func(t *testing.T) {
					broken, regret, changed := make([]int, len(at)), make([]float64, len(at)), 0
					for seed := range seeds {
						out := playCrowd(t, c, uint64(seed), at)
						for i := range at {
							if out.broken[i] {
								broken[i]++
							}
							regret[i] += out.regret[i] / float64(seeds)
						}
						changed += min(out.changes, 1)
					}
					t.Logf("at %v: broken in %v of %d runs, mean regret %.4f; runs with a change %d", at, broken, seeds,
						regret, changed)
					most := .02
					if testsize.Short() {
						most = .03 // of twelve runs, of which one may be slow
					}
					if slices.Max(broken) > 2 || changed > 1 || regret[len(at)-1] > most {
						t.Errorf("want at most 2 broken, 1 changed and a regret of %v at the end", most)
					}
				})
			}
		}
	}
}

// Standard errors are what the means miss the truth by, over 300 seeds, whatever groups have in
// common and however sizes differ: of (V̂ − μ)/se the mean square is 1 to within four standard
// errors and a tenth for what is not known of the variances.
func TestStandardErrorsWithCommonEffects(t *testing.T) {
	testsize.NoRace(t)
	const arms, rounds, seeds = 3, 60, 300
	for _, c := range []struct {
		groups       int
		shock, noise float64
		sized        bool
	}{
		{1, .5, 1, false},
		{2, 0, 1, false},
		{20, 0, 1, false},
		{20, .5, 1, false},
		{20, 2, .1, false},
		{20, .5, 1, true},
		{3, 1, 1, true},
	} {
		var square, sum float64
		for seed := range seeds {
			g, r := pastotest.Goals(t, 5, false, 0), random.New(uint64(seed), "errors")
			l, err := New(g, arms, noChanges())
			if err != nil {
				t.Fatal(err)
			}
			obs, drawn := make([]pasto.Observation, c.groups), make([]int, c.groups)
			for range rounds {
				l.Draw(r, drawn)
				s := c.shock * stat.Normal(r)
				for q, k := range drawn {
					size := 1.0
					if c.sized {
						size = 1 + 3*float64(q%2)
						obs[q].Size = size
					}
					obs[q].Arm = k
					obs[q].Metrics = []float64{float64(k) + s + c.noise/math.Sqrt(size)*stat.Normal(r), stat.Normal(r)}
				}
				if err := l.Observe(obs); err != nil {
					t.Fatal(err)
				}
			}
			means, errs := l.Estimate()
			z := 0.0 // arms' errors have the shocks in common: one number a seed
			for k := range arms {
				z += math.Pow((means.Arm(k)[0]-float64(k))/errs.Arm(k)[0], 2) / arms
			}
			sum += z / seeds
			square += z * z / seeds
		}
		se := math.Sqrt((square - sum*sum) / seeds)
		t.Logf("%+v: mean square %.3f ± %.3f", c, sum, se)
		if math.Abs(sum-1) > 4*se+.1 {
			t.Errorf("%+v: mean square %.3f ± %.3f, want 1", c, sum, se)
		}
	}
}

// What is deployed first is careful too: with a shock that the groups of a round share, and few
// rounds seen, a hard guardrail is broken in few runs, whether rounds have many groups or only the
// first has; and it is learned.
func TestHardOnFirstRounds(t *testing.T) {
	const arms = 5
	runs := testsize.Of(300, 8)
	g := pastotest.One(t, pasto.Metric{Name: "x"}, pasto.Metric{Name: "y", Role: pasto.Guardrail, Hard: true})
	for _, c := range []struct {
		name   string
		groups func(round int) int
		at     []int
		most   []float64 // share of runs broken
	}{
		{"batches", func(int) int {
			return 100
		}, []int{1, 2, 3, 5, 10, 20, 100}, []float64{.01, .18, .15, .11, .08, .08, .07}},
		{"one batch", func(n int) int {
			return 1 + 99*max(2-n, 0)
		}, []int{1, 10, 100, 1000, 3000}, []float64{.01, .27, .18, .06, .06}},
	} {
		broken, x := make([]int, len(c.at)), 0.0
		for seed := range uint64(runs) {
			l, err := New(g, arms, DefaultOptions())
			if err != nil {
				t.Fatal(err)
			}
			r := random.New(seed, "first")
			for n, next := 1, 0; next < len(c.at); n++ {
				drawn := make([]int, c.groups(n))
				l.Draw(r, drawn)
				obs, u := make([]pasto.Observation, len(drawn)), .5*stat.Normal(r)
				for q, k := range drawn {
					y := -.4 + .2*float64(k)
					obs[q] = pasto.Observation{Arm: k, Metrics: []float64{-y + stat.Normal(r), y + u + stat.Normal(r)}}
				}
				if err := l.Observe(obs); err != nil {
					t.Fatal(err)
				}
				if n < c.at[next] {
					continue
				}
				y := 0.0
				for k, p := range l.Deployed() {
					y += p * (-.4 + .2*float64(k))
				}
				if y < -1e-9 {
					broken[next]++
				}
				if next++; next == len(c.at) {
					x += -y / float64(runs)
				}
			}
		}
		t.Logf("%s: broken at %v: %v of %d, x %.3f at the end", c.name, c.at, broken, runs, x)
		for i, n := range broken {
			if float64(n) > c.most[i]*float64(runs)+2 {
				t.Errorf("%s: broken in %d of %d runs at %d", c.name, n, runs, c.at[i])
			}
		}
		if x < -.2 {
			t.Errorf("%s: x is %v, the optimum is 0", c.name, x)
		}
	}
}

// Standard errors of small groups beside large ones, whose variance is that of what is in common,
// are not too small. They are too large, as the pooled variance is that of the large ones.
func TestStandardErrorsOfUnequalArms(t *testing.T) {
	const arms, rounds, seeds = 5, 60, 300
	var square, sum float64
	for seed := range uint64(seeds) {
		r := random.New(seed, "unequal")
		l, err := New(pastotest.One(t, pasto.Metric{Name: "x"}), arms, noChanges())
		if err != nil {
			t.Fatal(err)
		}
		obs := make([]pasto.Observation, arms)
		for range rounds {
			u := .1 * stat.Normal(r)
			for k := range obs {
				obs[k] = pasto.Observation{Arm: k, Size: 10}
				if k == 0 {
					obs[k].Size = 5000
				}
				obs[k].Metrics = []float64{u + stat.Normal(r)/math.Sqrt(obs[k].Size)}
			}
			if err := l.Observe(obs); err != nil {
				t.Fatal(err)
			}
		}
		means, errs := l.Estimate()
		z := 0.0
		for k := 1; k < arms; k++ {
			z += math.Pow(means.Arm(k)[0]/errs.Arm(k)[0], 2) / (arms - 1)
		}
		sum += z / seeds
		square += z * z / seeds
	}
	se := math.Sqrt((square - sum*sum) / seeds)
	t.Logf("mean square %.3f ± %.3f", sum, se)
	if sum < .4 || sum > 1.1+4*se {
		t.Errorf("mean square %.3f ± %.3f, want .4 to 1.1", sum, se)
	}
}

// noChanges are the default options without a test for changes.
func noChanges() Options {
	o := DefaultOptions()
	o.ChangeThreshold = 0
	return o
}
