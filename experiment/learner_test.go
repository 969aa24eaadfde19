package experiment

import "testing"

// A point of a box that gets no traffic now still teaches the learner what its units of earlier
// versions have shown; an arm of a list that is retired, or has no share, does not.
func TestTakes(t *testing.T) {
	t.Parallel()
	r := &roster{}
	r.Arms = make([]armState, 2)
	r.Arms[1].Active = true
	for _, c := range []struct {
		learner learner
		served  []float64
		want    [3]bool
	}{
		{boxed{}, []float64{0, 1}, [3]bool{true, true, false}},
		{&fixed{}, []float64{.5, .5}, [3]bool{false, true, false}},
		{&fixed{}, []float64{1, 0}, [3]bool{false, false, false}},
	} {
		x := &learning{learner: c.learner}
		for i, want := range c.want {
			if got := x.takes(r, i, min(i, 1), c.served); got != want {
				t.Errorf("%T with %v: arm %d: %v", c.learner, c.served, i, got)
			}
		}
	}
}
