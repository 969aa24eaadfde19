package optimistic

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/pastotest"
	"github.com/noregret/noregret/pasto/optimum"
)

// goals has a reward and costs with upper limits, all in [0, 1].
func goals(t testing.TB, limits ...float64) *pasto.Goals {
	t.Helper()
	metrics := []pasto.Metric{{Name: "reward", Upper: 1}}
	for i, c := range limits {
		metrics = append(metrics, pasto.Metric{
			Name: string(rune('a' + i)), Role: pasto.Guardrail, Direction: pasto.Down, Hard: true, Threshold: c,
			Slack: 1e-9, Upper: 1,
		})
	}
	g, err := pasto.NewGoals(metrics, 0)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func learner(t testing.TB, g *pasto.Goals, arms int, o Options) *Learner {
	t.Helper()
	l, err := New(g, arms, o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// game plays Bernoulli metrics and returns the pseudo-regret and the violation of each metric,
// summed over rounds: by the true means of the mixtures served.
type game struct {
	l         *Learner
	means     *pasto.Table
	best      float64
	r         *random.Source
	regret    float64
	violation []float64
	worst     float64 // the largest violation in a round
	loss      float64 // Σ of the regret of a round, if positive, and its violations
}

func newGame(t testing.TB, l *Learner, means *pasto.Table, r *random.Source) *game {
	t.Helper()
	opt, err := optimum.MaximizeHard(l.goals, means)
	if err != nil {
		t.Fatal(err)
	}
	return &game{l: l, means: means, best: opt.Value, r: r, violation: make([]float64, l.goals.Dim())}
}

func (g *game) play(t testing.TB, rounds int) {
	t.Helper()
	theta, by, arms := make([]float64, g.l.goals.Dim()), make([]float64, g.l.goals.Dim()), make([]int, 1)
	for range rounds {
		g.means.Mean(theta, g.l.Serving())
		regret := g.best - g.l.goals.Reward(theta)
		g.regret += regret
		g.loss += max(regret, 0)
		g.l.goals.Violations(by, theta)
		for i, v := range by {
			g.violation[i] += v
			g.loss += v
			g.worst = max(g.worst, v)
		}
		g.l.Draw(g.r, arms)
		seen := make([]float64, len(theta))
		for i, mean := range g.means.Arm(arms[0]) {
			if g.r.Float64() < mean {
				seen[i] = 1
			}
		}
		if err := g.l.Observe([]pasto.Observation{{Arm: arms[0], Metrics: seen}}); err != nil {
			t.Fatal(err)
		}
	}
}

// instances are problems whose optimum is a mixture, a single arm, or at two limits at once.
func instances(t testing.TB) []struct {
	g     *pasto.Goals
	means *pasto.Table
} {
	t.Helper()
	return []struct {
		g     *pasto.Goals
		means *pasto.Table
	}{
		{goals(t, .3), pastotest.Table(t, []float64{.2, .6, .3}, []float64{.1, .5, .5})},
		{goals(t, .5), pastotest.Table(t, []float64{.7, .6, .3, .1}, []float64{.2, .1, .9, .3})},
		{
			goals(t, .4, .3),
			pastotest.Table(t, []float64{.1, .9, .8, .5}, []float64{.1, .9, .1, .4}, []float64{.1, .1, .9, .3}),
		},
	}
}

// Regret and violations are within the certificates in every run but a share of δ, and these within
// the bound in advance. They grow slower than T: the second half of a run costs less.
func TestCertificates(t *testing.T) {
	rounds, runs := 1000, testsize.Of(1000, 10)
	const delta = .05
	for i, in := range instances(t) {
		arms, metrics := in.means.Arms(), in.g.Dim()
		bound := Bound(arms, metrics, rounds, delta)
		failures, first, second := 0, 0.0, 0.0
		for run := range runs {
			l := learner(t, in.g, arms, DefaultOptions())
			g := newGame(t, l, in.means, random.New(uint64(run), "certificates"))
			g.play(t, rounds/2)
			half := g.loss
			g.play(t, rounds/2)
			first, second = first+half, second+g.loss-half
			ok := g.regret <= l.Regret()+1e-6 && l.Regret() <= bound
			for i, v := range g.violation {
				ok = ok && v <= l.Violation(i)+1e-6 && l.Violation(i) <= bound
			}
			if !ok {
				failures++
			}
		}
		if float64(failures) > 2*delta*float64(runs) {
			t.Errorf("instance %d: %d of %d runs outside of the certificates or the bound", i, failures, runs)
		}
		if second >= first {
			t.Errorf("instance %d: loss %v in the first half, %v in the second", i, first, second)
		}
	}
}

// With a safe arm no round violates a guardrail, and the regret is within its certificate.
func TestSafe(t *testing.T) {
	rounds, runs := testsize.Of(2000, 600), testsize.Of(100, 5)
	for i, in := range instances(t) {
		for run := range runs {
			l := learner(t, in.g, in.means.Arms(), Options{Delta: .01, Safe: &Safe{Arm: 0, Means: in.means.Arm(0)}})
			g := newGame(t, l, in.means, random.New(uint64(run), "safe"))
			g.play(t, rounds)
			if g.worst > 1e-8 || l.Violation(1) > 1e-8*float64(rounds) {
				t.Errorf("instance %d: a round violates by %v, certificate %v", i, g.worst, l.Violation(1))
			}
			if g.regret > l.Regret() {
				t.Errorf("instance %d: regret %v, certificate %v", i, g.regret, l.Regret())
			}
			if limit := (l.Stretch() + 1) / 2 * Bound(in.means.Arms(), in.g.Dim(), rounds, .01); l.Regret() > limit {
				t.Errorf("instance %d: certificate %v, bound %v", i, l.Regret(), limit)
			}
		}
	}
}

// What is deployed approaches the optimum.
func TestDeployed(t *testing.T) {
	for i, in := range instances(t) {
		l := learner(t, in.g, in.means.Arms(), DefaultOptions())
		if p := l.Deployed(); p[0] != 1/float64(len(p)) {
			t.Errorf("%v before the first round", p)
		}
		g := newGame(t, l, in.means, random.New(3, "deployed"))
		g.play(t, testsize.Of(10000, 5000))
		theta := make([]float64, in.g.Dim())
		in.means.Mean(theta, l.Deployed())
		if math.Abs(in.g.Reward(theta)-g.best) > .06 {
			t.Errorf("instance %d: %v is worth %v, the optimum %v", i, l.Deployed(), in.g.Reward(theta), g.best)
		}
	}
}

// Half-widths: all intervals of one arm and metric hold at all times with the probability 1 − δ.
func TestHalfWidth(t *testing.T) {
	runs, failures := testsize.Of(5000, 500), 0
	for run := range runs {
		r, sum := random.New(uint64(run), "width"), 0.0
		for n := 1.0; n <= 300; n++ {
			if r.Float64() < .3 {
				sum++
			}
			if math.Abs(sum/n-.3) > HalfWidth(1, 1, n, .2) {
				failures++
				break
			}
		}
	}
	if share := float64(failures) / float64(runs); share > .2 {
		t.Errorf("%v of the runs leave an interval of level 0.2", share)
	}
	if w := HalfWidth(3, 2, 0, .1); w != .5 {
		t.Errorf("width %v without an observation", w)
	}
	pastotest.Near(t, "width", HalfWidth(2, 2, 100, .1), math.Sqrt(math.Log(4*2*2*1e4/.1)/200), 1e-12)
	pastotest.Near(t, "bound", Bound(2, 2, 100, .1),
		2+2*math.Sqrt(400*math.Log(16*1e4/.1))+math.Sqrt(50*math.Log(10)), 1e-9)
}

// A restored snapshot continues bit for bit; refused calls change nothing.
func TestSnapshotsAndRefusals(t *testing.T) {
	in := instances(t)[2]
	for _, o := range []Options{DefaultOptions(), {Delta: .1, Safe: &Safe{Arm: 0, Means: in.means.Arm(0)}}} {
		a := newGame(t, learner(t, in.g, 4, o), in.means, random.New(5, "snapshot"))
		a.play(t, 200)
		data, err := a.l.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		b := newGame(t, learner(t, in.g, 4, o), in.means, random.New(6, "snapshot"))
		b.play(t, 10)
		if err := b.l.UnmarshalBinary(data); err != nil || !slices.Equal(a.l.Serving(), b.l.Serving()) {
			t.Fatalf("restored: %v", err)
		}
		state, err := a.r.MarshalBinary()
		if err != nil || b.r.UnmarshalBinary(state) != nil {
			t.Fatal(err)
		}
		a.play(t, 100)
		b.play(t, 100)
		x, _ := a.l.MarshalBinary()
		y, _ := b.l.MarshalBinary()
		if !bytes.Equal(x, y) || !slices.Equal(a.l.Deployed(), b.l.Deployed()) {
			t.Error("a restored learner goes on differently")
		}
		arm := slices.Index(a.l.Serving(), slices.Max(a.l.Serving()))
		for _, obs := range [][]pasto.Observation{
			nil,
			{{Arm: 7, Metrics: []float64{0, 0, 0}}},
			{{Arm: arm, Metrics: []float64{0, 0}}},
			{{Arm: arm, Metrics: []float64{0, 2, 0}}},
			{{Arm: arm, Metrics: []float64{math.NaN(), 0, 0}}},
		} {
			if err := a.l.Observe(obs); noregret.CodeOf(err) != noregret.BadInput {
				t.Errorf("%v: %v", obs, err)
			}
		}
		if err := a.l.UnmarshalBinary(data[:len(data)-1]); err == nil {
			t.Error("a damaged snapshot was restored")
		}
		if z, _ := a.l.MarshalBinary(); !bytes.Equal(x, z) {
			t.Error("a refused call changed the state")
		}
	}
}

func TestNewRefuses(t *testing.T) {
	metric := func(m pasto.Metric) *pasto.Goals {
		g, err := pasto.NewGoals([]pasto.Metric{{Name: "reward", Upper: 1}, m}, 0)
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	hard := goals(t, .5)
	for what, refused := range map[string]func() error{
		"no guardrail": func() error { _, err := New(goals(t), 2, DefaultOptions()); return err },
		"soft": func() error {
			_, err := New(metric(pasto.Metric{Name: "a", Role: pasto.Guardrail, Upper: 1}), 2, DefaultOptions())
			return err
		},
		"no range": func() error {
			_, err := New(metric(pasto.Metric{Name: "a", Role: pasto.Guardrail, Hard: true}), 2, DefaultOptions())
			return err
		},
		"relative": func() error {
			_, err := New(metric(pasto.Metric{Name: "a", Role: pasto.Guardrail, Hard: true, Relative: true, Upper: 1}),
				2, DefaultOptions())
			return err
		},
		"delta":  func() error { _, err := New(hard, 2, Options{}); return err },
		"no arm": func() error { _, err := New(hard, 0, DefaultOptions()); return err },
		"safe arm": func() error {
			_, err := New(hard, 2, Options{Delta: .1, Safe: &Safe{Arm: 2, Means: []float64{0, 0}}})
			return err
		},
		"safe means": func() error {
			_, err := New(hard, 2, Options{Delta: .1, Safe: &Safe{Means: []float64{0}}})
			return err
		},
		"no room": func() error {
			_, err := New(hard, 2, Options{Delta: .1, Safe: &Safe{Means: []float64{0, .5}}})
			return err
		},
	} {
		if err := refused(); noregret.CodeOf(err) != noregret.BadInput {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// A round allocates nothing once the buffers have grown.
func TestRoundDoesNotAllocate(t *testing.T) {
	in := instances(t)[2]
	l := learner(t, in.g, 4, DefaultOptions())
	g := newGame(t, l, in.means, random.New(1, "allocations"))
	g.play(t, 300)
	arms, obs := make([]int, 1), []pasto.Observation{{Metrics: []float64{.5, .5, .5}}}
	if n := testing.AllocsPerRun(200, func() {
		l.Draw(g.r, arms)
		obs[0].Arm = arms[0]
		if err := l.Observe(obs); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations a round", n)
	}
}
