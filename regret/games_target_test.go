package regret_test

import (
	"context"
	"math"
	"testing"

	"github.com/noregret/noregret/loss"
	"github.com/noregret/noregret/oco"
	"github.com/noregret/noregret/regret"
)

// dynamics plays a learner and measures against the minimizers.
func dynamics(t *testing.T, p regret.Player, g regret.Game, rounds int) *regret.Certificate {
	t.Helper()
	c, err := regret.Play(context.Background(), p, g, rounds, regret.Options{Dynamic: &regret.DynamicOptions{}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestExample2: the best fixed point costs −T/4 and the best sequence −T/2 (Besbes, Gur and Zeevi
// 2015, Example 2).
func TestExample2(t *testing.T) {
	g := must(regret.NewAlternating(50, 0, -1))
	c := dynamics(t, descent(g.Set(), oco.Constant(0.1)), g, 100)
	near(t, "static oracle", c.ComparatorLoss, -25)
	near(t, "static oracle's point", c.Comparator[0], 0.5)
	near(t, "dynamic oracle", c.Dynamic.ComparatorLoss, -50)
	near(t, "variation on [−1, 2]", c.Dynamic.Variation.Total, 4)
	near(t, "variation on the hull", c.Dynamic.Variation.Hull, 2)
	near(t, "path", c.Dynamic.Variation.Path, 1)
	near(t, "the two regrets differ by T/4", c.Dynamic.Regret-c.Regret, 25)
}

// TestOracleO8: gradient descent without restarts has linear regret (Besbes, Gur and Zeevi 2015,
// Example 3).
func TestOracleO8(t *testing.T) {
	// 1: a constant step and blocks of 56 rounds; started on its periodic path.
	const rounds, block = 10000, 56
	eta := 1 / math.Sqrt(rounds)
	kappa := math.Pow(1-2*eta, block)
	g := must(regret.NewAlternating(block, 0, 0))
	start := []float64{1 / (1 + kappa)}
	c := dynamics(t, must(oco.NewSubgradientDescent(g.Set(), start, oco.Constant(eta))), g, rounds)
	near(t, "constant step", c.Dynamic.Regret, 2312.6815376528)
	near(t, "variation", c.Dynamic.Variation.Hull, (rounds-1)/block)
	near(t, "variation on [−1, 2]", c.Dynamic.Variation.Total, 3*((rounds-1)/block))

	// 2: steps C/t, one change in the middle.
	for _, v := range []struct {
		rounds  int
		c, want float64
	}{{10000, 0.5, 2500.6249791633}, {10000, 1, 1458.9167120782}, {1000, 0.5, 250.6247913342}} {
		g := must(regret.NewAlternating(v.rounds/2, 1, 0))
		// The step to x_t is C/t.
		rate := oco.RateFunc("c/t", func(t int) float64 { return v.c / float64(t+1) })
		c := dynamics(t, must(oco.NewSubgradientDescent(g.Set(), []float64{1}, rate)), g, v.rounds)
		near(t, "steps C/t", c.Dynamic.Regret, v.want)
		near(t, "variation", c.Dynamic.Variation.Total, 3)
	}
}

// TestTargets: the sums of the least losses and the variations of the patterns, computed by hand or
// known from the published simulation.
func TestTargets(t *testing.T) {
	for _, v := range []struct {
		pattern       regret.Pattern
		rounds, start int
		least         float64
	}{
		{regret.Jump, 5000, 310, 4845.5},
		{regret.Jump, 5000, 362, 4819.5},
		{regret.Decay, 5000, 362, 4694.249834},
		{regret.Ramp, 5000, 362, 4046.249982},
		{regret.Jump, 25000, 756, 24622.5},
		{regret.Decay, 25000, 882, 23934.249969},
	} {
		g := must(regret.NewTarget(v.pattern, v.rounds, v.start, 0, 1))
		c := dynamics(t, descent(g.Set(), oco.Constant(0.1)), g, v.rounds)
		near(t, "least", math.Round(c.Dynamic.ComparatorLoss*1e6)/1e6, v.least)
		last := v.pattern.Target(v.rounds, v.start, v.rounds)
		near(t, "hull", c.Dynamic.Variation.Hull, 1-last)
		near(t, "total", c.Dynamic.Variation.Total, 2*(1-last))
		near(t, "path", c.Dynamic.Variation.Path, 1-last)
	}
	for p, want := range map[regret.Pattern][2]int{
		regret.Jump: {310, 756}, regret.Decay: {362, 882}, regret.Ramp: {362, 882},
	} {
		if a, b := p.DefaultStart(5000), p.DefaultStart(25000); a != want[0] || b != want[1] {
			t.Errorf("%v: starts %d and %d, want %v", p, a, b, want)
		}
	}
	if p := regret.Pattern(7).String(); p != "unknown" {
		t.Error(p)
	}
}

// feedbackLog is a player that stays where it is and records its feedback.
type feedbackLog struct {
	x        []float64
	gradient []float64
}

func (p *feedbackLog) Dim() int           { return len(p.x) }
func (p *feedbackLog) Predict() []float64 { return p.x }
func (p *feedbackLog) Update(g []float64) error {
	p.gradient = append(p.gradient, g...)
	return nil
}

// wholeLog would take whole losses, which show no noise.
type wholeLog struct{ feedbackLog }

func (p *wholeLog) UpdateLoss(loss.Function) error { panic("a noisy game showed its loss") }

// costLog observes costs.
type costLog struct {
	feedbackLog
	cost []float64
}

func (p *costLog) UpdateCost(v float64) error {
	p.cost = append(p.cost, v)
	return nil
}

// TestNoise: players of gradients and of costs see noise of the stated size around the truth, and
// pay the true loss.
func TestNoise(t *testing.T) {
	const rounds, sd = 4000, 0.5
	g := must(regret.NewTarget(regret.Jump, rounds, rounds+1, sd, 9)) // no change: f = ½x² − x + 1
	p := &wholeLog{feedbackLog{x: []float64{0.5}}}
	c := play(t, p, g, rounds)
	costs := &costLog{feedbackLog: feedbackLog{x: []float64{0.5}}}
	play(t, costs, g, rounds)
	near(t, "loss", c.LearnerLoss, rounds*0.625)
	if !c.Noisy || !c.Holds() {
		t.Errorf("certificate %+v", c)
	}
	if len(costs.gradient) > 0 {
		t.Error("a player of costs saw a gradient")
	}
	for name, v := range map[string][]float64{"gradient": p.gradient, "cost": costs.cost} {
		want := -0.5
		if name == "cost" {
			want = 0.625
		}
		var mean, square float64
		for _, x := range v {
			mean += x / rounds
		}
		for _, x := range v {
			square += (x - mean) * (x - mean) / rounds
		}
		if len(v) != rounds || math.Abs(mean-want) > 4*sd/math.Sqrt(rounds) ||
			math.Abs(math.Sqrt(square)-sd) > 3*sd/math.Sqrt(2*rounds) {
			t.Errorf("%s: %d numbers of mean %v and deviation %v, want %v and %v", name, len(v), mean,
				math.Sqrt(square), want, sd)
		}
	}
	quiet := &feedbackLog{x: []float64{0.5}}
	play(t, quiet, must(regret.NewTarget(regret.Jump, 10, 11, 0, 9)), 10)
	for _, v := range quiet.gradient {
		near(t, "gradient without noise", v, -0.5)
	}
}
