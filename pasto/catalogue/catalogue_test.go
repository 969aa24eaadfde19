package catalogue

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/ascent"
	"github.com/noregret/noregret/pasto/internal/check"
	"github.com/noregret/noregret/pasto/internal/pastotest"
	"github.com/noregret/noregret/pasto/optimum"
)

// A horizon below one round is refused where the schedule needs a horizon, and ignored by the other
// algorithms.
func TestHorizon(t *testing.T) {
	f := pastotest.Goals(t, 5, false, 0)
	for _, e := range Algorithms() {
		for rounds, want := range map[int]string{
			0:       "rounds: 0: this algorithm's step is 1/√T: want a horizon T of at least 1 round",
			-7:      "rounds: -7: this algorithm's step is 1/√T: want a horizon T of at least 1 round",
			1:       "",
			1 << 30: "",
		} {
			l, err := New(e.Name, f, 2, rounds, nil)
			if want != "" && e.Name == "theorem" {
				pastotest.Same(t, err, want)
			} else if err != nil || l.Arms() != 2 {
				t.Errorf("%s, %d rounds: %v", e.Name, rounds, err)
			}
		}
	}
	for _, rounds := range []int{0, -1} {
		if _, err := ascent.New(f, 2, ascent.TheoremOptions(1, rounds)); err == nil {
			t.Errorf("the theorem's options for %d rounds are accepted", rounds)
		}
	}
}

// Every learner refuses a utility that is not concave in its box when it is constructed. A concave
// utility whose gradient is by differences is accepted.
func TestLearnersRefuseConvexUtility(t *testing.T) {
	square := func(theta []float64) float64 { return theta[0] * theta[0] }
	u := &pasto.Utility{Name: "square", Metrics: 1, U: square, DU: func(dst, theta []float64) {
		dst[0] = 2 * theta[0]
	}, Lower: []float64{-1}, Upper: []float64{1}}
	rough := &pasto.Utility{
		Name: "rough", Metrics: 1, U: func(theta []float64) float64 { return -square(theta) },
		DU: func(dst, theta []float64) {
			dst[0] = (square([]float64{theta[0] - 1e-6}) - square([]float64{theta[0] + 1e-6})) / 2e-6
		},
		Lower: []float64{-1}, Upper: []float64{1},
	}
	for _, a := range Algorithms() {
		if _, err := New(a.Name, u, 2, 100, nil); err == nil ||
			!strings.Contains(err.Error(), "objective: not concave") {
			t.Errorf("%s: %v", a.Name, err)
		}
		if _, err := New(a.Name, rough, 2, 100, nil); err != nil {
			t.Errorf("%s: %v", a.Name, err)
		}
	}
}

// newAlgorithm makes Algorithm 1.
func newAlgorithm(t testing.TB, f pasto.Objective, arms int, o ascent.Options) *ascent.Algorithm {
	t.Helper()
	a, err := ascent.New(f, arms, o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// iterates are the mixtures that a learner with a mirror step can deploy.
type iterates interface {
	pasto.Learner
	Exploit() []float64
	Average() []float64
	AverageExploit() []float64
}

// Each [ascent.Deploy] deploys the iterate that it names. After the trace of TestTrace it is
// compared with the numbers there; for S-SCGD and every algorithm of the catalogue that has
// iterates, with the mixtures served.
func TestShip(t *testing.T) {
	f := pastotest.Goals(t, 5, false, 0)
	trace := []pasto.Observation{
		{Arm: 0, Metrics: []float64{2, -2}},
		{Arm: 1, Metrics: []float64{0, 2}},
		{Arm: 1, Metrics: []float64{.5, 1.5}},
		{Arm: 0, Metrics: []float64{2.5, -3}},
	}
	// p_1 of rounds 1 to 4, ε_t, and the difference of the log-weights after round 4.
	served, last := []float64{.5, .2951400850, .3084061572, .3166935194}, 1/(1+math.Exp(.8923282622+.1009646612))
	average, exploit := 0.0, 0.0
	for i, p := range served {
		eps := .1 / math.Sqrt(float64(i)+11)
		average += p / 4
		exploit += (p - eps/2) / (1 - eps) / 4
	}
	eps := .1 / math.Sqrt(15)
	for ship, want := range map[ascent.Deploy]float64{
		ascent.DeployAverage: average, ascent.DeployAverageExploit: exploit,
		ascent.DeployServing: (1-eps)*last + eps/2, ascent.DeployExploit: last,
	} {
		o := ascent.PaperOptions(2)
		o.Deploy = ship
		a := newAlgorithm(t, f, 2, o)
		basic := ascent.DefaultSCGDOptions()
		basic.Deploy = ship
		s, err := ascent.NewSCGD(f, 2, basic)
		if err != nil {
			t.Fatal(err)
		}
		for i := range trace {
			if err := a.Observe(trace[i : i+1]); err != nil {
				t.Fatal(err)
			}
		}
		pastotest.Near(t, a.String(), a.Deployed()[0], want, 1e-9)
		checkShip(t, s.String(), s, ship)
	}
	for name, ship := range map[string]ascent.Deploy{
		"paper": ascent.DeployAverage, "paper-last": ascent.DeployServing, "theorem": ascent.DeployAverage,
		"practical":  ascent.DeployAverageExploit,
		"discounted": ascent.DeployExploit, "tracking": ascent.DeployExploit, "s-scgd": ascent.DeployAverage,
	} {
		l, err := New(name, f, 2, 100, nil)
		if err != nil {
			t.Fatal(err)
		}
		checkShip(t, name, l.(iterates), ship)
	}
}

// checkShip plays a few rounds and checks that the deployed mixture is the named iterate and none
// of the others.
func checkShip(t *testing.T, name string, l iterates, ship ascent.Deploy) {
	t.Helper()
	pastotest.Play(t, l, pastotest.Toy(t), 2, 30, 1, random.New(1, "ship"))
	for s, p := range map[ascent.Deploy][]float64{
		ascent.DeployAverage: l.Average(), ascent.DeployAverageExploit: l.AverageExploit(),
		ascent.DeployServing: l.Serving(), ascent.DeployExploit: l.Exploit(),
	} {
		if d := math.Abs(l.Deployed()[0] - p[0]); (d == 0) != (s == ship) || d != 0 && d < 1e-6 {
			t.Errorf("%s deploys %v, iterate %d is %v: want iterate %d", name, l.Deployed(), s, p, ship)
		}
	}
}

// The constants of the options that have names: of the paper's experiments, of Theorem
// 1, and of the rule for production (discounted arm means with ρ of 0.0005 to 0.002,
// ε_min = 0.1, κ = 0.1).
func TestNamedOptions(t *testing.T) {
	paper := ascent.Options{
		Estimator: ascent.IPW(), Pseudocount: 1, Step: ascent.Constant(.1 / 8),
		Exploration: ascent.InverseRoot(.1, 10),
	}
	clipped, weights, means, discounted, robust, snips, last := paper, paper, paper, paper, paper, paper, paper
	clipped.StepClip = .1
	weights.Estimator, weights.Step, weights.StepClip = ascent.Clipped(80), ascent.Constant(.01), .1
	means.Estimator, means.Pseudocount = ascent.ArmMeans(), 0
	discounted.Estimator, discounted.Pseudocount, discounted.MinExploration, discounted.StepClip,
		discounted.Deploy = ascent.DiscountedMeans(.002), 0, .1, .1, ascent.DeployExploit
	robust.Estimator, robust.Pseudocount = ascent.DoublyRobust(), 0
	snips.Estimator, snips.Pseudocount = ascent.SelfNormalized(), 0
	last.Deploy = ascent.DeployServing
	f := pastotest.Goals(t, 5, false, 0)
	for name, o := range map[string]ascent.Options{
		"paper": paper, "paper-last": last, "paper-step-clip": clipped, "paper-weight-clip": weights,
		"arm-means":  means,
		"discounted": discounted, "doubly-robust": robust, "snips": snips,
		"theorem": {
			Estimator: ascent.IPW(), Pseudocount: 1, Step: ascent.Constant(.1),
			Exploration: ascent.TheoremExploration(1),
		},
		"practical": {
			Estimator: ascent.DiscountedMeans(.001), Step: ascent.Constant(.1 / 8), StepClip: .1,
			Exploration:    ascent.InverseRoot(.1, 10),
			MinExploration: .1, Deploy: ascent.DeployAverageExploit, AverageDecay: .001,
		},
		"tracking": {
			Estimator: ascent.DiscountedMeans(.002), Step: ascent.Constant(.1), ScaleFree: true, FixedShare: .002,
			Exploration: ascent.InverseRoot(.1, 10), MinExploration: .1, Deploy: ascent.DeployExploit,
		},
	} {
		l, err := New(name, f, 8, 100, nil)
		if err != nil {
			t.Fatal(err)
		}
		if want := newAlgorithm(t, f, 8, o).String(); l.(*ascent.Algorithm).String() != want {
			t.Errorf("%q is %v, want %s", name, l, want)
		}
	}
}

// All named algorithms are deterministic, continue from a snapshot bit for bit, serve distributions
// and allocate nothing.
func TestAllAlgorithms(t *testing.T) {
	f := pastotest.Goals(t, 5, false, 0)
	mu := pastotest.Table(t, []float64{2, 0, 1, -1}, []float64{-2, 2, 0, 1})
	for _, e := range Algorithms() {
		t.Run(e.Name, func(t *testing.T) {
			a, err := e.New(f, 4, 1000, nil)
			if err != nil {
				t.Fatal(err)
			}
			b, _ := e.New(f, 4, 1000, nil)
			r := random.New(1, "test")
			pastotest.Play(t, a, mu, 3, 333, 1, r)
			saved, err := a.MarshalBinary()
			if err != nil {
				t.Fatal(err)
			}
			state, _ := r.MarshalBinary()
			pastotest.Play(t, a, mu, 3, 300, 1, r)
			if err := b.UnmarshalBinary(saved); err != nil {
				t.Fatal(err)
			}
			r2 := random.New(0, "")
			_ = r2.UnmarshalBinary(state)
			pastotest.Play(t, b, mu, 3, 300, 1, r2)
			x, _ := a.MarshalBinary()
			y, _ := b.MarshalBinary()
			if !bytes.Equal(x, y) {
				t.Error("a restored learner continues differently")
			}
			for _, p := range [][]float64{a.Serving(), a.Deployed()} {
				if err := check.Mixture("p", p, 4); err != nil {
					t.Error(err)
				}
			}
			saved[len(saved)-1] ^= 1
			if err := b.UnmarshalBinary(saved); err == nil {
				t.Error("a damaged snapshot is accepted")
			}
			arms, obs := make([]int, 3), make([]pasto.Observation, 3)
			var row [2]float64
			// The runtime may allocate a few times in all.
			allocs := testing.AllocsPerRun(10, func() {
				for range 50 {
					a.Draw(r, arms)
					for q, k := range arms {
						row = [2]float64{mu.Arm(k)[0] + float64(q), mu.Arm(k)[1] - float64(q)}
						obs[q] = pasto.Observation{Arm: k, Metrics: row[:]}
					}
					if err := a.Observe(obs); err != nil {
						t.Fatal(err)
					}
				}
			})
			if allocs > 0 {
				t.Errorf("%v allocations in 50 rounds", allocs)
			}
		})
	}
	if _, err := New("nothing", f, 2, 10, nil); err == nil || !strings.Contains(err.Error(), "s-scgd") {
		t.Errorf("%v", err)
	}
}

// Every algorithm refuses the same bad problems, and accepts a single arm.
func TestRefusedProblems(t *testing.T) {
	f := pastotest.Goals(t, 5, false, 0)
	for _, e := range Algorithms() {
		if _, err := e.New(f, 0, 10, nil); err == nil {
			t.Errorf("%s: no arms", e.Name)
		}
		if _, err := e.New(pastotest.Goals(t, 5, true, 0), 2, 10, nil); (err == nil) != strings.HasPrefix(e.Name,
			"default") {
			t.Errorf("%s: hard guardrails", e.Name)
		}
		if _, err := e.New(nil, 2, 10, nil); err == nil {
			t.Errorf("%s: nil objective", e.Name)
		}
		if l, err := e.New(f, 1, 10, nil); err != nil || l.Serving()[0] != 1 {
			t.Errorf("%s: one arm is legal: %v", e.Name, err)
		}
	}
	if _, err := optimum.Maximize(f, pastotest.Table(t, []float64{1}), optimum.DefaultOptions()); err == nil {
		t.Error("a table with other metrics is accepted")
	}
}

// A start is refused where it would be ignored.
func TestStart(t *testing.T) {
	for _, e := range Algorithms() {
		l, err := e.New(pastotest.Goals(t, 5, false, 0), 2, 100, []float64{.9, .1})
		if a, ok := l.(interface{ Exploit() []float64 }); ok {
			pastotest.Near(t, e.Name, a.Exploit()[0], .9, 1e-9)
			continue
		}
		pastotest.Same(t, err, "start: this algorithm has no starting mixture: it serves every arm first; leave it "+
			"out, or "+
			"take Algorithm 1 or s-scgd")
	}
}

// Unknown names are refused with the list of the catalogue's names.
func TestUnknownAlgorithm(t *testing.T) {
	_, err := New("nobody", pastotest.Goals(t, 5, false, 0), 2, 10, nil)
	var e *noregret.Error
	if !errors.As(err, &e) || !strings.HasPrefix(err.Error(), `algorithm: "nobody" is unknown: want one of default, `) {
		t.Errorf("%v", err)
	}
}
