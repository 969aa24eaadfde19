package catalogue

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/ascent"
	"github.com/noregret/noregret/pasto/confident"
	"github.com/noregret/noregret/pasto/internal/check"
	"github.com/noregret/noregret/pasto/internal/pastotest"
	"github.com/noregret/noregret/pasto/optimum"
)

// Every algorithm refuses bad observations, and a refusal changes nothing.
func TestRefusedObservations(t *testing.T) {
	f := pastotest.Goals(t, 5, false, 0)
	ok := []float64{1, 1}
	for _, e := range Algorithms() {
		l, err := e.New(f, 2, 100, nil)
		if err != nil {
			t.Fatal(err)
		}
		pastotest.Play(t, l, pastotest.Toy(t), 2, 20, 1, random.New(1, "test"))
		before, _ := l.MarshalBinary()
		for name, obs := range map[string][]pasto.Observation{
			"empty":        {},
			"unknown":      {{Arm: 2, Metrics: ok}},
			"negative arm": {{Arm: -1, Metrics: ok}},
			"NaN":          {{Arm: 0, Metrics: ok}, {Arm: 1, Metrics: []float64{1, math.NaN()}}},
			"infinite":     {{Arm: 0, Metrics: []float64{math.Inf(-1), 0}}},
			"huge":         {{Arm: 0, Metrics: []float64{1e200, 0}}},
			"short":        {{Arm: 0, Metrics: ok[:1]}},
			"duplicate":    {{Arm: 0, Metrics: ok, Round: 20}},
			"future":       {{Arm: 0, Metrics: ok, Round: 22}},
			"size":         {{Arm: 0, Metrics: ok, Size: -1}},
			"half sized":   {{Arm: 0, Metrics: ok, Size: 5}, {Arm: 1, Metrics: ok}},
		} {
			err := l.Observe(obs)
			if err == nil || noregret.CodeOf(err) != noregret.BadInput {
				t.Errorf("%s: %s: %v", e.Name, name, err)
			}
			if after, _ := l.MarshalBinary(); !bytes.Equal(before, after) {
				t.Errorf("%s: %s changed the state", e.Name, name)
			}
		}
		if err := l.Observe([]pasto.Observation{{Arm: pastotest.Served(l), Metrics: ok, Round: 21}}); err != nil {
			t.Errorf("%s: %v", e.Name, err)
		}
	}
}

// TestBadInputOfEveryAlgorithm gives bad observations to every algorithm of the catalogue. It
// checks the exact message, the code, and that the state is the same before and after.
func TestBadInputOfEveryAlgorithm(t *testing.T) {
	f, err := pasto.NewGoals([]pasto.Metric{{Name: "x", Lower: -100, Upper: 100}, {Name: "y", Role: pasto.Guardrail}},
		0)
	if err != nil {
		t.Fatal(err)
	}
	ok := []float64{1, 1}
	for _, e := range Algorithms() {
		t.Run(e.Name, func(t *testing.T) {
			_, err := e.New(f, 0, 100, nil)
			pastotest.Same(t, err, "arms: 0: want at least 1")
			_, err = e.New(nil, 2, 100, nil)
			pastotest.Same(t, err, "objective: nil: want an objective")
			_, err = e.New((*pasto.Goals)(nil), 2, 100, nil)
			pastotest.Same(t, err, "objective: nil: want an objective")
			_, err = e.New((*pasto.Utility)(nil), 2, 100, nil)
			pastotest.Same(t, err, "objective: nil: want an objective")
			l, err := e.New(f, 3, 100, nil)
			if err != nil {
				t.Fatal(err)
			}
			pastotest.Play(t, l, pastotest.Table(t, []float64{2, 0, 1}, []float64{-2, 2, 0}), 2, 40, 1,
				random.New(1, "test"))
			before, _ := l.MarshalBinary()
			serving := fmt.Sprint(l.Serving(), l.Deployed())
			k := pastotest.Served(l)
			for want, obs := range map[string][]pasto.Observation{
				"observations: none in round 41: at least one group is required": {},
				"observations[1]: metric 1 is NaN: want a finite number, of size at most 1e+100": {
					{Arm: k, Metrics: ok}, {Arm: k, Metrics: []float64{1, math.NaN()}},
				},
				"observations[0]: metric 0 is -Inf: want a finite number, of size at most 1e+100": {
					{Arm: k, Metrics: []float64{math.Inf(-1), 1}},
				},
				"observations[0]: arm 3 is unknown: want one of 0 to 2": {
					{Arm: 3, Metrics: ok},
				},
				"observations[0]: 1 metrics: want 2": {
					{Arm: k, Metrics: ok[:1]},
				},
				`observations[0]: metric "x" is 101: want a number in its range [-100, 100]`: {
					{Arm: k, Metrics: []float64{101, 0}},
				},
				"observations[0]: round 40 is closed already: a duplicate or a late observation, round 41 is running": {
					{Arm: k, Metrics: ok, Round: 40},
				},
				"observations[0]: round 42 is unknown: round 41 is running": {
					{Arm: k, Metrics: ok, Round: 42},
				},
				"observations[0]: 1 variances: want 2, or none": {
					{Arm: k, Metrics: ok, Size: 10, Variances: []float64{1}},
				},
				"observations[0]: variances and no size: want the number of units": {
					{Arm: k, Metrics: ok, Variances: []float64{1, 1}},
				},
				"observations[0]: variance 1 is -1: want a number from 0 to 1e+200, or NaN if it is unknown": {
					{Arm: k, Metrics: ok, Size: 10, Variances: []float64{math.NaN(), -1}},
				},
				"observations[0]: size -1: want 0, or a number from 1e-09 to 1e+15": {
					{Arm: k, Metrics: ok, Size: -1},
				},
				"observations[0]: size 1e+308: want 0, or a number from 1e-09 to 1e+15": {
					{Arm: k, Metrics: ok, Size: 1e308},
				},
				"observations[0]: size 1e-310: want 0, or a number from 1e-09 to 1e+15": {
					{Arm: k, Metrics: ok, Size: 1e-310},
				},
				"observations[1]: size 0 beside 5: give all groups of a round a size, or none": {
					{Arm: k, Metrics: ok, Size: 5}, {Arm: k, Metrics: ok},
				},
			} {
				pastotest.Same(t, l.Observe(obs), want)
				after, _ := l.MarshalBinary()
				if !bytes.Equal(before, after) || fmt.Sprint(l.Serving(), l.Deployed()) != serving {
					t.Errorf("%q changed the state", want)
				}
			}
		})
	}
	pastotest.Same(t, pasto.ValidateNames(nil), "arms: none: at least one is required")
	pastotest.Same(t, pasto.ValidateNames([]string{"a", "b", "a"}), `arms[2]: duplicate name "a": arms[0] has it`)
	pastotest.Same(t, pasto.ValidateNames([]string{"a", ""}), "arms[1]: no name")
}

// Every algorithm refuses an observation of an arm with propensity 0 before any change.
func TestPropensityZero(t *testing.T) {
	f := pastotest.Goals(t, 5, false, 0)
	tried := map[string]bool{}
	for _, e := range Algorithms() {
		l, err := e.New(f, 3, 100, nil)
		if err != nil {
			t.Fatal(err)
		}
		r := random.New(1, "test")
		for range 60 {
			for k, p := range l.Serving() {
				if p != 0 {
					continue
				}
				tried[e.Name] = true
				before, _ := l.MarshalBinary()
				pastotest.Same(t, l.Observe([]pasto.Observation{{Arm: k, Metrics: []float64{1, 1}}}),
					fmt.Sprintf("observations[0]: arm %d has propensity 0 in this round: it cannot have been drawn", k))
				if after, _ := l.MarshalBinary(); !bytes.Equal(before, after) {
					t.Errorf("%s: the state changed", e.Name)
				}
			}
			pastotest.Play(t, l, pastotest.Table(t, []float64{2, 0, 1}, []float64{-2, 2, -9}), 1, 1, .01, r)
		}
	}
	for _, name := range []string{"default", "successive-elimination", "ucb", "thompson"} {
		if !tried[name] {
			t.Errorf("%s never had an arm of propensity zero: the test checks nothing", name)
		}
	}
	// ε = 0: an arm whose share has underflowed to 0.
	o := ascent.PaperOptions(2)
	o.Exploration, o.Step, o.Pseudocount = ascent.Constant(0), ascent.Constant(1e6), 0
	for _, form := range []ascent.Estimator{ascent.IPW(), ascent.ArmMeans()} {
		o.Estimator = form
		a := newAlgorithm(t, f, 2, o)
		if err := a.Observe([]pasto.Observation{{Arm: 1, Metrics: []float64{5, 5}}}); err != nil {
			t.Fatal(err)
		}
		pastotest.Same(t, a.Observe([]pasto.Observation{{Arm: 0, Metrics: []float64{1, 1}}}),
			"observations[0]: arm 0 has propensity 0 in this round: it cannot have been drawn")
	}
}

// Every algorithm, with every estimator, refuses a gradient of a user's utility that is not finite
// before any change. The message names the utility and the value, and the learner continues as if
// the round had not been tried.
func TestUtilityNotFinite(t *testing.T) {
	learners := map[string]func() (pasto.Learner, error){}
	for _, e := range Algorithms() {
		learners[e.Name] = func() (pasto.Learner, error) { return e.New(pastotest.Cliff(), 2, 100, nil) }
	}
	for _, form := range []ascent.Estimator{
		ascent.IPW(), ascent.DoublyRobust(), ascent.Clipped(20), ascent.ImplicitExploration(.01),
		ascent.SelfNormalized(), ascent.ArmMeans(), ascent.DiscountedMeans(.01),
		// These fold their scale and refresh their means often.
		ascent.DiscountedIPW(1), ascent.WindowMeans(7),
	} {
		o := ascent.PaperOptions(2)
		o.Estimator, o.MinExploration = form, .2
		learners[o.Estimator.String()] = func() (pasto.Learner, error) { return ascent.New(pastotest.Cliff(), 2, o) }
	}
	for name, build := range learners {
		if strings.HasPrefix(name, "default") {
			continue // these count the round and keep their mixtures: see TestSolutionThatFails
		}
		t.Run(name, func(t *testing.T) {
			l, err := build()
			if err != nil {
				t.Fatal(err)
			}
			twin, _ := build()
			r, s := random.New(1, "test"), random.New(1, "test")
			mu := pastotest.Table(t, []float64{.5, .7})
			refused := 0
			for range 150 {
				pastotest.Play(t, l, mu, 2, 1, .01, r)
				pastotest.Play(t, twin, mu, 2, 1, .01, s)
				before, _ := l.MarshalBinary()
				serving := fmt.Sprint(l.Serving(), l.Deployed())
				err := l.Observe([]pasto.Observation{
					{Arm: pastotest.Served(l), Metrics: []float64{-1e60}},
					{Arm: pastotest.Served(l), Metrics: []float64{-1e60}},
				})
				if err == nil { // the gradient was not evaluated: undo the round
					if err := l.UnmarshalBinary(before); err != nil {
						t.Fatal(err)
					}
					continue
				}
				refused++
				if s := err.Error(); !strings.Contains(s, `utility "log": `) || !strings.Contains(s, "NaN") ||
					noregret.CodeOf(err) != noregret.BadInput {
					t.Fatalf("%v", err)
				}
				after, _ := l.MarshalBinary()
				if !bytes.Equal(before, after) || fmt.Sprint(l.Serving(), l.Deployed()) != serving {
					t.Fatal("the state changed")
				}
			}
			if refused < 10 {
				t.Errorf("refused only %d times: the test is too weak", refused)
			}
			a, _ := l.MarshalBinary()
			b, _ := twin.MarshalBinary()
			if !bytes.Equal(a, b) {
				t.Error("refusals changed the state")
			}
		})
	}
	mu := pastotest.Table(t, []float64{-3, 1})
	_, _, err := optimum.BestSingle(pastotest.Cliff(), mu)
	pastotest.Same(t, err,
		`objective: utility "log": NaN at arm 0, θ = [-3]: want a finite number, or -Inf where θ is forbidden`)
	_, err = optimum.Maximize(pastotest.Cliff(), mu, optimum.DefaultOptions())
	pastotest.Same(t, err,
		`objective: utility "log": NaN at arm 0, θ = [-3]: want a finite number, or -Inf where θ is forbidden`)
	half := &pasto.Utility{Name: "half", Metrics: 1, U: func(x []float64) float64 {
		return x[0]
	}, DU: func(d, _ []float64) { d[0] = math.NaN() }}
	_, err = optimum.Maximize(half, mu, optimum.DefaultOptions())
	pastotest.Same(t, err,
		`objective: utility "half": its gradient at θ = [1] has component 0 = NaN: want finite numbers`)
}

// A relative guardrail needs the metrics of the arm and of the control group. Without the latter
// the round is refused; with both, common swings cancel.
func TestRelativeObservations(t *testing.T) {
	f,
		err := pasto.NewGoals([]pasto.Metric{{Name: "x"}, {
		Name: "y", Role: pasto.Guardrail, Relative: true, Threshold: -.02, Lower: 0,
		Upper: 200,
	}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range Algorithms() {
		l, _ := e.New(f, 2, 100, nil)
		pastotest.Same(t, l.Observe([]pasto.Observation{{Arm: 0, Metrics: []float64{1, 99}}}),
			`observations[0]: control: none in this round: "y" is relative to the control group's metrics`)
		pastotest.Same(t, l.Observe([]pasto.Observation{{Arm: 0, Metrics: []float64{1, 99}, Control: []float64{1}}}),
			"observations[0]: control: 1 values: want 2")
		pastotest.Same(t,
			l.Observe([]pasto.Observation{{Arm: 0, Metrics: []float64{1, -1}, Control: []float64{1, 100}}}),
			`observations[0]: metrics[1]: "y" is -1: want a number in its range [0, 200]`)
		pastotest.Same(t,
			l.Observe([]pasto.Observation{{Arm: 0, Metrics: []float64{1, 99}, Control: []float64{1, 300}}}),
			`observations[0]: control[1]: "y" is 300: want a number in its range [0, 200]`)
		if l.Rounds() != 0 {
			t.Errorf("%s: a refused round counts", e.Name)
		}
	}
	l, _ := confident.New(f, 2, confident.DefaultOptions())
	r := random.New(1, "test")
	arms := make([]int, 2)
	for range 200 {
		l.Draw(r, arms)
		swing := 50 * r.Float64()
		var obs []pasto.Observation
		for _, k := range arms {
			raw := []float64{float64(1 - k), 100 + swing - 4*float64(1-k)}
			obs = append(obs, pasto.Observation{Arm: k, Metrics: raw, Control: []float64{0, 100 + swing}})
		}
		if err := l.Observe(obs); err != nil {
			t.Fatal(err)
		}
		if raw := obs[0].Metrics[1]; raw < 90 {
			t.Fatal("the caller's observation was overwritten")
		}
	}
	means, _ := l.Estimate()
	// −4 and 2 % of the control, 100 to 150.
	pastotest.Near(t, "contrast of arm 0", means.Arm(0)[1], -4+.02*125, .3)
}

// Extreme observations, with sizes from 1e-9 to 1e15 and values up to 1e100, do not panic. After an
// accepted round the snapshot can be restored and continues.
func TestExtremes(t *testing.T) {
	for _, e := range Algorithms() {
		for _, value := range []float64{1, 1e100, -1e100, 1e-100} {
			l, err := e.New(pastotest.Goals(t, 5, false, 0), 3, 100, nil)
			if err != nil {
				t.Fatal(err)
			}
			r := random.New(1, "test")
			taken := 0
			for n := range 120 {
				arms := make([]int, 2)
				l.Draw(r, arms)
				size := []float64{check.SmallestSize, check.LargestSize, 1}[n%3]
				v := value * (r.Float64() - .5)
				err := l.Observe([]pasto.Observation{
					{Arm: arms[0], Metrics: []float64{v, -v}, Size: size},
					{Arm: arms[1], Metrics: []float64{value, v}, Size: check.LargestSize},
				})
				if err != nil {
					if noregret.CodeOf(err) != noregret.BadInput {
						t.Fatalf("%s: %v", e.Name, err)
					}
					continue
				}
				taken++
				data, err := l.MarshalBinary()
				if err != nil {
					t.Fatal(err)
				}
				if n%20 != 0 {
					continue
				}
				again, _ := e.New(pastotest.Goals(t, 5, false, 0), 3, 100, nil)
				if err := again.UnmarshalBinary(data); err != nil {
					t.Fatalf("%s, value %v, round %d: %v", e.Name, value, n, err)
				}
				if fmt.Sprint(again.Serving(), again.Deployed()) != fmt.Sprint(l.Serving(), l.Deployed()) {
					t.Fatalf("%s, value %v: restored differently", e.Name, value)
				}
			}
			for _, p := range [][]float64{l.Serving(), l.Deployed()} {
				if err := check.Mixture("p", p, 3); err != nil {
					t.Errorf("%s, value %v: %v", e.Name, value, err)
				}
			}
			if taken == 0 {
				t.Errorf("%s, value %v: no round was accepted", e.Name, value)
			}
		}
	}
}

// The default learner counts a round in which its solution fails, keeps its mixtures and returns
// the error.
func TestSolutionThatFails(t *testing.T) {
	l, err := confident.New(pastotest.Cliff(), 2, confident.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	pastotest.Play(t, l, pastotest.Table(t, []float64{.5, .7}), 2, 50, .01, random.New(1, "test"))
	if err := l.SolutionError(); err != nil {
		t.Fatal(err)
	}
	before := fmt.Sprint(l.Deployed())
	for range 100 { // until there is a solution
		if err := l.Observe([]pasto.Observation{
			{Arm: 0, Metrics: []float64{-1e60}}, {Arm: 1, Metrics: []float64{-1e60}},
		}); err != nil {
			t.Fatal(err)
		}
		if l.SolutionError() != nil {
			break
		}
	}
	err = l.SolutionError()
	if err == nil || !strings.Contains(err.Error(), `utility "log": `) || noregret.CodeOf(err) != noregret.BadInput {
		t.Errorf("%v", err)
	}
	if after := fmt.Sprint(l.Deployed()); after != before {
		t.Errorf("deployed %s, then %s", before, after)
	}
}
