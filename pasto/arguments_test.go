package pasto

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/noregret/noregret/internal/random"
)

// A schedule of one's own that leaves its range in some round is an error then, and nothing
// changes: it is neither clamped nor found in the middle of the round.
func TestScheduleOutOfRange(t *testing.T) {
	above := func(t int) float64 {
		if t == 7 {
			return 1.5
		}
		return .1
	}
	f := goals(t, 5, false, 0)
	for _, c := range []struct {
		want  string
		round int // that is refused
		make  func() (Learner, error)
	}{
		{"exploration: func(bad) is NaN in round 7: want a finite number from 0 to 1", 6, func() (Learner, error) {
			o := PaperOptions(2)
			o.Exploration = onlyBadAt(7)
			return New(f, 2, o)
		}},
		{"exploration: func(above) is 1.5 in round 7: want a finite number from 0 to 1", 6, func() (Learner, error) {
			return NewSCGD(f, 2, SCGDOptions{Exploration: ScheduleFunc("above", above)})
		}},
		{"step: func(bad) is NaN in round 7: want a finite number from 0 to +Inf", 7, func() (Learner, error) {
			o := PaperOptions(2)
			o.Step = onlyBadAt(7)
			return New(f, 2, o)
		}},
		{"track: func(above) is 1.5 in round 7: want a finite number from 0 to 1", 7, func() (Learner, error) {
			return NewSCGD(f, 2, SCGDOptions{Track: ScheduleFunc("above", above)})
		}},
	} {
		l, err := c.make()
		if err != nil {
			t.Fatal(err)
		}
		play(t, l, toy(t), 2, c.round-1, .1, random.New(1, "schedule"))
		before, _ := l.MarshalBinary()
		same(t, l.Observe([]Observation{{Arm: 0, Metrics: []float64{1, 1}}}), c.want)
		if after, _ := l.MarshalBinary(); !bytes.Equal(before, after) || l.Rounds() != c.round-1 {
			t.Errorf("%s: the state changed", c.want)
		}
	}
	if v := (Schedule{}).At(1); v == v {
		t.Errorf("the zero schedule has the value %v", v)
	}
	if v := PaperExploration().At(0); v == v {
		t.Errorf("round 0 has the value %v", v)
	}
}

// A horizon below one round is refused where the schedule needs one, and is nothing to the others.
func TestHorizon(t *testing.T) {
	f := goals(t, 5, false, 0)
	for _, e := range Algorithms() {
		for rounds, want := range map[int]string{
			0:       "rounds: 0: this algorithm's step is 1/√T: want a horizon T of at least 1 round",
			-7:      "rounds: -7: this algorithm's step is 1/√T: want a horizon T of at least 1 round",
			1:       "",
			1 << 30: "",
		} {
			l, err := NewByName(e.Name, f, 2, rounds, nil)
			if want != "" && e.Name == "theorem" {
				same(t, err, want)
			} else if err != nil || l.Arms() != 2 {
				t.Errorf("%s, %d rounds: %v", e.Name, rounds, err)
			}
		}
	}
	for _, rounds := range []int{0, -1} {
		if _, err := New(f, 2, TheoremOptions(1, rounds)); err == nil {
			t.Errorf("the theorem's options for %d rounds are taken", rounds)
		}
	}
}

// A share of 0 to start from is refused: with ε = 0 the arm would have a propensity of nothing.
func TestStartOfNothing(t *testing.T) {
	for _, explore := range []Schedule{Constant(0), PaperExploration()} {
		o := PaperOptions(2)
		o.Exploration, o.Start = explore, []float64{1, 0}
		_, err := New(goals(t, 5, false, 0), 2, o)
		same(t, err, "start[1]: 0: want a share of at least 1e-300, as an arm without one would never be found by "+
			"steps that multiply")
	}
}

// What is not concave, not finite or no box is found.
func TestCheckConcaveFinds(t *testing.T) {
	square := &Utility{Name: "square", Metrics: 1, U: func(x []float64) float64 {
		return x[0] * x[0]
	}, DU: func(d, x []float64) { d[0] = 2 * x[0] }}
	broken := &Utility{Name: "broken", Metrics: 1, U: func(x []float64) float64 {
		return math.Sqrt(x[0])
	}, DU: func(d, x []float64) { d[0] = 1 }}
	for _, c := range []struct {
		f            Objective
		lower, upper float64
		n            int
		want         string
	}{
		{square, -1, 1, 100, "it is not concave"},
		{square, 0, 1e-5, 100, "it is not concave"},
		{square, 1, -1, 100, "box[0]: [1, -1]: want sides in order"},
		{square, -1e308, 1e308, 100, "box[0]: [-1e+308, 1e+308]: want sides in order, of size at most 1e+100"},
		{square, 0, 1, 0, "n: 0: want at least one pair of points"},
		{broken, -2, -1, 10, `utility "broken": it is NaN at`},
		{goals(t, 5, false, 0), 0, 1, 1, "lower: it has 1 values: want 2"},
	} {
		err := CheckConcave(c.f, []float64{c.lower}, []float64{c.upper}, c.n, 1)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("[%v, %v]: %v, want %s", c.lower, c.upper, err, c.want)
		}
	}
	for _, g := range []*Goals{goals(t, 5, false, 0), goals(t, 1e-6, false, 0), goals(t, 1e6, false, 0)} {
		for _, side := range []float64{1e-6, 1, 1e6} {
			if err := CheckConcave(g, []float64{-side, -side}, []float64{side, side}, 2000, 1); err != nil {
				t.Errorf("%v on ±%v: %v", g, side, err)
			}
		}
	}
}

// Goals far from 0 are what they say, whatever rounding does to their gradients; a constant that is
// too small by a hundredth is still found there, and constants that are no bounds are refused.
func TestCheckConcaveFarAway(t *testing.T) {
	for _, far := range []float64{1e3, 1e6, 1e9, -1e12} {
		for _, lambda := range []float64{1e-3, 5, 1e6} {
			g := goals(t, lambda, false, far)
			lower, upper := []float64{far - 1e-3, far - 1e-3}, []float64{far + 1e-3, far + 1e-3}
			if err := CheckConcave(g, lower, upper, 2000, 1); err != nil {
				t.Errorf("λ = %v: %v", lambda, err)
			}
			if err := CheckConcave(goals(t, lambda, false, far/3+1.7e9), lower, upper, 2000, 1); err != nil {
				t.Errorf("λ = %v, far from the threshold: %v", lambda, err)
			}
			lower, upper = []float64{far - 1e9, far - 1e9}, []float64{far + 1e9, far + 1e9}
			if err := CheckConcave(g, lower, upper, 2000, 1); err != nil {
				t.Errorf("λ = %v: %v", lambda, err)
			}
		}
	}
	steep := &Utility{
		Name: "steep", Metrics: 1, Smooth: 1.98,
		U:  func(x []float64) float64 { return -(x[0] - 1e6) * (x[0] - 1e6) },
		DU: func(d, x []float64) { d[0] = -2 * (x[0] - 1e6) },
	}
	if err := CheckConcave(steep, []float64{1e6 - 1}, []float64{1e6 + 1}, 100, 1); err == nil ||
		!strings.Contains(err.Error(), "above the stated") {
		t.Errorf("%v", err)
	}
	for _, c := range [][2]float64{{math.NaN(), 2}, {2, math.NaN()}, {-1, 2}, {2, -1}} {
		f := constants{steep, c}
		err := CheckConcave(f, []float64{1e6}, []float64{1e6 + 1}, 10, 1)
		if err == nil || !strings.Contains(err.Error(), "its constants are") {
			t.Errorf("%v: %v", c, err)
		}
	}
}

// constants is an objective that says these of itself.
type constants struct {
	*Utility
	c [2]float64
}

func (f constants) Constants(_, _ []float64) (lipschitz, smooth float64) { return f.c[0], f.c[1] }

// Wrong arguments of functions that take vectors are errors, not panics.
func TestWrongArguments(t *testing.T) {
	f := goals(t, 5, false, 0)
	_, err := Gap(f, toy(t), []float64{1})
	same(t, err, "mixture: it has 1 values: want 2")
	_, err = Gap(f, nil, []float64{1})
	same(t, err, "means: none: want a table")
	_, err = Gap(nil, toy(t), []float64{1, 0})
	same(t, err, "objective: nil: want an objective")
	_, err = Gap(goals(t, 5, true, 0), toy(t), []float64{1, 0})
	same(t, err, "objective: it has a hard guardrail, which has no gradient: Maximize certifies such by dual prices")
	same(t, f.Contrast(nil, []float64{1, 1}, nil), "dst: it has room for 0 values: want 2")
	forbidden := &Utility{Name: "wall", Metrics: 2, U: func([]float64) float64 {
		return math.Inf(-1)
	}, DU: func(d, _ []float64) { clear(d) }}
	_, _, err = BestSingle(forbidden, toy(t))
	same(t, err, `means: utility "wall": it is -Inf, which is forbidden, at each of the 2 arms`)
	if _, err := NewContinuous(f, []float64{-1.7e308}, []float64{1.7e308}, ContinuousOptions{}); err == nil {
		t.Error("a box whose side is not finite")
	}
	_, err = NewGoals([]Metric{{Name: "x"}, {Name: "y", Role: Guardrail, Relative: true, Threshold: 1e300}}, 0)
	same(t, err, `metrics[1]: threshold 1e+300 of "y": want a fraction of the control's value, of size at most 1e+06`)
}

// An option of 0 is its default, and a negative one none.
func TestZeroAndNegativeOptions(t *testing.T) {
	f := goals(t, 5, false, 0)
	learn := func(o ConfidentOptions) *Confident {
		l, err := NewConfident(f, 2, o)
		if err != nil {
			t.Fatal(err)
		}
		play(t, l, toy(t), 2, 200, 1, random.New(1, "zero"))
		return l
	}
	zero := learn(ConfidentOptions{})
	said := learn(ConfidentOptions{Optimism: 2, Caution: .5, HardCaution: 2, Explore: 5, Shrink: 2, Alarm: 6})
	if zero.String() != said.String() || zero.Deployed()[0] != said.Deployed()[0] {
		t.Errorf("%s is not %s", zero, said)
	}
	none := learn(ConfidentOptions{Caution: -1, Shrink: -1})
	means, _ := none.Estimate()
	best, err := Maximize(f, means, SolverOptions{})
	if err != nil {
		t.Fatal(err)
	}
	theta := make([]float64, 2)
	means.Mean(theta, none.Deployed())
	if v := f.Value(theta); math.Abs(v-best.Value) > .02 {
		t.Errorf("without caution %v is deployed, the plug-in optimum is %v", v, best.Value)
	}
}
