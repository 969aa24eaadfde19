package confseq

import (
	"math"

	"github.com/noregret/noregret/internal/vec"
)

// Group describes some units of a round: those of an arm, of several, or of the control.
type Group struct {
	// N is the number of units.
	N float64
	// Mean is the mean of their values; of a ratio, of the numerators.
	Mean float64
	// Per is the mean of a ratio's denominators. It is 1 for a plain mean.
	Per float64
	// Square is the sum of the squared deviations, Farthest the largest deviation.
	Square, Farthest float64
}

// Group returns the observations as a group with deviations from their mean, scaled so that
// Square/N estimates the variance without bias.
func (s *Sequence) Group() Group {
	g := Group{N: float64(s.N), Mean: s.Mean, Per: 1, Square: s.M2, Farthest: s.Farthest(s.Mean)}
	if s.N > 1 {
		g.Square *= g.N / (g.N - 1)
	}
	return g
}

// GroupAround returns the observations as a group with deviations from a centre that was fixed
// before they were seen.
func (s *Sequence) GroupAround(centre float64) Group {
	d := s.Mean - centre
	return Group{
		N: float64(s.N), Mean: s.Mean, Per: 1, Square: s.M2 + float64(float64(s.N)*float64(d*d)),
		Farthest: s.Farthest(centre),
	}
}

// GroupOf returns the units of a ratio as a group, with the deviations of x − r·y.
func (p *Pair) GroupOf(r float64) Group {
	s := p.Contrast(r)
	g := s.Group()
	g.Mean, g.Per = p.X, p.Y
	return g
}

// Contrast compares units with the control's units of the same rounds. For a change c it holds the
// sums that bound the mean over rounds of
//
//	ȳ − (1 + c)·ȳ₀
//
// where ȳ is a round's mean of an arm, or of all units served, and ȳ₀ that of the control in the
// same round; for a ratio, numerator − (1 + c)·(control's ratio)·denominator. Effects that all arms
// of a round share, such as a season, growth or a campaign, cancel, however the mixture has moved
// between the rounds. The round's weight is n·n₀/N for an arm of n units beside n₀ of the control
// and N in all, and n₀ for all units served: so the contrast of all units served is the weighted
// mean of the contrasts of the arms.
//
// The zero Contrast is empty. It does not depend on c. Its fields are exported to be saved. It is
// not safe for concurrent use.
type Contrast struct {
	Units      float64 // units compared, those of the control included
	Weight     float64 // Σ w
	Difference float64 // Σ w·(ȳ − ȳ₀)
	Level      float64 // Σ w·ȳ₀
	// The sum of the terms' squares is Own + Zero + 2c·Cross + c²·Change: of the units compared,
	// and of the control's.
	Own, Zero, Cross, Change float64
	// The largest squares among them, of Own, Zero and Change.
	OwnMost, ZeroMost, ChangeMost float64
}

// AddArm adds a round's units of an arm other than the control, where N is the number of units of
// all arms. A round with fewer than two units of the control, or in which its ratio is undefined,
// is skipped.
func (c *Contrast) AddArm(arm, control Group, all float64) {
	if !(arm.N > 0) || !(control.N > 1) || !(control.Per > 0) {
		return
	}
	level := control.Mean / control.Per
	difference := arm.Mean - float64(level*arm.Per)
	if arm.N < 2 { // one unit does not show the variance
		arm.Square = max(arm.Square, float64(difference*difference))
	}
	scale := arm.Per / control.Per
	c.add(terms{
		weight: arm.N * (control.N / all), difference: difference, level: level * arm.Per,
		own: control.N / all, zero: scale * (arm.N / all), change: scale * (arm.N / all),
	}, arm, control)
}

// AddControl adds a round's units of the control as one of the arms: it differs from itself by 0.
func (c *Contrast) AddControl(control Group, all float64) {
	if control.N > 1 && control.Per > 0 {
		c.add(terms{
			weight: control.N * (control.N / all), level: control.Mean, change: control.N / all,
		}, Group{}, control)
	}
}

// AddServed adds a round's units of all arms: rest are those of all arms but the control.
func (c *Contrast) AddServed(rest, control Group) {
	if !(rest.N > 0) || !(control.N > 1) || !(control.Per > 0) {
		return
	}
	all := rest.N + control.N
	share := control.N / all
	per := float64((1-share)*rest.Per) + float64(share*control.Per)
	level := control.Mean / control.Per
	difference := rest.Mean - float64(level*rest.Per)
	if rest.N < 2 {
		rest.Square = max(rest.Square, float64(difference*difference))
	}
	scale := per / control.Per
	c.add(terms{
		weight: control.N, difference: (1 - share) * difference, level: level * per,
		own: share, zero: scale - share, change: scale,
	}, rest, control)
}

// terms are a round's weight, means, and the coefficients of its units.
type terms struct{ weight, difference, level, own, zero, change float64 }

// largestTerm is the largest size of a round's terms that is accepted, so that their sums stay
// within float64.
const largestTerm = 1e200

// add adds a round. A round whose terms are too large is skipped: the denominator of its ratio is
// near 0.
func (c *Contrast) add(t terms, own, control Group) {
	var round Contrast
	round.fill(t, own, control)
	for _, v := range []float64{
		round.Difference, round.Level, round.Own, round.Zero, round.Cross, round.Change, round.OwnMost, round.ZeroMost,
		round.ChangeMost,
	} {
		if !(math.Abs(v) <= largestTerm) {
			return
		}
	}
	c.Merge(&round)
}

// fill sets the sums to those of a round.
func (c *Contrast) fill(t terms, own, control Group) {
	c.Units = own.N + control.N
	c.Weight = t.weight
	c.Difference = float64(t.weight * t.difference)
	c.Level = float64(t.weight * t.level)
	c.Own = float64(float64(t.own*t.own) * own.Square)
	c.Zero = float64(float64(t.zero*t.zero) * control.Square)
	c.Cross = float64(float64(t.zero*t.change) * control.Square)
	c.Change = float64(float64(t.change*t.change) * control.Square)
	far := control.Farthest * control.Farthest
	c.OwnMost = float64(float64(t.own*t.own) * float64(own.Farthest*own.Farthest))
	c.ZeroMost = float64(float64(t.zero*t.zero) * far)
	c.ChangeMost = float64(float64(t.change*t.change) * far)
}

// Merge adds the rounds of another contrast.
func (c *Contrast) Merge(o *Contrast) {
	c.Units += o.Units
	c.Weight += o.Weight
	c.Difference += o.Difference
	c.Level += o.Level
	c.Own += o.Own
	c.Zero += o.Zero
	c.Cross += o.Cross
	c.Change += o.Change
	c.OwnMost = max(c.OwnMost, o.OwnMost)
	c.ZeroMost = max(c.ZeroMost, o.ZeroMost)
	c.ChangeMost = max(c.ChangeMost, o.ChangeMost)
}

// ContrastOptions describe the observations. The zero value gives infinite bounds: Width is
// required.
type ContrastOptions struct {
	// Width is the width of the range of one observation, above 0, +Inf without a range. With a
	// range, groups must be formed by [Sequence.GroupAround] and not be ratios.
	Width float64
	// Tight is the sum of squares at which the sequence without a range is the tightest, from
	// [Contrast.Tight]. It must not change while the sequence is watched.
	Tight float64
	// Inflation is the factor by which returning units raise the variance; less than 1 counts as 1.
	Inflation float64
}

// Tight returns a value for [ContrastOptions]: the sum of squares at which a mean as far beyond the
// limit as the limit is from the control is about to be detected. It returns 0 if there is too
// little data to say.
func (c *Contrast) Tight(change float64) float64 {
	v, gap := c.squares(change), float64(change*c.Level)
	if c.Units < burnIn || !(v > 0) {
		return 0
	}
	if wanted := float64(9*v) * (v / float64(gap*gap)); wanted < 1e4*v {
		return max(wanted, v)
	}
	return 1e4 * v
}

func (c *Contrast) squares(change float64) float64 {
	return c.Own + c.Zero + float64(2*float64(change*c.Cross)) + float64(float64(change*change)*c.Change)
}

// Mean returns the weighted mean of ȳ − (1 + change)·ȳ₀, NaN without rounds.
func (c *Contrast) Mean(change float64) float64 {
	if !(c.Weight > 0) {
		return math.NaN()
	}
	return (c.Difference - float64(change*c.Level)) / c.Weight
}

// Interval returns bounds for the mean over rounds of ȳ − (1 + change)·ȳ₀. Each end is passed, at
// any time in the whole run, with probability at most alpha, which is in (0, 1). O(1), a few
// microseconds.
//
// With a range it is exact for rounds that are over, for every distribution on the range and every
// level of the rounds, if no unit comes twice: given which units have which arm, the sum's terms
// are bounded martingale differences with the weights known before, and the boundary is that of a
// mixture of Fan's supermartingales. A centre that was not fixed before, and looks during a round,
// before the arms' numbers of units are known, cost terms of the order of one unit.
//
// Without a range it is asymptotic: the one-sided normal mixture's boundary (Robbins 1970;
// Waudby-Smith et al. 2024, Theorem 2.2) with the sample variances within the rounds. It begins
// when 200 units are compared and none has more than a 20th of the sum of squares (Noether's
// condition).
//
// An Inflation above 1 makes it asymptotic in any case. If units return, and their values in
// different rounds are not negatively correlated, the sum is at all pairs of times at least as
// highly correlated as independent terms of the same variance, so that it crosses a boundary less
// often (Slepian 1962).
func (c *Contrast) Interval(change, alpha float64, o ContrastOptions) (low, high float64) {
	v, inflation := c.squares(change), max(o.Inflation, 1)
	if !(c.Weight > 0) || !(o.Width > 0) {
		return math.Inf(-1), math.Inf(1)
	}
	var radius float64
	if size := math.Abs(change); vec.IsFinite(o.Width) {
		radius = boundedRadius(v/inflation, alpha, float64((1+size)*o.Width), size)
	} else {
		most := math.Sqrt(c.ZeroMost) + float64(size*math.Sqrt(c.ChangeMost))
		most = max(c.OwnMost, float64(most*most))
		if c.Units < burnIn || !(v > 0) || !(o.Tight > 0) || most > float64(dominant*v) {
			return math.Inf(-1), math.Inf(1)
		}
		radius = mixtureRadius(v/inflation, o.Tight/inflation, oneSided(alpha))
	}
	mean, width := c.Mean(change), float64(radius*inflation)/c.Weight
	return mean - width, mean + width
}
