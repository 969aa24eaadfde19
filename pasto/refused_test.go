package pasto

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/random"
)

// The bad input of the issue, for every algorithm of the catalogue: the exact message, the code,
// and a state that is the same before and after.
func TestBadInputOfEveryAlgorithm(t *testing.T) {
	f, err := NewGoals([]Metric{{Name: "x", Lower: -100, Upper: 100}, {Name: "y", Role: Guardrail}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	ok := []float64{1, 1}
	for _, e := range Algorithms() {
		t.Run(e.Name, func(t *testing.T) {
			_, err := e.New(f, 0, 100, nil)
			same(t, err, "arms: 0: want at least 1")
			_, err = e.New(nil, 2, 100, nil)
			same(t, err, "objective: nil: want an objective")
			_, err = e.New((*Goals)(nil), 2, 100, nil)
			same(t, err, "objective: nil: want an objective")
			_, err = e.New((*Utility)(nil), 2, 100, nil)
			same(t, err, "objective: nil: want an objective")
			l, err := e.New(f, 3, 100, nil)
			if err != nil {
				t.Fatal(err)
			}
			play(t, l, table(t, []float64{2, 0, 1}, []float64{-2, 2, 0}), 2, 40, 1, random.New(1, "test"))
			before, _ := l.MarshalBinary()
			serving := fmt.Sprint(l.Serving(), l.Deployed())
			k := served(l)
			for want, obs := range map[string][]Observation{
				"observations: none in round 41: want at least one group": {},
				"observations[1]: metric 1 is NaN: want a finite number, of size at most 1e+100": {
					{Arm: k, Metrics: ok}, {Arm: k, Metrics: []float64{1, math.NaN()}},
				},
				"observations[0]: metric 0 is -Inf: want a finite number, of size at most 1e+100": {
					{Arm: k, Metrics: []float64{math.Inf(-1), 1}},
				},
				"observations[0]: arm 3 is unknown: want one of 0 to 2": {
					{Arm: 3, Metrics: ok},
				},
				"observations[0]: it has 1 metrics: want 2": {
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
				same(t, l.Observe(obs), want)
				after, _ := l.MarshalBinary()
				if !bytes.Equal(before, after) || fmt.Sprint(l.Serving(), l.Deployed()) != serving {
					t.Errorf("%q changed the state", want)
				}
			}
		})
	}
	same(t, ValidateNames(nil), "arms: none: want at least one")
	same(t, ValidateNames([]string{"a", "b", "a"}), `arms[2]: the name "a" is that of arms[0] too`)
	same(t, ValidateNames([]string{"a", ""}), "arms[1]: it has no name")
}

// same is an error of code bad_input with exactly this text.
func same(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || err.Error() != want || noregret.CodeOf(err) != noregret.BadInput {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// Propensity zero is refused by every algorithm that has an arm of propensity zero, before any
// change.
func TestPropensityZero(t *testing.T) {
	f := goals(t, 5, false, 0)
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
				same(t, l.Observe([]Observation{{Arm: k, Metrics: []float64{1, 1}}}),
					fmt.Sprintf("observations[0]: arm %d has propensity 0 in this round: it cannot have been drawn", k))
				if after, _ := l.MarshalBinary(); !bytes.Equal(before, after) {
					t.Errorf("%s: the state changed", e.Name)
				}
			}
			play(t, l, table(t, []float64{2, 0, 1}, []float64{-2, 2, -9}), 1, 1, .01, r)
		}
	}
	for _, name := range []string{"default", "successive-elimination", "ucb", "thompson"} {
		if !tried[name] {
			t.Errorf("%s never had an arm of propensity zero: the test sees nothing", name)
		}
	}
	// ε = 0: an arm whose share has underflowed to 0.
	o := PaperOptions(2)
	o.Exploration, o.Step, o.Pseudo = Constant(0), Constant(1e6), 0
	for _, form := range []Estimator{IPW(), ArmMeans()} {
		o.Estimator = form
		a := newAlgorithm(t, f, 2, o)
		if err := a.Observe([]Observation{{Arm: 1, Metrics: []float64{5, 5}}}); err != nil {
			t.Fatal(err)
		}
		same(t, a.Observe([]Observation{{Arm: 0, Metrics: []float64{1, 1}}}),
			"observations[0]: arm 0 has propensity 0 in this round: it cannot have been drawn")
	}
}

// Thompson's Serving is what it draws from.
func TestThompsonServing(t *testing.T) {
	l, _ := NewSingle(goals(t, 5, false, 0), 3, Thompson)
	r := random.New(1, "test")
	play(t, l, table(t, []float64{.2, 0, .1}, []float64{1, 1, 1}), 1, 10, 3, r)
	for n := 0; slices.Max(l.Serving()) == 1; n++ {
		if n == 100 {
			t.Fatal("it never serves a mixture: the test sees nothing")
		}
		play(t, l, table(t, []float64{.2, 0, .1}, []float64{1, 1, 1}), 1, 1, 3, r)
	}
	p := append([]float64{}, l.Serving()...)
	count, arms := make([]float64, 3), make([]int, 16)
	for range 100 {
		l.Draw(r, arms)
		for _, k := range arms {
			count[k]++
		}
	}
	for k := range p {
		near(t, "share drawn", count[k]/1600, p[k], 1e-9)
	}
}

// A guardrail that no mixture can satisfy is reported with the least violation: by the exact
// solver, hard or soft, and by the default while it learns.
func TestInfeasibleReported(t *testing.T) {
	const want = `guardrails: infeasible: no mixture holds the guardrails; the least total violation is 1 ("a" by 1)`
	_, err := Maximize(goals(t, 5, true, 3), toy(t), SolverOptions{})
	same(t, err, want)
	same(t, CheckFeasible(goals(t, 5, false, 3), toy(t)), want)
	for _, hard := range []bool{false, true} {
		l, err := NewConfident(goals(t, 5, hard, 3), 2, ConfidentOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if least, sure := l.Infeasible(); least != nil || sure {
			t.Error("it knows before it has seen anything")
		}
		play(t, l, toy(t), 2, 2000, 1, random.New(1, "test"))
		least, sure := l.Infeasible()
		if least == nil || !sure {
			t.Fatalf("hard %v: %v, sure %v", hard, least, sure)
		}
		near(t, "least violation", least.Violation, 1, .1)
		near(t, "arm of least violation", least.Mixture[1], 1, 1e-9)
		near(t, "deployed", l.Deployed()[1], 1, .05)
		l, _ = NewConfident(goals(t, 5, hard, 1), 2, ConfidentOptions{})
		play(t, l, toy(t), 2, 2000, 1, random.New(1, "test"))
		if least, sure := l.Infeasible(); least != nil || sure {
			t.Errorf("hard %v: a guardrail that can be held is reported: %v", hard, least)
		}
	}
}

// cliff is ln(x + 1): its gradient is not finite from −1 down.
func cliff() *Utility {
	return &Utility{
		Name: "log", Metrics: 1, Smooth: 1,
		U: func(x []float64) float64 { return math.Log(x[0] + 1) },
		DU: func(d, x []float64) {
			if d[0] = 1 / (x[0] + 1); x[0] < -1 {
				d[0] = math.NaN()
			}
		},
	}
}

// A gradient of a user's utility that is not finite is refused by every algorithm before any
// change, for every form of the estimate; the message names the utility and the value, and the
// learner goes on as if nothing had been.
func TestUtilityNotFinite(t *testing.T) {
	learners := map[string]func() (Learner, error){}
	for _, e := range Algorithms() {
		learners[e.Name] = func() (Learner, error) { return e.New(cliff(), 2, 100, nil) }
	}
	for _, form := range append(estimators[:1:1], estimators[2:]...) {
		o := PaperOptions(2)
		o.Estimator, o.MinExploration = form, .2
		if form.kind == kindDiscountedIPW || form.kind == kindWindow {
			// fold and refresh often
			o.Estimator.param = map[estimatorKind]float64{kindDiscountedIPW: 1, kindWindow: 7}[form.kind]
		}
		learners[o.Estimator.String()] = func() (Learner, error) { return New(cliff(), 2, o) }
	}
	for name, build := range learners {
		t.Run(name, func(t *testing.T) {
			l, err := build()
			if err != nil {
				t.Fatal(err)
			}
			twin, _ := build()
			r, s := random.New(1, "test"), random.New(1, "test")
			mu := table(t, []float64{.5, .7})
			refused := 0
			for range 150 {
				play(t, l, mu, 2, 1, .01, r)
				play(t, twin, mu, 2, 1, .01, s)
				before, _ := l.MarshalBinary()
				serving := fmt.Sprint(l.Serving(), l.Deployed())
				err := l.Observe([]Observation{
					{Arm: served(l), Metrics: []float64{-1e60}},
					{Arm: served(l), Metrics: []float64{-1e60}},
				})
				if err == nil { // not looked at in this round: go on from where it was
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
				t.Errorf("refused %d times: the test sees little", refused)
			}
			a, _ := l.MarshalBinary()
			b, _ := twin.MarshalBinary()
			if !bytes.Equal(a, b) {
				t.Error("refusals left something behind")
			}
		})
	}
	mu := table(t, []float64{-3, 1})
	_, _, err := BestSingle(cliff(), mu)
	same(t, err,
		`objective: utility "log": it is NaN at arm 0, θ = [-3]: want a finite number, or -Inf where θ is forbidden`)
	_, err = Maximize(cliff(), mu, SolverOptions{})
	same(t, err,
		`objective: utility "log": it is NaN at arm 0, θ = [-3]: want a finite number, or -Inf where θ is forbidden`)
	half := &Utility{Name: "half", Metrics: 1, U: func(x []float64) float64 {
		return x[0]
	}, DU: func(d, _ []float64) { d[0] = math.NaN() }}
	_, err = Maximize(half, mu, SolverOptions{})
	same(t, err, `objective: utility "half": its gradient at θ = [1] has component 0 = NaN: want finite numbers`)
}

// Nil objectives, tables and mixtures are errors and no panics.
func TestNil(t *testing.T) {
	mu := toy(t)
	for _, f := range []Objective{nil, (*Goals)(nil), (*Utility)(nil), reward{}} {
		_, _, e1 := BestSingle(f, mu)
		_, e2 := Maximize(f, mu, SolverOptions{})
		_, e3 := NewConfident(f, 2, ConfidentOptions{})
		_, e4 := NewContinuous(f, []float64{0}, []float64{1}, ContinuousOptions{})
		e5 := CheckConcave(f, []float64{0}, []float64{1}, 1, 1)
		for _, err := range []error{e1, e2, e3, e4, e5} {
			same(t, err, "objective: nil: want an objective")
		}
	}
	_, e1 := MaximizeHard(nil, mu)
	same(t, e1, "objective: nil: want an objective")
	same(t, CheckFeasible(nil, mu), "objective: nil: want an objective")
	f := goals(t, 5, false, 0)
	_, _, err := BestSingle(f, nil)
	same(t, err, "means: none: want a table")
	_, _, err = BestSingle(f, &Table{})
	same(t, err, "means: none: want a table")
	big := toy(t)
	big.Arm(1)[0] = 1e200
	_, err = Maximize(f, big, SolverOptions{})
	same(t, err, "means[0][1]: 1e+200: want a finite number, of size at most 1e+100")
}

// A snapshot belongs to its objective: another threshold, price or utility is refused.
func TestSnapshotObjective(t *testing.T) {
	a, b := goals(t, 5, false, 0), goals(t, 5, false, .1)
	c := goals(t, 6, false, 0)
	for _, e := range Algorithms() {
		l, _ := e.New(a, 2, 100, nil)
		play(t, l, toy(t), 1, 10, 1, random.New(1, "test"))
		data, _ := l.MarshalBinary()
		for _, f := range []Objective{b, c} {
			other, _ := e.New(f, 2, 100, nil)
			if err := other.UnmarshalBinary(data); err == nil || !strings.Contains(err.Error(), "it was taken of") {
				t.Errorf("%s: restored under another objective: %v", e.Name, err)
			}
		}
		again, _ := e.New(goals(t, 5, false, 0), 2, 100, nil)
		if err := again.UnmarshalBinary(data); err != nil {
			t.Errorf("%s: %v", e.Name, err)
		}
	}
	u, v := cliff(), cliff()
	v.Name = "another"
	l, _ := NewConfident(u, 2, ConfidentOptions{})
	data, _ := l.MarshalBinary()
	other, _ := NewConfident(v, 2, ConfidentOptions{})
	if err := other.UnmarshalBinary(data); err == nil {
		t.Error("restored under another utility")
	}
	x, _ := NewContinuous(a, []float64{0}, []float64{1}, ContinuousOptions{})
	y, _ := NewContinuous(b, []float64{0}, []float64{1}, ContinuousOptions{})
	data, _ = x.MarshalBinary()
	if err := y.UnmarshalBinary(data); err == nil {
		t.Error("a continuous learner is restored under another objective")
	}
}

// A relative guardrail takes raw metrics and the control group's: without these nothing is taken,
// and common swings cancel.
func TestRelativeObservations(t *testing.T) {
	f,
		err := NewGoals([]Metric{{Name: "x"}, {
		Name: "y", Role: Guardrail, Relative: true, Threshold: -.02, Lower: 0,
		Upper: 200,
	}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range Algorithms() {
		l, _ := e.New(f, 2, 100, nil)
		same(t, l.Observe([]Observation{{Arm: 0, Metrics: []float64{1, 99}}}),
			`observations[0]: control: none in this round: "y" is relative and needs the control group's metrics`)
		same(t, l.Observe([]Observation{{Arm: 0, Metrics: []float64{1, 99}, Control: []float64{1}}}),
			"observations[0]: control: it has 1 values: want 2")
		same(t, l.Observe([]Observation{{Arm: 0, Metrics: []float64{1, -1}, Control: []float64{1, 100}}}),
			`observations[0]: metrics[1]: "y" is -1: want a number in its range [0, 200]`)
		same(t, l.Observe([]Observation{{Arm: 0, Metrics: []float64{1, 99}, Control: []float64{1, 300}}}),
			`observations[0]: control[1]: "y" is 300: want a number in its range [0, 200]`)
		if l.Rounds() != 0 {
			t.Errorf("%s: a refused round counts", e.Name)
		}
	}
	l, _ := NewConfident(f, 2, ConfidentOptions{})
	r := random.New(1, "test")
	arms := make([]int, 2)
	for range 200 {
		l.Draw(r, arms)
		swing := 50 * r.Float64()
		var obs []Observation
		for _, k := range arms {
			raw := []float64{float64(1 - k), 100 + swing - 4*float64(1-k)}
			obs = append(obs, Observation{Arm: k, Metrics: raw, Control: []float64{0, 100 + swing}})
		}
		if err := l.Observe(obs); err != nil {
			t.Fatal(err)
		}
		if raw := obs[0].Metrics[1]; raw < 90 {
			t.Fatal("the caller's observation was overwritten")
		}
	}
	means, _ := l.Estimate()
	near(t, "contrast of arm 0", means.Arm(0)[1], -4+.02*125, .3) // −4 and 2 % of the control, 100 to 150
}

// What does not hold is not there: nodes of a continuous learner come and go by its search alone.
func TestContinuousMethods(t *testing.T) {
	var l any = &Continuous{}
	if _, ok := l.(Roster); ok {
		t.Error("AddArm")
	}
	if _, ok := l.(interface{ RetireArm(int) error }); ok {
		t.Error("RetireArm")
	}
	if _, ok := l.(Rand); ok {
		t.Error("Float64")
	}
}

// A start is refused where it would be ignored.
func TestStart(t *testing.T) {
	for _, e := range Algorithms() {
		l, err := e.New(goals(t, 5, false, 0), 2, 100, []float64{.9, .1})
		if a, ok := l.(interface{ Exploit() []float64 }); ok {
			near(t, e.Name, a.Exploit()[0], .9, 1e-9)
			continue
		}
		same(t, err, "start: this algorithm has no starting mixture: it serves every arm first; leave it out, or "+
			"take Algorithm 1 or s-scgd")
	}
}

// The catalogue's names are names of arms too: unknown ones are refused with the list.
func TestUnknownAlgorithm(t *testing.T) {
	_, err := NewByName("nobody", goals(t, 5, false, 0), 2, 10, nil)
	var e *noregret.Error
	if !errors.As(err, &e) || !strings.HasPrefix(err.Error(), `algorithm: "nobody" is unknown: want one of default, `) {
		t.Errorf("%v", err)
	}
}

// The extremes of what is taken in: sizes from 1e-9 to 1e15 and values up to 1e100 do not panic,
// and where a round is taken the snapshot can be restored and goes on.
func TestExtremes(t *testing.T) {
	for _, e := range Algorithms() {
		for _, value := range []float64{1, 1e100, -1e100, 1e-100} {
			l, err := e.New(goals(t, 5, false, 0), 3, 100, nil)
			if err != nil {
				t.Fatal(err)
			}
			r := random.New(1, "test")
			taken := 0
			for n := range 120 {
				arms := make([]int, 2)
				l.Draw(r, arms)
				size := []float64{smallestSize, largestSize, 1}[n%3]
				v := value * (r.Float64() - .5)
				err := l.Observe([]Observation{
					{Arm: arms[0], Metrics: []float64{v, -v}, Size: size},
					{Arm: arms[1], Metrics: []float64{value, v}, Size: largestSize},
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
				again, _ := e.New(goals(t, 5, false, 0), 3, 100, nil)
				if err := again.UnmarshalBinary(data); err != nil {
					t.Fatalf("%s, value %v, round %d: %v", e.Name, value, n, err)
				}
				if fmt.Sprint(again.Serving(), again.Deployed()) != fmt.Sprint(l.Serving(), l.Deployed()) {
					t.Fatalf("%s, value %v: restored differently", e.Name, value)
				}
			}
			for _, p := range [][]float64{l.Serving(), l.Deployed()} {
				if err := checkMixture("p", p, 3); err != nil {
					t.Errorf("%s, value %v: %v", e.Name, value, err)
				}
			}
			if taken == 0 {
				t.Errorf("%s, value %v: nothing is taken", e.Name, value)
			}
		}
	}
}
