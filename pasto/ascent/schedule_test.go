package ascent

import (
	"bytes"
	"math"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/pastotest"
)

// A user's schedule that leaves its range is an error in that round, and the state does not change.
// The value is not clamped, and the error does not come in the middle of a round.
func TestScheduleOutOfRange(t *testing.T) {
	above := func(t int) float64 {
		if t == 7 {
			return 1.5
		}
		return .1
	}
	f := pastotest.Goals(t, 5, false, 0)
	for _, c := range []struct {
		want  string
		round int // that is refused
		make  func() (pasto.Learner, error)
	}{
		{
			"exploration: func(bad) is NaN in round 7: want a finite number from 0 to 1", 6,
			func() (pasto.Learner, error) {
				o := PaperOptions(2)
				o.Exploration = onlyBadAt(7)
				return New(f, 2, o)
			},
		},
		{
			"exploration: func(above) is 1.5 in round 7: want a finite number from 0 to 1", 6,
			func() (pasto.Learner, error) {
				return NewSCGD(f, 2, scgdOptions(func(o *SCGDOptions) { o.Exploration = ScheduleFunc("above", above) }))
			},
		},
		{"step: func(bad) is NaN in round 7: want a finite number from 0 to +Inf", 7, func() (pasto.Learner, error) {
			o := PaperOptions(2)
			o.Step = onlyBadAt(7)
			return New(f, 2, o)
		}},
		{"track: func(above) is 1.5 in round 7: want a finite number from 0 to 1", 7, func() (pasto.Learner, error) {
			return NewSCGD(f, 2, scgdOptions(func(o *SCGDOptions) { o.Track = ScheduleFunc("above", above) }))
		}},
	} {
		l, err := c.make()
		if err != nil {
			t.Fatal(err)
		}
		pastotest.Play(t, l, pastotest.Toy(t), 2, c.round-1, .1, random.New(1, "schedule"))
		before, _ := l.MarshalBinary()
		pastotest.Same(t, l.Observe([]pasto.Observation{{Arm: 0, Metrics: []float64{1, 1}}}), c.want)
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

// onlyBadAt is a schedule that is NaN in one round, which is not among the rounds that the
// constructor tries.
func onlyBadAt(bad int) Schedule {
	return ScheduleFunc("bad", func(t int) float64 {
		if t == bad {
			return math.NaN()
		}
		return .1
	})
}
