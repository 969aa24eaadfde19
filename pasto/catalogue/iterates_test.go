package catalogue

import (
	"math"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/ascent"
	"github.com/noregret/noregret/pasto/internal/pastotest"
)

// newAlgorithm makes Algorithm 1.
func newAlgorithm(t testing.TB, f pasto.Objective, arms int, o ascent.Options) *ascent.Algorithm {
	t.Helper()
	a, err := ascent.New(f, arms, o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// iterates are what a learner with a mirror step has to ship.
type iterates interface {
	pasto.Learner
	Exploit() []float64
	Average() []float64
	AverageExploit() []float64
}

// Each [ascent.Deploy] is the iterate that it says: after the trace of TestTrace by its numbers,
// and for S-SCGD, and for every algorithm of the catalogue that has iterates, by what was served.
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
		s, err := ascent.NewSCGD(f, 2, ascent.SCGDOptions{Deploy: ship})
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

// checkShip plays a few rounds and holds what is deployed to the iterate that it is to be, and to
// be none of the others.
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
