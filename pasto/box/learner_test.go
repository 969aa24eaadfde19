package box

import (
	"bytes"
	"math"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/pastotest"
)

// A shock that the groups of a round share, ten times as large as the differences between points,
// is detected. It hides neither the best point nor a guardrail relative to a control group.
func TestCommonShocks(t *testing.T) {
	f := pastotest.One(t, pasto.Metric{Name: "gain"},
		pasto.Metric{Name: "guard", Role: pasto.Guardrail, Relative: true, Threshold: -.1, Hard: true})
	o := few(8, 20)
	c, err := New(f, []float64{0}, []float64{1}, o)
	if err != nil {
		t.Fatal(err)
	}
	r := random.New(1, "shocks")
	for range 400 {
		shock := 3 * stat.Normal(r)
		var obs []pasto.Observation
		control := []float64{0, 10 + shock + .05*stat.Normal(r)}
		for k, p := range c.Serving() {
			if n := math.Round(1000 * p); n > 0 {
				x, e := c.Point(k)[0], 1/math.Sqrt(n)
				obs = append(obs, pasto.Observation{Arm: k, Size: n, Control: control, Metrics: []float64{
					.3*(1-4*(x-.7)*(x-.7)) + shock + e*stat.Normal(r), 10 + shock - 2*x + e*stat.Normal(r),
				}})
			}
		}
		if err := c.Observe(obs); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 2 {
		if _, tau := c.s.Evidence.noise(i); !(tau > 0) {
			t.Errorf("no common shock is detected in metric %d", i)
		}
	}
	at := 0.0
	for k, p := range c.Deployed() {
		at += p * c.Point(k)[0]
	}
	if !(at > .3 && at <= .5) { // the guardrail allows a mean of 0.5
		t.Errorf("the mean point is %v, want near 0.5 and not above", at)
	}
}

// A round without a plan allocates nothing, and a learner that is restored between any two rounds
// continues bit for bit.
func TestRounds(t *testing.T) {
	f := boxGoals(t)
	peak := hardBoxes()[2]
	c, err := New(f, peak.lower, peak.upper, peak.options)
	if err != nil {
		t.Fatal(err)
	}
	r := random.New(1, "rounds")
	for range 60 {
		playBox(t, c, peak.world, 5, r)
		saved, err := c.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		again, _ := New(f, peak.lower, peak.upper, peak.options)
		if err := again.UnmarshalBinary(saved); err != nil {
			t.Fatal(err)
		}
		if b, _ := again.MarshalBinary(); !bytes.Equal(saved, b) {
			t.Fatal("a restored learner's snapshot differs")
		}
		state, _ := r.MarshalBinary()
		copied := random.New(0, "")
		_ = copied.UnmarshalBinary(state)
		playBox(t, c, peak.world, 2, r)
		playBox(t, again, peak.world, 2, copied)
		a, _ := c.MarshalBinary()
		if b, _ := again.MarshalBinary(); !bytes.Equal(a, b) {
			t.Fatal("a restored learner continues differently")
		}
	}
	sum := 0.0
	for _, p := range c.Serving() {
		sum += p
	}
	pastotest.Near(t, "the sum of the shares", sum, 1, 1e-9)
	c.s.Next = math.MaxInt
	obs := []pasto.Observation{{Arm: pastotest.Served(c), Metrics: []float64{.1, .2}}}
	if n := testing.AllocsPerRun(100, func() {
		if err := c.Observe(obs); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations a round", n)
	}
}

// An inconsistent state is refused, and the learner does not change.
func TestDamaged(t *testing.T) {
	f := boxGoals(t)
	peak := hardBoxes()[0]
	for name, damage := range map[string]func(s *state){
		"points":   func(s *state) { s.Points = s.Points[:3] },
		"a point":  func(s *state) { s.Points[1] = []float64{.5, .5} },
		"kernel":   func(s *state) { s.Kernel[0].Length = 99 },
		"mixture":  func(s *state) { s.Down[0] += .5 },
		"evidence": func(s *state) { s.Evidence.Overlap = s.Evidence.Overlap[:2] },
		"share":    func(s *state) { s.Share = math.NaN() },
		"width":    func(s *state) { s.Width = math.NaN() },
	} {
		c, err := New(f, peak.lower, peak.upper, peak.options)
		if err != nil {
			t.Fatal(err)
		}
		playBox(t, c, peak.world, 100, random.New(1, "damage"))
		before, _ := c.MarshalBinary()
		twin, _ := New(f, peak.lower, peak.upper, peak.options)
		if err := twin.UnmarshalBinary(before); err != nil {
			t.Fatal(err)
		}
		damage(&twin.s)
		bad, err := twin.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.UnmarshalBinary(bad); err == nil {
			t.Errorf("%s: accepted", name)
		}
		if after, _ := c.MarshalBinary(); !bytes.Equal(before, after) {
			t.Errorf("%s: the refused state changed the learner", name)
		}
	}
}

// Late observations of nodes that are no longer served still count.
func TestLateObservations(t *testing.T) {
	f := boxGoals(t)
	peak := hardBoxes()[0]
	c, err := New(f, peak.lower, peak.upper, peak.options)
	if err != nil {
		t.Fatal(err)
	}
	playBox(t, c, peak.world, 200, random.New(1, "late"))
	late := -1
	for k, p := range c.Serving() {
		if p == 0 && c.s.Evidence.Count[k] > 0 {
			late = k
		}
	}
	if late < 0 {
		t.Fatalf("every node is served: %v", c.Serving())
	}
	before := c.s.Evidence.Count[late]
	if err := c.Observe([]pasto.Observation{{Arm: late, Metrics: []float64{1, 1}}}); err != nil {
		t.Fatal(err)
	}
	if c.s.Evidence.Count[late] != before+1 {
		t.Error("the observation does not count")
	}
	if err := c.Observe([]pasto.Observation{{Arm: c.Arms(), Metrics: []float64{1, 1}}}); err == nil {
		t.Error("an unknown node is accepted")
	}
}
