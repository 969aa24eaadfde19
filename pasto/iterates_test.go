package pasto

import (
	"math"
	"testing"

	"github.com/noregret/noregret/internal/random"
)

// iterates are what a learner with a mirror step has to ship.
type iterates interface {
	Learner
	Exploit() []float64
	Average() []float64
	AverageExploit() []float64
}

// Each [Ship] is the iterate that it says: after the trace of spec T1 by its numbers, and for
// S-SCGD, and for every algorithm of the catalogue that has iterates, by what was served.
func TestShip(t *testing.T) {
	f := goals(t, 5, false, 0)
	trace := []Observation{
		{Arm: 0, Metrics: []float64{2, -2}},
		{Arm: 1, Metrics: []float64{0, 2}},
		{Arm: 1, Metrics: []float64{.5, 1.5}},
		{Arm: 0, Metrics: []float64{2.5, -3}},
	}
	// T1: p_1 of rounds 1 to 4, ε_t, and the difference of the log-weights after round 4.
	served, last := []float64{.5, .2951400850, .3084061572, .3166935194}, 1/(1+math.Exp(.8923282622+.1009646612))
	average, exploit := 0.0, 0.0
	for i, p := range served {
		eps := .1 / math.Sqrt(float64(i)+11)
		average += p / 4
		exploit += (p - eps/2) / (1 - eps) / 4
	}
	eps := .1 / math.Sqrt(15)
	for ship, want := range map[Ship]float64{
		ShipAverage: average, ShipAverageExploit: exploit,
		ShipServing: (1-eps)*last + eps/2, ShipExploit: last,
	} {
		o := PaperOptions(2)
		o.Ship = ship
		a := newAlgorithm(t, f, 2, o)
		s, err := NewSCGD(f, 2, SCGDOptions{Ship: ship})
		if err != nil {
			t.Fatal(err)
		}
		for i := range trace {
			if err := a.Observe(trace[i : i+1]); err != nil {
				t.Fatal(err)
			}
		}
		near(t, a.String(), a.Deployed()[0], want, 1e-9)
		checkShip(t, s.String(), s, ship)
	}
	for name, ship := range map[string]Ship{
		"paper": ShipAverage, "paper-last": ShipServing, "theorem": ShipAverage, "practical": ShipAverageExploit,
		"discounted": ShipExploit, "s-scgd": ShipAverage,
	} {
		l, err := NewByName(name, f, 2, 100, nil)
		if err != nil {
			t.Fatal(err)
		}
		checkShip(t, name, l.(iterates), ship)
	}
}

// checkShip plays a few rounds and holds what is deployed to the iterate that it is to be, and to
// be none of the others.
func checkShip(t *testing.T, name string, l iterates, ship Ship) {
	t.Helper()
	play(t, l, toy(t), 2, 30, 1, random.New(1, "ship"))
	for s, p := range map[Ship][]float64{
		ShipAverage: l.Average(), ShipAverageExploit: l.AverageExploit(),
		ShipServing: l.Serving(), ShipExploit: l.Exploit(),
	} {
		if d := math.Abs(l.Deployed()[0] - p[0]); (d == 0) != (s == ship) || d != 0 && d < 1e-6 {
			t.Errorf("%s deploys %v, iterate %d is %v: want iterate %d", name, l.Deployed(), s, p, ship)
		}
	}
}

// AverageDecay makes the averages ones over a window: round t has the share max(1/t, decay). By
// hand for a step that takes the weights' ratio to 3, 9 and 27, π_1 = 1/2, 3/4, 9/10 and 27/28, and
// ε = 1/5.
func TestAverageDecay(t *testing.T) {
	f := one(t, Metric{Name: "x"})
	for _, c := range []struct{ decay, want float64 }{
		{0, (1./2 + 3./4 + 9./10 + 27./28) / 4},
		{.25, (1./2 + 3./4 + 9./10 + 27./28) / 4}, // no window of four rounds yet
		{.5, (1./2+3./4)/8 + 9./10/4 + 27./28/2},
		{1, 27. / 28},
	} {
		for _, ship := range []Ship{ShipAverageExploit, ShipAverage} {
			a := newAlgorithm(t, f, 2, Options{
				Estimator: ArmMeans(), Step: Constant(1), Exploration: Constant(.2),
				Ship: ship, AverageDecay: c.decay,
			})
			for range 4 {
				if err := a.Observe([]Observation{{Arm: 0, Metrics: []float64{math.Log(3)}}}); err != nil {
					t.Fatal(err)
				}
			}
			want := c.want
			if ship == ShipAverage { // p = 0.8·π + 0.1
				want = .8*c.want + .1
			}
			near(t, a.String(), a.Deployed()[0], want, 1e-14)
		}
	}
}

// The constants of the options that have names: of the paper's experiments (spec 4.1), of Theorem
// 1, and of the rule for production (spec 9.5: discounted arm means with ρ of 0.0005 to 0.002,
// ε_min = 0.1, κ = 0.1).
func TestNamedOptions(t *testing.T) {
	paper := Options{Estimator: IPW(), Pseudo: 1, Step: Constant(.1 / 8), Exploration: InverseRoot(.1, 10)}
	clipped, weights, means, discounted, robust, snips, last := paper, paper, paper, paper, paper, paper, paper
	clipped.StepClip = .1
	weights.Estimator, weights.Step, weights.StepClip = Clipped(80), Constant(.01), .1
	means.Estimator, means.Pseudo = ArmMeans(), 0
	discounted.Estimator, discounted.Pseudo, discounted.MinExploration, discounted.StepClip,
		discounted.Ship = DiscountedMeans(.002), 0, .1, .1, ShipExploit
	robust.Estimator, robust.Pseudo = DoublyRobust(), 0
	snips.Estimator, snips.Pseudo = SelfNormalized(), 0
	last.Ship = ShipServing
	f := goals(t, 5, false, 0)
	for name, o := range map[string]Options{
		"paper": paper, "paper-last": last, "paper-step-clip": clipped, "paper-weight-clip": weights,
		"arm-means":  means,
		"discounted": discounted, "doubly-robust": robust, "snips": snips,
		"theorem": {Estimator: IPW(), Pseudo: 1, Step: Constant(.1), Exploration: TheoremExploration(1)},
		"practical": {
			Estimator: DiscountedMeans(.001), Step: Constant(.1 / 8), StepClip: .1, Exploration: InverseRoot(.1, 10),
			MinExploration: .1, Ship: ShipAverageExploit, AverageDecay: .001,
		},
	} {
		l, err := NewByName(name, f, 8, 100, nil)
		if err != nil {
			t.Fatal(err)
		}
		if want := newAlgorithm(t, f, 8, o).String(); l.(*Algorithm).String() != want {
			t.Errorf("%q is %v, want %s", name, l, want)
		}
	}
}
