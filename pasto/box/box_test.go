package box

import (
	"bytes"
	"math"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/confident"
	"github.com/noregret/noregret/pasto/internal/pastotest"
	"github.com/noregret/noregret/pasto/internal/round"
	"github.com/noregret/noregret/pasto/optimum"
)

// wave is a world on [0, 2]×[−1, 1] with gain around one point and the guardrail held around
// another: the best mixture has two atoms.
func wave(x []float64) (gain, guard float64) {
	bump := func(a, b float64) float64 { return math.Exp(-3 * ((x[0]-a)*(x[0]-a) + (x[1]-b)*(x[1]-b))) }
	return 2 * bump(.4, .3), 2.5*bump(1.5, -.3) - 1
}

// The mixture found on a box comes close to the optimum over a fine grid, and beats the best single
// point.
func TestContinuous(t *testing.T) {
	testsize.NoRace(t)
	f := pastotest.Goals(t, 5, false, 0)
	fine := round.NewTable(101*101, 2)
	for i := range 101 {
		for j := range 101 {
			a, b := wave([]float64{float64(i) / 50, float64(j)/50 - 1})
			copy(fine.Arm(i*101+j), []float64{a, b})
		}
	}
	best, err := optimum.Maximize(f, fine, optimum.Options{Tolerance: 1e-6, Iterations: 200_000})
	if err != nil {
		t.Fatal(err)
	}
	_, single, _ := optimum.BestSingle(f, fine)
	c, err := New(f, []float64{0, -1}, []float64{2, 1}, DefaultOptions(2))
	if err != nil {
		t.Fatal(err)
	}
	r := random.New(1, "test")
	step := func(c *Learner, r *random.Source, rounds int) {
		arms, obs := make([]int, 4), make([]pasto.Observation, 4)
		for range rounds {
			c.Draw(r, arms)
			for q, k := range arms {
				a, b := wave(c.Point(k))
				obs[q] = pasto.Observation{Arm: k, Metrics: []float64{a + .5*r.NormFloat64(), b + .5*r.NormFloat64()}}
			}
			if err := c.Observe(obs); err != nil {
				t.Fatal(err)
			}
		}
	}
	step(c, r, 4000)
	saved, err := c.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	state, _ := r.MarshalBinary()
	step(c, r, 8000)
	theta := make([]float64, 2)
	for k, w := range c.Deployed() {
		a, b := wave(c.Point(k))
		theta[0] += w * a
		theta[1] += w * b
	}
	got := f.Value(theta)
	t.Logf("optimum %.4f with %d atoms, single %.4f, found %.4f with %d nodes, gap %.4f", best.Value,
		len(best.Support()), single, got, c.Arms(), c.Gap())
	if got < best.Value-.05 || got < single {
		t.Errorf("found %v, the optimum is %v, the best single point %v", got, best.Value, single)
	}
	if c.Arms() <= 24 || math.IsInf(c.Gap(), 1) {
		t.Errorf("%d nodes, gap %v", c.Arms(), c.Gap())
	}
	again, _ := New(f, []float64{0, -1}, []float64{2, 1}, DefaultOptions(2))
	if err := again.UnmarshalBinary(saved); err != nil {
		t.Fatal(err)
	}
	r2 := random.New(0, "")
	_ = r2.UnmarshalBinary(state)
	step(again, r2, 8000)
	a, _ := c.MarshalBinary()
	b, _ := again.MarshalBinary()
	if !bytes.Equal(a, b) {
		t.Error("a restored learner continues differently")
	}
	for _, box := range [][2][]float64{{{}, {}}, {{0}, {math.Inf(1)}}, {{1}, {0}}, {{0, 0}, {1}}, {{math.NaN()}, {1}}} {
		if _, err := New(f, box[0], box[1], DefaultOptions(2)); err == nil {
			t.Errorf("%v is accepted", box)
		}
	}
}

// In a box of 40 dimensions, of which only the first two matter, the mixture found is better than
// the middle of the box.
func TestContinuousManyDimensions(t *testing.T) {
	testsize.NoRace(t)
	const d = 40
	lower, upper := make([]float64, d), make([]float64, d)
	for i := range upper {
		upper[i] = 1
	}
	f := pastotest.Goals(t, 5, false, 0)
	o := DefaultOptions(d)
	o.Nodes, o.MaxNodes = 60, 120
	c, err := New(f, lower, upper, o)
	if err != nil {
		t.Fatal(err)
	}
	world := func(x []float64) []float64 { return []float64{x[0], .6 - x[1]*x[1]} }
	r := random.New(1, "test")
	arms, obs := make([]int, 10), make([]pasto.Observation, 10)
	for range 2500 {
		c.Draw(r, arms)
		for q, k := range arms {
			v := world(c.Point(k))
			obs[q] = pasto.Observation{Arm: k, Metrics: []float64{
				v[0] + .05*r.NormFloat64(),
				v[1] + .05*r.NormFloat64(),
			}}
		}
		if err := c.Observe(obs); err != nil {
			t.Fatal(err)
		}
	}
	theta := make([]float64, 2)
	for k, w := range c.Deployed() {
		for m, v := range world(c.Point(k)) {
			theta[m] += w * v
		}
	}
	if v := f.Value(theta); v < .75 {
		t.Errorf("found %v, the middle is worth 0.5 and the optimum 1", v)
	}
	if p := firstPrimes(12); p[11] != 37 {
		t.Errorf("%v", p)
	}
}

// The search ends as soon as no candidate promises more than the tolerance. Until then each search
// that promises more adds a node; afterwards there are no searches. Without Stop the search never
// ends.
func TestContinuousTolerance(t *testing.T) {
	f := pastotest.Goals(t, 5, false, 0)
	run := func(tolerance float64, stop bool) *Learner {
		o := DefaultOptions(2)
		o.Nodes, o.MaxNodes, o.Every, o.Tolerance, o.Stop = 6, 40, 20, tolerance, stop
		c, err := New(f, []float64{0, -1}, []float64{2, 1}, o)
		if err != nil {
			t.Fatal(err)
		}
		r := random.New(1, "tolerance")
		for range 75 {
			before, halton, open := c.Arms(), c.s.Halton, !stop || !(c.Gap() <= tolerance)
			playBox(t, c, wave, 20, r)
			if !open && (c.Arms() != before || c.s.Halton != halton) {
				t.Fatalf("tolerance %v: %d nodes, before %d, after a gap of %v", tolerance, c.Arms(), before, c.Gap())
			}
			if open && before < 40 && c.s.Planned && c.s.Halton == halton {
				t.Fatalf("tolerance %v: no search after a gap of %v", tolerance, c.Gap())
			}
		}
		return c
	}
	all := run(0, false)
	if all.Arms() <= 8 {
		t.Errorf("%d nodes: want more than the initial 6", all.Arms())
	}
	for _, stop := range []bool{false, true} {
		if c := run(1e6, stop); c.Arms() != 6 {
			t.Errorf("%d nodes although no candidate promises a million", c.Arms())
		}
	}
	if c := run(.5, true); !c.s.Done || c.Gap() > .5 && c.Arms() >= all.Arms() {
		t.Errorf("a gap of %v with %d nodes, done %v: the test is too weak", c.Gap(), c.Arms(), c.s.Done)
	}
}

// Each option is refused outside its range; no number has a special meaning.
func TestRefusedOptions(t *testing.T) {
	f := pastotest.Goals(t, 5, false, 0)
	for want, change := range map[string]func(*Options){
		"nodes: 0: want at least 1": func(o *Options) { o.Nodes = 0 },
		"max nodes: 15: want from 16, the nodes to start with, to 500": func(o *Options) {
			o.MaxNodes = 15
		},
		"every: 0 rounds: want at least 1":                  func(o *Options) { o.Every = 0 },
		"candidates: -1: want at least 1":                   func(o *Options) { o.Candidates = -1 },
		"tolerance: -1: want a finite number, at least 0":   func(o *Options) { o.Tolerance = -1 },
		"tolerance: NaN: want a finite number, at least 0":  func(o *Options) { o.Tolerance = math.NaN() },
		"tolerance: +Inf: want a finite number, at least 0": func(o *Options) { o.Tolerance = math.Inf(1) },
		"least share: 0.6: want a share from 0 to 0.5":      func(o *Options) { o.LeastShare = .6 },
		"optimism: -1: want a finite number, at least 0":    func(o *Options) { o.Optimism = -1 },
		"explore: NaN: want a finite number, at least 0":    func(o *Options) { o.Explore = math.NaN() },
	} {
		o := DefaultOptions(1)
		change(&o)
		_, err := New(f, []float64{0}, []float64{1}, o)
		pastotest.Same(t, err, want)
	}
	// Learners whose searches stop and learners whose searches continue have different
	// descriptions.
	texts := map[string]bool{}
	for _, stop := range []bool{false, true} {
		for _, tolerance := range []float64{0, 0.5} {
			o := DefaultOptions(1)
			o.Stop, o.Tolerance = stop, tolerance
			l, err := New(f, []float64{0}, []float64{1}, o)
			if err != nil {
				t.Fatal(err)
			}
			texts[l.String()] = true
		}
	}
	if len(texts) != 4 {
		t.Errorf("%d texts of 4 learners: %v", len(texts), texts)
	}
}

// Arguments of wrong length are errors, not panics.
func TestWrongArguments(t *testing.T) {
	f := pastotest.Goals(t, 5, false, 0)
	_, err := optimum.Gap(f, pastotest.Toy(t), []float64{1})
	pastotest.Same(t, err, "mixture: 1 values: want 2")
	_, err = optimum.Gap(f, nil, []float64{1})
	pastotest.Same(t, err, "means: none: want a table")
	_, err = optimum.Gap(nil, pastotest.Toy(t), []float64{1, 0})
	pastotest.Same(t, err, "objective: nil: want an objective")
	_, err = optimum.Gap(pastotest.Goals(t, 5, true, 0), pastotest.Toy(t), []float64{1, 0})
	pastotest.Same(t, err, "objective: a hard guardrail has no gradient: Maximize certifies the gap by "+
		"dual prices")
	pastotest.Same(t, f.Contrast(nil, []float64{1, 1}, nil), "dst: 0 values: want 2")
	forbidden := &pasto.Utility{Name: "wall", Metrics: 2, U: func([]float64) float64 {
		return math.Inf(-1)
	}, DU: func(d, _ []float64) { clear(d) }}
	_, _, err = optimum.BestSingle(forbidden, pastotest.Toy(t))
	pastotest.Same(t, err, `means: utility "wall": -Inf at each of the 2 arms`)
	if _, err := New(f, []float64{-1.7e308}, []float64{1.7e308}, DefaultOptions(1)); err == nil {
		t.Error("a box with an infinite side was accepted")
	}
	_,
		err = pasto.NewGoals([]pasto.Metric{
		{Name: "x"},
		{Name: "y", Role: pasto.Guardrail, Relative: true, Threshold: 1e300},
	}, 0)
	pastotest.Same(t, err,
		`metrics[1]: threshold 1e+300 of "y": want a fraction of the control's value, from -1e+06 to 1e+06`)
}

// absent is an objective that embeds nil goals.
type absent struct{ *pasto.Goals }

// Nil objectives, tables and mixtures are errors, not panics.
func TestNil(t *testing.T) {
	mu := pastotest.Toy(t)
	for _, f := range []pasto.Objective{nil, (*pasto.Goals)(nil), (*pasto.Utility)(nil), absent{}} {
		_, _, e1 := optimum.BestSingle(f, mu)
		_, e2 := optimum.Maximize(f, mu, optimum.DefaultOptions())
		_, e3 := confident.New(f, 2, confident.DefaultOptions())
		_, e4 := New(f, []float64{0}, []float64{1}, DefaultOptions(1))
		e5 := pasto.CheckConcave(f, []float64{0}, []float64{1}, 1, 1)
		for _, err := range []error{e1, e2, e3, e4, e5} {
			pastotest.Same(t, err, "objective: nil: want an objective")
		}
	}
	_, e1 := optimum.MaximizeHard(nil, mu)
	pastotest.Same(t, e1, "objective: nil: want an objective")
	pastotest.Same(t, optimum.CheckFeasible(nil, mu), "objective: nil: want an objective")
	f := pastotest.Goals(t, 5, false, 0)
	_, _, err := optimum.BestSingle(f, nil)
	pastotest.Same(t, err, "means: none: want a table")
	_, _, err = optimum.BestSingle(f, &pasto.Table{})
	pastotest.Same(t, err, "means: none: want a table")
	big := pastotest.Toy(t)
	big.Arm(1)[0] = 1e200
	_, err = optimum.Maximize(f, big, optimum.DefaultOptions())
	pastotest.Same(t, err, "means[0][1]: 1e+200: want a finite number, of size at most 1e+100")
}

// A box learner is not a Roster: only its search adds and retires nodes.
func TestContinuousMethods(t *testing.T) {
	var l any = &Learner{}
	if _, ok := l.(pasto.Roster); ok {
		t.Error("AddArm")
	}
	if _, ok := l.(interface{ RetireArm(int) error }); ok {
		t.Error("RetireArm")
	}
	if _, ok := l.(pasto.Rand); ok {
		t.Error("Float64")
	}
}
