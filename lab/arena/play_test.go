package arena

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/lab/world"
)

func play(t *testing.T, o Options) *Result {
	t.Helper()
	r, err := Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The result does not depend on the number of workers, and a learner's figures do not depend on the
// other learners.
func TestResultDependsOnTheSeedOnly(t *testing.T) {
	o := Options{
		Families: []string{"revenue-guard", "delay"}, Learners: []string{"greedy-2", "optimistic-safe"},
		Runs: 2, Workers: 1,
	}
	first := play(t, o)
	o.Workers = 4
	if !reflect.DeepEqual(play(t, o), first) {
		t.Error("the figures differ with four workers")
	}
	o.Learners = []string{"thompson", "greedy-2", "test-single"}
	if got, want := play(t, o).Families[0].Rows[1], first.Families[0].Rows[0]; !reflect.DeepEqual(got, want) {
		t.Errorf("the figures differ beside other learners: %+v, want %+v", got, want)
	}
	o.Seed = 1
	if reflect.DeepEqual(play(t, o).Families[0].Rows[1], first.Families[0].Rows[0]) {
		t.Error("the same figures with another seed")
	}
}

// late records when feedback arrives.
type late struct {
	p      []float64
	seen   int
	before []int // groups seen before each round
}

func (l *late) Serving(int) ([]float64, error) {
	l.before = append(l.before, l.seen)
	return l.p, nil
}

func (l *late) Observe(groups []world.Group) error {
	l.seen++
	return nil
}

func (l *late) Deployed() []float64 { return l.p }

func TestFeedbackComesLate(t *testing.T) {
	w, l := worldOf(t, "delay", 0), &late{p: make([]float64, 6)}
	uniform(l.p)
	entries := []Entry{{Name: "late", New: func(*Task) (Learner, error) { return l, nil }}}
	if _, err := playWorld(context.Background(), w, entries, 1); err != nil {
		t.Fatal(err)
	}
	for round, n := range l.before {
		if want := max(0, round-w.Delay); n != want {
			t.Fatalf("before round %d: %d rounds were observed, want %d", round, n, want)
		}
	}
}

// A learner that serves something other than a distribution ends the run with an error that names
// the learner.
func TestServingIsChecked(t *testing.T) {
	w := worldOf(t, "delay", 0)
	for _, p := range [][]float64{nil, {1}, {0.5, 0.6, 0, 0, 0, 0}, {1.5, -0.5, 0, 0, 0, 0}} {
		entries := []Entry{{Name: "wrong", New: func(*Task) (Learner, error) { return &late{p: p}, nil }}}
		_, err := playWorld(context.Background(), w, entries, 1)
		if err == nil || !strings.Contains(err.Error(), "wrong in round 1") {
			t.Errorf("%v: got %v", p, err)
		}
	}
}

// The oracle serves the optimum of each phase, and the peers that promise to serve within the
// guardrails do.
func TestOracleAndSafePeers(t *testing.T) {
	families := []string{"rate-2", "growth", "infeasible", "latency", "late-crash"}
	if !testsize.Short() {
		families = nil // all
	}
	r := play(t, Options{
		Runs: testsize.Of(12, 2), Seed: 3, Families: families,
		Learners: []string{"oracle", "thompson-safe", "greedy-2-safe", "optimistic-safe", "contrasts-safe", "greedy-2"},
	})
	broken := 0
	for _, f := range r.Families {
		oracle := &f.Rows[0]
		if oracle.Deployed.Mean < -1e-9 || oracle.Deployed.Mean > 1+1e-9 || oracle.Violation.Mean > 0 {
			t.Errorf("%s: the oracle has %+v", f.Family, oracle)
		}
		for i := range f.Rows[1:] {
			x := &f.Rows[i+1]
			if x.Served.Mean > oracle.Served.Mean+1e-9 || x.Deployed.Mean > oracle.Deployed.Mean+1e-9 {
				t.Errorf("%s: %s is better than the oracle: %+v", f.Family, x.Learner, x)
			}
			// Plain means absorb growth, and no peer detects sudden changes.
			if f.Family == "late-crash" || f.Family == "growth" && x.Learner != "contrasts-safe" {
				continue
			}
			if strings.HasSuffix(x.Learner, "-safe") && x.BrokenRounds.Mean > 0.01 {
				t.Errorf("%s: %s breaks guardrails in %v of the rounds", f.Family, x.Learner, x.BrokenRounds)
			}
			if x.Learner == "greedy-2" && x.BrokenRounds.Mean > 0.01 {
				broken++
			}
		}
	}
	if broken == 0 {
		t.Error("a learner without bounds breaks no guardrail in any family: the families are too mild")
	}
}

func TestUnknownNames(t *testing.T) {
	for _, o := range []Options{
		{Runs: 2, Families: []string{"weeks"}}, {Runs: 2, Learners: []string{"best"}}, {Runs: 1},
	} {
		if _, err := Run(context.Background(), o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}

func TestRunStops(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	o := Options{Runs: 1000, Progress: func(int, int) { stop() }}
	if _, err := Run(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
}

func TestText(t *testing.T) {
	r := play(t, Options{
		Runs: 2, Families: []string{"rare", "soft"},
		Learners: []string{"mixture", "greedy-2", "greedy-2-safe"},
	})
	var text, again bytes.Buffer
	if err := r.Report().Write(&text, false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"2 runs of each family, seed 0", "\n### rare\n", "\n| greedy-2-safe ", "Median share of the best safe peer",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not in\n%s", want, text.String())
		}
	}
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var back Result
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if err := back.Report().Write(&again, false); err != nil || again.String() != text.String() {
		t.Errorf("JSON does not round-trip: %v\n%s", err, again.String())
	}
}
