package arena

import (
	"slices"
	"testing"
)

// TestDefaultLearns plays the default learner in three families. It must observe every round, and
// with plenty of data its deployed mixture must be better than the control.
func TestDefaultLearns(t *testing.T) {
	for _, name := range []string{"rate-2", "latency", "soft"} {
		w := worldOf(t, name, 2)
		l, err := newDefault(taskOf(w))
		if err != nil {
			t.Fatal(err)
		}
		d := l.(*defaultLearner)
		const rounds = 60
		for round := range rounds {
			p, err := d.Serving(round)
			if err != nil {
				t.Fatal(err)
			}
			if err := checkMixture(p, w.Arms()); err != nil {
				t.Fatalf("%s, round %d: %v", name, round, err)
			}
			units := make([]int, w.Arms())
			for k := range units {
				units[k] = int(1e7 * p[k])
			}
			if err := d.Observe(exactly(w, units, 0)); err != nil {
				t.Fatalf("%s, round %d: %v", name, round, err)
			}
		}
		if got := d.learner.Rounds(); got != rounds {
			t.Errorf("%s: %d rounds were observed, want %d", name, got, rounds)
		}
		if s := w.rate(0, d.Deployed(), make([]float64, w.Goals.Dim())); s.value < 0.3 || s.broken {
			t.Errorf("%s: deploys %v with %+v", name, d.Deployed(), s)
		}
	}
}

// Groups of arms without a share in the current round are left out, because the learner refuses
// them.
func TestDefaultLeavesOut(t *testing.T) {
	w := worldOf(t, "two-arms", 0)
	l, err := newDefault(taskOf(w))
	if err != nil {
		t.Fatal(err)
	}
	d := l.(*defaultLearner)
	served := slices.Clone(d.learner.Serving())
	if err := d.Observe(exactly(w, []int{1000, 1000}, 0)); err != nil {
		t.Errorf("serving %v: %v", served, err)
	}
}
