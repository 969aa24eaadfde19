package guard

import (
	"math"
	"testing"

	"github.com/noregret/noregret/experiment/join"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
)

// contrastCase is a metric and a relative limit that an arm holds exactly where its rate is good of
// a control with the rate common, and breaks where it is bad. Both are rates of bad values.
type contrastCase struct {
	metric, limit     string
	common, good, bad float64
	value             [2]float64 // of a unit without and with a bad value
}

var contrastCases = []contrastCase{
	{"kind: count, default: 0", "max_change: 0", 0.02, 0.02, 0.2, [2]float64{0, 1}},
	{"kind: count, default: 0", "max_change: 1", 0.02, 0.04, 0.4, [2]float64{0, 1}},
	{"range: [0, 2], default: 0", "max_change: 0.5", 0.2, 0.3, 0.9, [2]float64{0, 2}},
	{"range: [2, 4], default: 2", "max_change: 0.1", 0.1, 0.21, 0.7, [2]float64{2, 4}},
	{"range: [0, 1], default: 1", "min_change: -0.05", 0.02, 0.069, 0.4, [2]float64{1, 0}},
}

// play lets units of a version come, whose bad values arrive late, and reports whether the arm a
// was beyond the limit at any time. The rates are those of the control and of a. Then the version
// closes, and the next one has no units yet.
func (c *contrastCase) play(x *States, e *Evidence, rng *random.Source, units int, common, rate float64) bool {
	type report struct {
		slot int
		at   float64
	}
	of := e.Joined.Running()
	of.Early = [][]join.Early{make([]join.Early, 2), make([]join.Early, 2)}
	low, width, _ := join.EarlyScale(e.Definition, 1)
	add := func(slot int, value float64) {
		s, scaled := &of.Early[slot][1], (value-low)/width
		s.N++
		s.Sum += min(scaled, 1)
		s.Uncut += scaled
	}
	var waiting []report
	for i := range units {
		u, slot, r := rng.Float64(), 1, rate
		if u < of.Mixture[0] {
			slot, r = 0, common
		}
		of.Stats[slot].Units++
		if rng.Float64() >= r {
			add(slot, c.value[0])
		} else {
			waiting = append(waiting, report{slot, float64(i) - 30*math.Log(1-rng.Float64())})
		}
		for k := 0; k < len(waiting); k++ {
			if w := waiting[k]; w.at <= float64(i) {
				add(w.slot, c.value[1])
				waiting = append(waiting[:k], waiting[k+1:]...)
				k--
			}
		}
		if x.beyondEarly(e, 0, 1, 1) {
			return true
		}
	}
	x.Close(e, &join.Closed{Version: of, Metrics: e.Definition.MetricIndices(), Last: true})
	of.Early, of.Stats[0].Units, of.Stats[1].Units = nil, 0, 0
	return false
}

// TestEarlyContrastHolds checks that an arm which just holds a limit is ever beyond it in at most
// the part of alpha that is its own, with bad values that arrive late, shares that change with the
// version and a crash of all arms, and that an arm which crashes is found.
func TestEarlyContrastHolds(t *testing.T) {
	testsize.NoRace(t)
	t.Parallel()
	runs := testsize.Of(1000, 100)
	for _, c := range contrastCases {
		d := parse(t, "name: x\narms: [{name: c, value: 0}, {name: a, value: 1}, {name: b, value: 2}]\n"+
			"control: {arm: c, share: 0.4}\nmetrics: [{name: s, range: [0, 1]}, {name: m, "+c.metric+
			"}]\nobjective: {goals: [{metric: s}]}\nguardrails: [{metric: m, "+c.limit+
			", hard: false, action: shrink, alpha: 0.5}]\n")
		e := evidenceOf(t, d, []float64{0.4, 0.3, 0.3})
		x := New(d, 1, 0)
		alpha := e.earlyAlpha(&d.Guardrails[0], 1)
		if want := 0.5 * 0.8 * 0.8 / 2; math.Abs(alpha-want) > 1e-12 {
			t.Fatalf("alpha is %v, want %v", alpha, want)
		}
		wrong, found := 0, 0
		for seed := range uint64(runs) {
			rng, out := random.New(seed, c.limit), false
			x.begin(d, 1)
			of := e.Joined.Running()
			for _, share := range []float64{0.5, 0.1, 0.8} {
				of.Mixture[0], of.Mixture[1], of.Mixture[2] = 1-share, share, 0
				common, rate := c.common, c.good
				if share == 0.1 && c.limit[:3] == "max" && c.value[0] == 0 { // all arms crash
					common, rate = common*1.5, rate*1.5
				}
				out = out || c.play(&x, e, rng, 1000, common, rate)
			}
			if out {
				wrong++
			}
			x.begin(d, 1)
			of.Early, of.Stats[0].Units, of.Stats[1].Units = nil, 0, 0
			of.Mixture[0], of.Mixture[1] = 0.5, 0.5
			if c.play(&x, e, rng, 2000, c.common, c.bad) {
				found++
			}
		}
		n := float64(runs)
		if most := n*alpha + 3*math.Sqrt(n*alpha*(1-alpha)); float64(wrong) > most {
			t.Errorf("%s, %s: beyond it in %d of %d runs, want at most %v of them", c.metric, c.limit, wrong, runs,
				alpha)
		}
		if float64(found) < 0.9*n {
			t.Errorf("%s, %s: an arm that crashes is found in %d of %d runs", c.metric, c.limit, found, runs)
		}
	}
}
