package mixture

import (
	"bytes"
	"slices"
	"testing"

	"github.com/noregret/noregret/experiment/propose"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/pasto"
)

// shop is a problem of three arms with the control in the middle.
func shop(t *testing.T) *Learner {
	t.Helper()
	g, err := pasto.NewGoals([]pasto.Metric{
		{Name: "clicks", Upper: 1},
		{Name: "purchases", Upper: 1, Role: pasto.Guardrail, Hard: true, Relative: true, Threshold: -.05},
	}, 0)
	if err != nil {
		t.Fatal(err)
	}
	l, err := NewLearner(propose.OfGoals(g, 3), 1, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	return l
}

var shopRates = [3][2]float64{{.052, .022}, {.05, .02}, {.07, .016}}

// shopRound returns the groups of a round of 20,000 units, two for each arm.
func shopRound(p []float64) (obs []pasto.Observation) {
	for k, v := range p {
		for range 2 {
			x := shopRates[k]
			if n := 10_000 * v; n > 1 {
				obs = append(obs, pasto.Observation{
					Arm: k, Size: n, Metrics: x[:], Variances: []float64{x[0] * (1 - x[0]), x[1] * (1 - x[1])},
				})
			}
		}
	}
	return obs
}

// TestLearner: it serves the control alone at first and finds the mixture of the two other arms; a
// snapshot goes on with the same bits, and refuses another problem and damage.
func TestLearner(t *testing.T) {
	l := shop(t)
	if p := l.Serving(); p[1] < .9 {
		t.Errorf("serves %v at first", p)
	}
	for range 60 {
		if err := l.Observe(shopRound(l.Serving())); err != nil {
			t.Fatal(err)
		}
	}
	if p := l.Deployed(); p[1] > .01 || p[2] < .3 || p[2] > .7 || l.Rounds() != 60 || l.Arms() != 3 {
		t.Errorf("deploys %v after %d rounds of %d arms", p, l.Rounds(), l.Arms())
	}
	data, err := l.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	again := shop(t)
	if err := again.UnmarshalBinary(data); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		for _, x := range []*Learner{l, again} {
			if err := x.Observe(shopRound(x.Serving())); err != nil {
				t.Fatal(err)
			}
		}
	}
	a, _ := l.MarshalBinary()
	b, _ := again.MarshalBinary()
	if !bytes.Equal(a, b) || !slices.Equal(l.Serving(), again.Serving()) {
		t.Errorf("serves %v, from the snapshot %v", l.Serving(), again.Serving())
	}
	other, err := NewLearner(shop(t).problem, 0, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	if other.UnmarshalBinary(data) == nil || again.UnmarshalBinary(data[:len(data)-9]) == nil {
		t.Error("another control, or a snapshot that ends early, is taken")
	}
}

// TestLearnerRefuses: what cannot be a group of the round is refused before anything changes.
func TestLearnerRefuses(t *testing.T) {
	l := shop(t)
	if err := l.Observe(shopRound(l.Serving())); err != nil {
		t.Fatal(err)
	}
	before, _ := l.MarshalBinary()
	one := func(change func(o *pasto.Observation)) []pasto.Observation {
		obs := shopRound([]float64{0, 1, 0})
		change(&obs[1])
		return obs
	}
	nan := func() float64 { z := 0.0; return z / z }()
	for name, obs := range map[string][]pasto.Observation{
		"none":      nil,
		"arm":       one(func(o *pasto.Observation) { o.Arm = 3 }),
		"round":     one(func(o *pasto.Observation) { o.Round = 1 }),
		"control":   one(func(o *pasto.Observation) { o.Control = []float64{0, 0} }),
		"size":      one(func(o *pasto.Observation) { o.Size = -1 }),
		"metrics":   one(func(o *pasto.Observation) { o.Metrics = o.Metrics[:1] }),
		"range":     one(func(o *pasto.Observation) { o.Metrics = []float64{2, 0} }),
		"NaN":       one(func(o *pasto.Observation) { o.Metrics = []float64{0, nan} }),
		"variances": one(func(o *pasto.Observation) { o.Variances = []float64{0, -1} }),
	} {
		if err := l.Observe(obs); err == nil {
			t.Errorf("%s is not refused", name)
		}
	}
	if after, _ := l.MarshalBinary(); !bytes.Equal(before, after) {
		t.Error("a refused round changes the state")
	}
	if _, err := NewLearner(l.problem, 3, DefaultOptions()); err == nil {
		t.Error("a control that is no arm is not refused")
	}
}

// TestLearnerDraws: arms are drawn in their shares, those of share 0 never.
func TestLearnerDraws(t *testing.T) {
	l := shop(t)
	l.serving = []float64{.3, 0, .7, 0}
	arms, counts := make([]int, 10_000), [4]int{}
	l.Draw(random.New(1, "draws"), arms)
	for _, k := range arms {
		counts[k]++
	}
	if counts[1]+counts[3] > 0 || counts[0] < 2999 || counts[0] > 3001 {
		t.Errorf("drawn %v times", counts)
	}
}
