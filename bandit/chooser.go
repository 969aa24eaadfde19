package bandit

import (
	"fmt"
	"math"
	"slices"

	"github.com/noregret/noregret"
)

// Scores is what a [Chooser] needs to know about the arms. Score, StandardError and Sample are
// called only for active arms with a Count above 0, the last two only if Noise reports true.
type Scores interface {
	// Count is the number of observations of arm k.
	Count(k int) float64
	// Score is the estimated worth of arm k.
	Score(k int) float64
	// StandardError is that of Score.
	StandardError(k int) float64
	// Sample draws from the distribution of arm k's score given the observations.
	Sample(k int) float64
	// Noise reports whether the noise of observations has an estimate that is good enough for the
	// rule. All arms get equal shares until then.
	Noise() bool
}

// Chooser decides which arms to serve by a [Rule]. Make one with [NewChooser], call Update after
// each round, and read Serving and Best.
type Chooser struct {
	rule       Rule
	in         []bool // not eliminated
	active     []bool // not retired
	p, best    []float64
	score, err []float64
}

// NewChooser returns a chooser of arms, all active. It returns an error of code bad_input if the
// rule is unknown or there is no arm.
func NewChooser(arms int, rule Rule) (*Chooser, error) {
	if rule < Elimination || rule > Thompson {
		return nil, noregret.BadInputf("rule", "%d: want Elimination, UCB or Thompson", int(rule))
	}
	if arms < 1 {
		return nil, noregret.BadInputf("arms", "%d: want at least 1", arms)
	}
	c := &Chooser{rule: rule}
	for range arms {
		c.Add()
	}
	c.uniform(c.p)
	c.uniform(c.best)
	return c, nil
}

// Add adds an active arm. Call Update next.
func (c *Chooser) Add() {
	c.in, c.active = append(c.in, true), append(c.active, true)
	c.p, c.best = append(c.p, 0), append(c.best, 0)
	c.score, c.err = append(c.score, 0), append(c.err, 0)
}

// Retire removes arm k for good. If elimination has left no other arm, all active arms return. It
// returns an error of code bad_input if the arm does not exist, is already retired or is the last
// active one. Call Update next.
func (c *Chooser) Retire(k int) error {
	switch {
	case k < 0 || k >= len(c.active):
		return noregret.BadInputf("arm", "%d is unknown: want one of 0 to %d", k, len(c.active)-1)
	case !c.active[k]:
		return noregret.BadInputf("arm", "%d is already retired", k)
	case c.live() == 1:
		return noregret.BadInputf("arm", "%d is the last active one: at least one must stay", k)
	}
	c.in[k], c.active[k] = false, false
	if !slices.Contains(c.in, true) {
		copy(c.in, c.active)
	}
	return nil
}

// Arms is the number of arms, retired ones included.
func (c *Chooser) Arms() int { return len(c.active) }

// Serving returns the distribution of the next round. The caller must not change it.
func (c *Chooser) Serving() []float64 { return c.p }

// Best returns the distribution to use if the experiment ended now: everything on the arm with the
// best score among those not eliminated, or uniform before the first observation. The caller must
// not change it.
func (c *Chooser) Best() []float64 { return c.best }

// State returns which arms are not eliminated, and which are not retired. The caller must not
// change the slices.
func (c *Chooser) State() (in, active []bool) { return c.in, c.active }

// Restore replaces the arms by those of an earlier [Chooser.State], which it copies. It returns an
// error of code bad_input if no arm is active or the two do not fit. Call Update next.
func (c *Chooser) Restore(in, active []bool) error {
	if len(in) != len(active) || !slices.Contains(active, true) {
		return noregret.BadInputf("state", "%d and %d arms: want equal numbers, and one active arm", len(in),
			len(active))
	}
	n := len(in)
	c.in, c.active = slices.Clone(in), slices.Clone(active)
	c.p, c.best = make([]float64, n), make([]float64, n)
	c.score, c.err = make([]float64, n), make([]float64, n)
	c.uniform(c.p)
	c.uniform(c.best)
	return nil
}

// Update computes the distributions for round t ≥ 1: Serving and Best. O(K) calls of the methods of
// s; for [Thompson] O(K·ThompsonDraws).
func (c *Chooser) Update(t int, s Scores) {
	fresh, arm, top := 0, -1, math.Inf(-1)
	for k, active := range c.active {
		if !active {
			continue
		}
		if s.Count(k) == 0 {
			fresh++
			continue
		}
		c.score[k] = s.Score(k)
		if c.in[k] && c.score[k] > top {
			arm, top = k, c.score[k]
		}
	}
	if arm >= 0 {
		clear(c.best)
		c.best[arm] = 1
	} else {
		c.uniform(c.best)
	}
	switch {
	case fresh > 0: // unobserved arms come first
		for k, active := range c.active {
			c.p[k] = 0
			if active && s.Count(k) == 0 {
				c.p[k] = 1 / float64(fresh)
			}
		}
	case !s.Noise():
		c.uniform(c.p)
	case c.rule == Elimination:
		c.eliminate(s)
	case c.rule == UCB:
		c.upper(t, s)
	default:
		c.thompson(s)
	}
}

func (c *Chooser) live() int {
	n := 0
	for _, a := range c.active {
		if a {
			n++
		}
	}
	return n
}

// uniform sets p to the uniform distribution over the active arms.
func (c *Chooser) uniform(p []float64) {
	n := float64(c.live())
	for k, a := range c.active {
		p[k] = 0
		if a {
			p[k] = 1 / n
		}
	}
}

func (c *Chooser) eliminate(s Scores) {
	lower, left := math.Inf(-1), 0
	for k, in := range c.in {
		if in {
			c.err[k] = float64(EliminationWidth(len(c.in), s.Count(k)) * s.StandardError(k))
			lower = max(lower, c.score[k]-c.err[k])
		}
	}
	for k, in := range c.in {
		if in && c.score[k]+c.err[k] < lower {
			c.in[k] = false
		}
		if c.in[k] {
			left++
		}
	}
	for k, in := range c.in {
		c.p[k] = 0
		if in {
			c.p[k] = 1 / float64(left)
		}
	}
}

func (c *Chooser) upper(t int, s Scores) {
	z := UCBWidth(len(c.p), t)
	arm, top := slices.Index(c.active, true), math.Inf(-1)
	for k, active := range c.active {
		if !active {
			continue
		}
		if v := c.score[k] + float64(z*s.StandardError(k)); v > top {
			arm, top = k, v
		}
	}
	clear(c.p)
	c.p[arm] = 1
}

func (c *Chooser) thompson(s Scores) {
	clear(c.p)
	for range ThompsonDraws {
		arm, top := slices.Index(c.active, true), math.Inf(-1)
		for k, active := range c.active {
			if !active {
				continue
			}
			if v := s.Sample(k); v > top {
				arm, top = k, v
			}
		}
		c.p[arm] += 1.0 / ThompsonDraws
	}
}

// String describes the chooser in one line.
func (c *Chooser) String() string { return fmt.Sprintf("%v(arms=%d)", c.rule, len(c.active)) }
