package compare_test

import (
	"testing"

	"github.com/noregret/noregret/confseq"
	"github.com/noregret/noregret/experiment/compare"
)

// group returns n units with a mean and the variance 1.
func group(n int64, mean float64) confseq.Group {
	s := confseq.Sequence{N: n, Mean: mean, M2: float64(n), Low: mean - 2, High: mean + 2}
	return s.Group()
}

// version compares two arms of a version with the control.
func version(metric int, means ...float64) *compare.Sequence {
	s := &compare.Sequence{Metric: metric, Arms: make([]confseq.Contrast, len(means))}
	control := group(100, means[0])
	units := float64(100 * len(means))
	s.Arms[0].AddControl(control, units)
	for k, mean := range means[1:] {
		s.Arms[k+1].AddArm(group(100, mean), control, units)
		s.Served.AddServed(group(100, mean), control)
	}
	return s
}

// TestSequences keeps what is known of a metric while others come and go, and adds each closed
// version once to every metric.
func TestSequences(t *testing.T) {
	var s compare.Sequences
	s.Watch([]int{1, 4})
	s.Add([]int{0, 1, 4}, func(metric int) *compare.Sequence { return version(metric, 1, 2) })
	before := s.Copy()
	s.Watch([]int{0, 4})
	switch {
	case !s.Watches([]int{0, 4}) || s.Watches([]int{0}) || s.Watches([]int{0, 1}):
		t.Errorf("%+v are watched, want 0 and 4", s)
	case s.Of(1) != nil || s.Of(5) != nil || s.Of(0).Served.Weight != 0:
		t.Errorf("metrics 1 and 5 are compared, or 0 has a version: %+v", s)
	case s.Of(4).Arms[1].Mean(0) != 1:
		t.Errorf("arm 1 differs by %v in metric 4, want 1", s.Of(4).Arms[1].Mean(0))
	}
	// A version with a later arm: the differences within both versions are the same.
	s.Add([]int{0, 1, 4}, func(metric int) *compare.Sequence { return version(metric, 11, 12, 9) })
	if a := s.Of(4).Arms; len(a) != 3 || a[1].Mean(0) != 1 || a[2].Mean(0) != -2 {
		t.Errorf("arms %+v in metric 4, want differences of 1 and -2", a)
	}
	if a := before.Of(4).Arms; len(a) != 2 || before.Of(1) == nil {
		t.Errorf("the copy has changed: %+v", before)
	}
	one, two := *version(4, 1, 2), *version(4, 11, 12, 9)
	one.Merge(&two)
	if got := s.Of(4); got.Served != one.Served || got.Arms[1] != one.Arms[1] {
		t.Errorf("%+v of two versions, merged %+v", got, one)
	}
}
