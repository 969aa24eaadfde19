package arena

import (
	"math"
	"testing"

	"github.com/noregret/noregret/experiment/propose/mixture"
	"github.com/noregret/noregret/lab/world"
)

// TestLateJoins compares the sums of two parts of a group with those of the whole.
func TestLateJoins(t *testing.T) {
	values := []float64{3, 1, 4, 1, 5, 9, 2, 6}
	of := func(values []float64) world.Group {
		g := world.NewGroup(2, len(values), 1)
		for _, v := range values {
			g.Means[0] += v / float64(len(values))
		}
		for _, v := range values {
			g.Variances[0] += (v - g.Means[0]) * (v - g.Means[0]) / float64(len(values)-1)
		}
		return g
	}
	for cut := range len(values) - 1 {
		got := join([]world.Group{of(values[:cut+1])}, of(values[cut+1:]))
		want := of(values)
		if len(got) != 1 || got[0].Units != want.Units || math.Abs(got[0].Means[0]-want.Means[0]) > 1e-12 ||
			math.Abs(got[0].Variances[0]-want.Variances[0]) > 1e-12 {
			t.Errorf("cut after %d: %+v, want %+v", cut+1, got, want)
		}
	}
}

// observed notes what it is served and told.
type observed struct {
	Learner
	units []int
}

func (o *observed) Observe(groups []world.Group) error {
	sum := 0
	for _, g := range groups {
		sum += g.Units
	}
	o.units = append(o.units, sum)
	return nil
}

func (o *observed) Serving(t int) ([]float64, error) {
	if t == 0 {
		return []float64{1, 0}, nil
	}
	return []float64{0, 1}, nil
}

// TestLateShares looks at what is served and when units are counted.
func TestLateShares(t *testing.T) {
	inner := &observed{}
	l := &lateLearner{Learner: inner, share: .25}
	group := world.NewGroup(0, 100, 1)
	for round, want := range [][]float64{{1, 0}, {.25, .75}, {0, 1}} {
		p, err := l.Serving(round)
		if err != nil || p[0] != want[0] || p[1] != want[1] {
			t.Errorf("round %d serves %v (%v), want %v", round, p, err, want)
		}
		if err := l.Observe([]world.Group{group}); err != nil {
			t.Fatal(err)
		}
	}
	if u := inner.units; len(u) != 3 || u[0] != 75 || u[1] != 100 || u[2] != 100 {
		t.Errorf("units counted by round: %v, want 75, 100, 100", u)
	}
}

// TestLateByNothing plays a policy that is late by nothing beside the policy itself.
func TestLateByNothing(t *testing.T) {
	o := Options{Families: []string{"week"}, Runs: 2, Seed: 1, Entries: []Entry{
		{Name: "plain", New: Mixture(mixture.DefaultOptions(), 0)},
		{Name: "late", New: Late(0)},
		{Name: "half", New: Late(.5)},
	}}
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	rows := r.Families[0].Rows
	if rows[0].Served != rows[1].Served || rows[0].Deployed != rows[1].Deployed {
		t.Errorf("late by nothing: %+v, want %+v", rows[1], rows[0])
	}
	if rows[0].Served == rows[2].Served {
		t.Error("late by half a round serves what the policy serves at once")
	}
}
