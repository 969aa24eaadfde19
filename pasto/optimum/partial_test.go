package optimum

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/instance"
	"github.com/noregret/noregret/pasto/internal/pastotest"
)

// Solutions of problems of up to 7.5 million numbers are as exact as can be, and larger ones take
// turns.
func TestStepsOfLargeProblems(t *testing.T) {
	for _, c := range [][3]int{
		{1, 1, 400},
		{100, 3, 400},
		{75_000, 100, 400},
		{100_000, 100, 300},
		{1_000_000, 3, 400},
		{1_000_000, 100, 30},
		{10_000_000, 100, 30},
	} {
		if n := steps(c[0], c[1]); n != c[2] {
			t.Errorf("%d arms, %d metrics: %d passes, want %d", c[0], c[1], n, c[2])
		}
	}
}

// A learner whose solutions end early goes on from where they ended: it comes to the mixture of one
// that is not cut.
func TestSolutionsGoOn(t *testing.T) {
	const arms, metrics = 400, 40
	list := []pasto.Metric{{Name: "x"}}
	for i := 1; i < metrics; i++ {
		list = append(list, pasto.Metric{Name: fmt.Sprint("y", i), Role: pasto.Guardrail, Threshold: -.5})
	}
	f := pastotest.One(t, list...)
	means, err := instance.Uniform(arms, metrics, 1)
	if err != nil {
		t.Fatal(err)
	}
	s := NewSolver(f, means)
	whole, cut := slices.Repeat([]float64{1. / arms}, arms), slices.Repeat([]float64{1. / arms}, arms)
	s.SolveToTolerance(whole, 1e-6, solverSteps)
	passes := s.Passes()
	turns, worth := 0, func(p []float64) float64 {
		theta := make([]float64, metrics)
		means.Mean(theta, p)
		return f.Value(theta)
	}
	for want := worth(whole); worth(cut) < want-1e-6*math.Abs(want) && turns < 100; turns++ {
		s.SolveToTolerance(cut, 1e-6, 2)
	}
	if passes < 6 || turns < 3 || turns > passes {
		t.Errorf("%d passes, or %d turns of 2", passes, turns)
	}
}

// Of single arms too one that holds the guardrails by their slack holds them.
func TestSlackOfSingleArms(t *testing.T) {
	g := pastotest.One(t, pasto.Metric{Name: "x"},
		pasto.Metric{Name: "y", Role: pasto.Guardrail, Threshold: .3, Slack: .05})
	if e := leastSingle(g, pastotest.Table(t, []float64{1, 2}, []float64{.1, .28})); e != nil {
		t.Error(e)
	}
	if e := leastSingle(g, pastotest.Table(t, []float64{1, 2}, []float64{.1, .2})); e == nil ||
		e.Mixture[1] != 1 || math.Abs(e.Violation-.1) > 1e-12 {
		t.Error(e)
	}
}

// A solution on the usable arms is that of a table of these arms alone, whatever the others are: in
// value by [Maximize], in what holds, and in the least violation where nothing holds.
func TestPartialIsTheProblemOfTheUsableArms(t *testing.T) {
	for seed := range uint64(60) {
		r := random.New(seed, "partial")
		hard, limit := seed%2 == 0, r.Float64()*1.2
		g := pastotest.Goals(t, 3, hard, limit)
		w := &Partial{}
		w.Reset(g, 6)
		part := pastotest.Table(t, []float64{0}, []float64{0})
		part.Reset(0, 2)
		for k := range 6 {
			row := w.Table.Arm(k)
			row[0], row[1] = r.Float64(), r.Float64()
			if w.Usable[k] = k == 2 || r.Float64() < .6; w.Usable[k] {
				part.Append(row)
			} else {
				row[0], row[1] = math.NaN(), math.NaN()
			}
		}
		p := []float64{.2, .2, .2, .2, .1, .1}
		feasible := w.Maximize(p)
		if w.Err != nil {
			t.Fatal(w.Err)
		}
		theta, sum := make([]float64, 2), 0.0
		for k, v := range p {
			if sum += v; !w.Usable[k] && v != 0 {
				t.Fatalf("seed %d: %v on an arm that is not usable", seed, v)
			} else if w.Usable[k] {
				theta[0], theta[1] = theta[0]+v*w.Table.Arm(k)[0], theta[1]+v*w.Table.Arm(k)[1]
			}
		}
		pastotest.Near(t, "sum", sum, 1, 1e-12)
		want, err := Maximize(g, part, DefaultOptions())
		if feasible != (err == nil) {
			t.Fatalf("seed %d: feasible %v, and %v", seed, feasible, err)
		}
		if feasible {
			pastotest.Near(t, "value", g.Reward(theta), want.Value, 1e-5)
			pastotest.Near(t, "the value that it states", w.Value, want.Value, 1e-5)
		}
		least, exact := w.Infeasible(g)
		wanted := CheckFeasible(g, part)
		if !exact || (least == nil) != (wanted == nil) {
			t.Fatalf("seed %d: %v %v, want %v", seed, least, exact, wanted)
		}
		if least == nil {
			continue
		}
		best := math.Inf(1) // one guardrail: a single arm has the least violation
		for k := range part.Arms() {
			best = min(best, g.Metrics()[1].Violation(part.Arm(k)[1]))
		}
		pastotest.Near(t, "least violation", least.Violation, best, 1e-9)
		if hard {
			pastotest.Near(t, "violation of the solution", g.Metrics()[1].Violation(theta[1]), best, 1e-9)
		}
	}
}
