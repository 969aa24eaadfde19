package bandit

import (
	"math"
	"testing"

	"github.com/noregret/noregret"
)

// fixed holds scores given by hand.
type fixed struct {
	count, score, err []float64
	noise             bool
}

func (f *fixed) Count(k int) float64         { return f.count[k] }
func (f *fixed) Score(k int) float64         { return f.score[k] }
func (f *fixed) StandardError(k int) float64 { return f.err[k] }
func (f *fixed) Sample(k int) float64        { return f.score[k] + f.err[k] }
func (f *fixed) Noise() bool                 { return f.noise }

func newChooser(t *testing.T, arms int, rule Rule) *Chooser {
	t.Helper()
	c, err := NewChooser(arms, rule)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func same(t *testing.T, what string, got []float64, want ...float64) {
	t.Helper()
	for k, v := range want {
		if math.Abs(got[k]-v) > 1e-15 {
			t.Errorf("%s is %v, want %v", what, got, want)
			return
		}
	}
}

// Unserved arms come first, then all arms are served equally while the noise is unknown, and then
// each rule follows its formula.
func TestChooserByHand(t *testing.T) {
	f := &fixed{count: []float64{4, 0, 100}, score: []float64{1, 9, 1.5}, err: []float64{.5, .1, .1}}
	for _, rule := range rules {
		c := newChooser(t, 3, rule)
		same(t, "serving", c.Serving(), 1./3, 1./3, 1./3)
		c.Update(1, f)
		same(t, "serving with an unserved arm", c.Serving(), 0, 1, 0)
		same(t, "best with an unserved arm", c.Best(), 0, 0, 1)
	}
	f.count[1], f.score[1] = 4, 0
	for _, rule := range rules {
		c := newChooser(t, 3, rule)
		c.Update(1, f)
		same(t, "serving without noise", c.Serving(), 1./3, 1./3, 1./3)
	}
	f.noise = true
	// Widths at n = 4 and 100 are √(2·ln(240·16)) = 4.06 and √(2·ln(2.4e6)) = 5.42: the intervals
	// are 1 ± 2.03, 0 ± 0.41 and 1.5 ± 0.54, and the second arm is eliminated.
	c := newChooser(t, 3, Elimination)
	c.Update(1, f)
	same(t, "elimination serves", c.Serving(), .5, 0, .5)
	same(t, "elimination's best", c.Best(), 0, 0, 1)
	// At t = 100 the width is ½·√(2·ln(3e4)) = 2.27: 1 + 1.14 is above 1.5 + 0.23. At t = 1 it is
	// 0.74, and 1 + 0.37 is below 1.5 + 0.07.
	c = newChooser(t, 3, UCB)
	c.Update(100, f)
	same(t, "UCB serves in round 100", c.Serving(), 1, 0, 0)
	c.Update(1, f)
	same(t, "UCB serves in round 1", c.Serving(), 0, 0, 1)
	c = newChooser(t, 3, Thompson)
	c.Update(1, f)
	same(t, "Thompson serves", c.Serving(), 0, 0, 1)
}

// A retired arm is not served. When the last candidate of elimination retires, the other arms
// become candidates again.
func TestChooserRetire(t *testing.T) {
	f := &fixed{count: []float64{50, 50, 50}, score: []float64{0, 5, -1}, err: []float64{.1, .1, .1}, noise: true}
	c := newChooser(t, 3, Elimination)
	c.Update(1, f)
	same(t, "one is left", c.Serving(), 0, 1, 0)
	if err := c.Retire(1); err != nil {
		t.Fatal(err)
	}
	f.err = []float64{1, 1, 1}
	c.Update(2, f)
	same(t, "the others are candidates again", c.Serving(), .5, 0, .5)
	same(t, "best", c.Best(), 1, 0, 0)
	in, active := c.State()
	d := newChooser(t, 1, Elimination)
	if err := d.Restore(in, active); err != nil || d.Arms() != 3 {
		t.Errorf("restored %d arms: %v", d.Arms(), err)
	}
	for _, bad := range [][2][]bool{{in[:2], active}, {nil, nil}, {{true}, {false}}} {
		if err := d.Restore(bad[0], bad[1]); noregret.CodeOf(err) != noregret.BadInput {
			t.Errorf("%v: %v", bad, err)
		}
	}
}
