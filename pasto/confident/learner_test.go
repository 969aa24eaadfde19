package confident

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/pastotest"
	"github.com/noregret/noregret/pasto/optimum"
)

// TestRefusedOptions: an option out of its range is refused.
func TestRefusedOptions(t *testing.T) {
	f := pastotest.Goals(t, 5, false, 0)
	for name, change := range map[string]func(o *Options){
		"optimism":         func(o *Options) { o.Optimism = math.Inf(1) },
		"caution":          func(o *Options) { o.Caution = math.NaN() },
		"hard caution":     func(o *Options) { o.HardCaution = -1 },
		"share":            func(o *Options) { o.Share = 1.5 },
		"decay":            func(o *Options) { o.Decay = -1 },
		"floor":            func(o *Options) { o.Floor = 2 },
		"change threshold": func(o *Options) { o.ChangeThreshold = math.NaN() },
		"options":          func(o *Options) { *o = Options{} },
	} {
		o := DefaultOptions()
		change(&o)
		_, err := New(f, 2, o)
		if e, ok := errors.AsType[*noregret.Error](err); !ok || e.Code != noregret.BadInput || e.Place != name {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestExplored: the shares of exploration are those of the package's formula. Up to four arms they
// do not depend on their number.
func TestExplored(t *testing.T) {
	for arms, many := range map[int]float64{2: 1, 4: 1, 5: math.Sqrt(1.25), 100: 5} {
		l, err := New(pastotest.One(t, pasto.Metric{Name: "x"}), arms, DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range []float64{0, 1e-9, .0004, .004, .03, 1} {
			l.s.Width = w
			share, spread := l.explored()
			pastotest.Near(t, "share", share, min(.5, 5*math.Pow(w, 2./3)*many), 1e-12)
			pastotest.Near(t, "what goes to all arms", spread, min(share/2, .15, 2.5*math.Pow(w, 2./3)/many), 1e-12)
		}
	}
}

// TestSolvesWhereDataDouble: there is a solution in a round in which the size of an arm of p⁺
// reaches or passes a power of two, and none where that of another arm does.
func TestSolvesWhereDataDouble(t *testing.T) {
	for arm, want := range [][]float64{nil, {2, 4, 8, 16, 131}} {
		o := DefaultOptions()
		o.Floor, o.ChangeThreshold = .1, 0 // both arms are served in every round
		l, err := New(pastotest.One(t, pasto.Metric{Name: "x"}), 2, o)
		if err != nil {
			t.Fatal(err)
		}
		play := func(arm int, size float64) {
			err := l.Observe([]pasto.Observation{{Arm: arm, Size: size, Metrics: []float64{float64(arm)}}})
			if err != nil {
				t.Fatal(err)
			}
		}
		play(0, 1)
		play(1, 1)
		const never = 1 << 30
		var got []float64
		for n, size := range []float64{1, 1, 1, 2, 2, 7, 1, 115} {
			l.s.Next, l.s.Up[0], l.s.Up[1] = never, 0, 1
			if n < 2 { // until no arm has few rounds
				play(1-arm, .01)
			}
			l.s.Next, l.s.Up[0], l.s.Up[1] = never, 0, 1
			if play(arm, size); l.s.Next != never {
				got = append(got, l.s.Sums.Weight[arm])
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("arm %d: solutions at sizes of %v, want %v", arm, got, want)
		}
	}
}

// The default finds the optimum without noise, does not depend on units, and comes and goes with
// arms.
func TestLearner(t *testing.T) {
	mu := pastotest.Toy(t)
	l, err := New(pastotest.Goals(t, 5, false, 0), 2, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	pastotest.Play(t, l, mu, 1, 20, 0, random.New(1, "test"))
	pastotest.Near(t, "noiseless optimum", l.Deployed()[0], .5125, 1e-4)

	// The same game in other units (x in thousandths, y in dozens, λ to match) is played the same
	// way, by powers of two exactly.
	scaled,
		err := pasto.NewGoals([]pasto.Metric{
		{Name: "x", Weight: 1 << 10},
		{Name: "y", Role: pasto.Guardrail, Lambda: 5.0 / 64},
	}, 0)
	if err != nil {
		t.Fatal(err)
	}
	a, _ := New(pastotest.Goals(t, 5, false, 0), 2, DefaultOptions())
	b, _ := New(scaled, 2, DefaultOptions())
	r, s := random.New(3, "test"), random.New(3, "test")
	noise := random.New(4, "test")
	arms := make([]int, 2)
	for range 500 {
		a.Draw(r, arms)
		var x, y []pasto.Observation
		for _, k := range arms {
			u, v := mu.Arm(k)[0]+noise.NormFloat64(), mu.Arm(k)[1]+noise.NormFloat64()
			x = append(x, pasto.Observation{Arm: k, Metrics: []float64{u, v}})
			y = append(y, pasto.Observation{Arm: k, Metrics: []float64{u / (1 << 10), v * 8}})
		}
		b.Draw(s, arms)
		if arms[0] != x[0].Arm || arms[1] != x[1].Arm {
			t.Fatal("units change the draws")
		}
		if err := errors.Join(a.Observe(x), b.Observe(y)); err != nil {
			t.Fatal(err)
		}
	}
	pastotest.Near(t, "units", b.Deployed()[0], a.Deployed()[0], 1e-9)

	k, _ := a.AddArm()
	if a.Serving()[k] < .3 || a.Deployed()[k] != 0 {
		t.Errorf("a new arm is served %v, deployed %v", a.Serving()[k], a.Deployed()[k])
	}
	pastotest.Play(t, a, pastotest.Table(t, []float64{2, 0, 3}, []float64{-2, 2, 1}), 2, 1500, 1, random.New(5, "test"))
	if a.Deployed()[k] < .7 { // the new arm dominates, with y to spare for some of the first
		t.Errorf("the better new arm is not found: %v", a.Deployed())
	}
	if err := a.RetireArm(k); err != nil || a.Serving()[k] != 0 {
		t.Error(err, a.Serving())
	}
	data, _ := a.MarshalBinary()
	b, _ = New(pastotest.Goals(t, 5, false, 0), 2, DefaultOptions())
	if err := b.UnmarshalBinary(data); err != nil || b.Arms() != 3 {
		t.Error("arms are lost", err)
	}

	// All known arms retired: the new one is all there is.
	n, _ := a.AddArm()
	if err := errors.Join(a.RetireArm(0), a.RetireArm(1)); err != nil {
		t.Fatal(err)
	}
	if a.Serving()[n] != 1 || a.Deployed()[n] != 1 || a.RetireArm(n) == nil {
		t.Errorf("serving %v, deployed %v", a.Serving(), a.Deployed())
	}
	pastotest.Play(t, a, pastotest.Table(t, []float64{0, 0, 0, 1}, []float64{0, 0, 0, 1}), 2, 50, 1, r)
	pastotest.Near(t, "the last arm", a.Deployed()[n], 1, 0)
}

// Unchanged means raise no alarm in 200,000 observations of heavy noise; a change of half a
// standard deviation does, soon.
func TestFalseAlarms(t *testing.T) {
	l, _ := New(pastotest.Goals(t, 5, false, 0), 2, DefaultOptions())
	r := random.New(1, "test")
	pastotest.Play(t, l, pastotest.Toy(t), 4, 50_000, 5, r)
	if l.Changes() != 0 {
		t.Errorf("%d false alarms", l.Changes())
	}
	pastotest.Play(t, l, pastotest.Table(t, []float64{2, 0}, []float64{-2, -.5}), 4, 1500, 5, r)
	if l.Changes() == 0 {
		t.Error("a change is not noticed")
	}
}

// The zero options are refused: DefaultOptions are those to start from.
func TestZeroOptions(t *testing.T) {
	f := pastotest.Goals(t, 5, false, 0)
	learn := func(o Options) *Learner {
		l, err := New(f, 2, o)
		if err != nil {
			t.Fatal(err)
		}
		pastotest.Play(t, l, pastotest.Toy(t), 2, 200, 1, random.New(1, "zero"))
		return l
	}
	if _, err := New(f, 2, Options{}); noregret.CodeOf(err) != noregret.BadInput {
		t.Errorf("the zero options are taken: %v", err)
	}
	o := DefaultOptions()
	o.Caution = 0
	none := learn(o)
	means, _ := none.Estimate()
	best, err := optimum.Maximize(f, means, optimum.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	theta := make([]float64, 2)
	means.Mean(theta, none.Deployed())
	if v := f.Value(theta); math.Abs(v-best.Value) > .02 {
		t.Errorf("without caution %v is deployed, the plug-in optimum is %v", v, best.Value)
	}
}
