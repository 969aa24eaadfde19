package world

import (
	"math"
	"slices"
	"testing"

	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/scenario"
)

// worldOf draws the world of a run of a family.
func worldOf(t *testing.T, name string, run int) *World {
	t.Helper()
	f, err := FindFamily(name)
	if err != nil {
		t.Fatal(err)
	}
	w, err := f.Draw(f.Source(5, run))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Solve(); err != nil {
		t.Fatal(err)
	}
	return w
}

// Every world has a safe control and a certified optimum that is no worse, and all metrics are in
// range.
func TestWorldsAreSound(t *testing.T) {
	names := map[string]bool{}
	for _, f := range slices.Concat(Families(), ServedFamilies()) {
		if names[f.Name] {
			t.Errorf("two families have the name %q", f.Name)
		}
		names[f.Name] = true
		gains := 0
		for run := range 40 {
			w := worldOf(t, f.Name, run)
			if w.Arms() > 50 && run > 4 {
				break // as many arms as forty worlds
			}
			theta := make([]float64, w.Goals.Dim())
			for i := range w.Phases {
				control := make([]float64, w.Arms())
				control[0] = 1
				if s := w.Rate(i, control, theta); s.Broken || s.Value != 0 {
					t.Errorf("%s, run %d, phase %d: the control has %+v", f.Name, run, i, s)
				}
				s := w.Rate(i, w.truths[i].Best, theta)
				if s.Broken || s.Value < -1e-9 || s.Value > 1+1e-9 {
					t.Errorf("%s, run %d, phase %d: the optimum has %+v", f.Name, run, i, s)
				}
				if s.Value > 0.999 {
					gains++
				}
				if i > 0 && w.Phases[i].From <= w.Phases[i-1].From {
					t.Errorf("%s: phases begin at %d and %d", f.Name, w.Phases[i-1].From, w.Phases[i].From)
				}
			}
			checkMetrics(t, f.Name, w)
		}
		if gains == 0 && f.Name != "only-control" {
			t.Errorf("%s: no run has anything to gain", f.Name)
		}
	}
	if len(names) < 16 {
		t.Errorf("%d families, want 16 or more", len(names))
	}
}

func checkMetrics(t *testing.T, name string, w *World) {
	t.Helper()
	if len(w.Outcomes) != w.Goals.Dim() || len(w.Margins) != w.Goals.Dim() {
		t.Fatalf("%s: %d outcomes and %d margins of %d metrics", name, len(w.Outcomes), len(w.Margins), w.Goals.Dim())
	}
	for m := range w.Goals.Metrics() {
		if w.Goals.Metrics()[m].Hard != (w.Margins[m] > 0 && w.Goals.Metrics()[m].Lambda == 0) {
			t.Errorf("%s: metric %d has a margin of %v", name, m, w.Margins[m])
		}
		for k := range w.Arms() {
			v := w.Phases[0].Means.Arm(k)[m]
			if !(v > 0) || w.Outcomes[m].Kind == Bernoulli && v > 1 {
				t.Errorf("%s: arm %d has a mean of %v in metric %d", name, k, v, m)
			}
		}
	}
	for round, n := range w.Units {
		if n < 1 {
			t.Errorf("%s: %d units in round %d", name, n, round)
		}
	}
}

// TestFamiliesAreWhatTheySay checks families for the property that their names state.
func TestFamiliesAreWhatTheySay(t *testing.T) {
	holding := func(w *World, phase int) (n int) {
		for k := 1; k < w.Arms(); k++ {
			if w.Goals.Holds(w.truths[phase].Means.Arm(k)) {
				n++
			}
		}
		return n
	}
	better, crashed := 0, 0
	for run := range 40 {
		if n := holding(worldOf(t, "infeasible", run), 0); n > 2 {
			t.Errorf("infeasible: %d arms hold the guardrail", n)
		}
		if n := holding(worldOf(t, "only-control", run), 0); n > 0 {
			t.Errorf("only-control: %d arms hold the guardrail", n)
		}
		w := worldOf(t, "mixture", run)
		truth, err := scenario.NewTruth(t.Context(), w.Goals, w.truths[0].Means)
		if err != nil {
			t.Fatal(err)
		}
		if truth.Optimum() > truth.Single+0.1*w.truths[0].unit {
			better++
		}
		w = worldOf(t, "late-crash", run)
		if holding(w, 1) < holding(w, 0) {
			crashed++
		}
		if w := worldOf(t, "crash", run); holding(w, 0) == w.Arms()-1 {
			t.Error("crash: all arms hold the guardrail")
		}
	}
	if better < 38 || crashed < 30 {
		t.Errorf("a mixture is better in %d of 40 runs, an arm crashes late in %d", better, crashed)
	}
}

func TestSeasonsHaveMeanOne(t *testing.T) {
	for _, name := range []string{"week", "day", "growth", "shrinkage"} {
		w, sum := worldOf(t, name, 0), 0.0
		for round := range w.Units {
			sum += w.Level(round, 0) / float64(w.Rounds())
		}
		if math.Abs(sum-1) > 0.03 {
			t.Errorf("%s: mean level %v", name, sum)
		}
	}
}

// A violation never pays off: no mixture has a larger value than the optimum.
func TestViolationsNeverPay(t *testing.T) {
	for _, f := range Families() {
		w := worldOf(t, f.Name, 3)
		theta, p := make([]float64, w.Goals.Dim()), make([]float64, w.Arms())
		best, paid := w.Rate(0, w.truths[0].Best, theta).Value, false
		for k := range w.Arms() {
			for share := 0.0; share <= 1; share += 0.01 {
				for j, v := range w.truths[0].Best {
					p[j] = (1 - share) * v
				}
				p[k] += share
				s := w.Rate(0, p, theta)
				if s.Value > best+1e-6 {
					t.Fatalf("%s: %v is worth %v, the optimum %v", f.Name, p, s.Value, best)
				}
				paid = paid || s.Raw > best+1e-6
				if s.Broken != (s.Violation > 0) {
					t.Fatalf("%s: %+v", f.Name, s)
				}
			}
		}
		if f.Name == "mixture" && !paid {
			t.Error("mixture: no violation would pay off without its price")
		}
	}
}

// A violation equal to the margin counts as 1.
func TestViolationUnit(t *testing.T) {
	goals, err := pasto.NewGoals([]pasto.Metric{
		{Name: "x"}, {Name: "y", Role: pasto.Guardrail, Hard: true, Relative: true, Threshold: -0.1},
	}, 0)
	if err != nil {
		t.Fatal(err)
	}
	means, err := pasto.TableOf([]float64{1, 2}, []float64{1, 0.8})
	if err != nil {
		t.Fatal(err)
	}
	w := &World{Goals: goals, Margins: []float64{0, 0.1}, Phases: []Phase{{Means: means}}}
	if err := w.Solve(); err != nil {
		t.Fatal(err)
	}
	s := w.Rate(0, []float64{0, 1}, make([]float64, 2))
	if math.Abs(s.Violation-1) > 1e-9 || !s.Broken {
		t.Errorf("%+v, want a violation of 1", s)
	}
	// The optimum is half of each arm, with a gain of ½, so the price of a unit is 5. Twice that
	// price for a violation of 0.1 consumes the whole gain of 1.
	if math.Abs(s.Raw-2) > 1e-6 || math.Abs(s.Value) > 1e-6 {
		t.Errorf("%+v, want a raw value of 2 and a value of 0", s)
	}
}
