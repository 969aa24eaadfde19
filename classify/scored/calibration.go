package scored

import (
	"math"
	"slices"

	"github.com/noregret/noregret/internal/portable"
)

// Calibration maps scores to probabilities of the positive class. Exactly one form is used: the
// steps of [Isotonic] where there are any, else the curve of [Platt].
type Calibration struct {
	// Slope and Offset give the probability 1/(1 + e^−(Slope·score + Offset)).
	Slope  float64 `json:"slope"`
	Offset float64 `json:"offset"`
	// Score ascends, Probability does not descend. Between two scores the probability is
	// interpolated linearly, outside it is that of the first or last.
	Score       []float64 `json:"score"`
	Probability []float64 `json:"probability"`
}

// Of returns the probability for a score. O(log of the number of steps).
func (c *Calibration) Of(score float64) float64 {
	if len(c.Score) == 0 {
		return sigmoid(float64(c.Slope*score) + c.Offset)
	}
	i, found := slices.BinarySearch(c.Score, score)
	switch {
	case found:
		return c.Probability[i]
	case i == 0:
		return c.Probability[0]
	case i == len(c.Score):
		return c.Probability[i-1]
	}
	x0, x1, y0, y1 := c.Score[i-1], c.Score[i], c.Probability[i-1], c.Probability[i]
	return min(y0+float64((score-x0)/(x1-x0)*(y1-y0)), y1)
}

// Isotonic fits the probabilities that do not descend with the score and have the least squared
// error, by pooling adjacent violators (Ayer et al. 1955); between scores they are interpolated. ok
// is false if there is no example or a score is not finite. O(n log n).
func Isotonic(examples []Example) (c Calibration, ok bool) {
	groups, ok := grouped(examples)
	if !ok || len(groups) == 0 {
		return c, false
	}
	type block struct{ low, high, positive, weight float64 }
	var blocks []block
	for _, g := range slices.Backward(groups) {
		blocks = append(blocks, block{g.score, g.score, g.positive, g.positive + g.negative})
		for n := len(blocks); n > 1; n-- {
			a, b := &blocks[n-2], &blocks[n-1]
			if a.positive/a.weight < b.positive/b.weight {
				break
			}
			a.high, a.positive, a.weight = b.high, a.positive+b.positive, a.weight+b.weight
			blocks = blocks[:n-1]
		}
	}
	for _, b := range blocks {
		p := b.positive / b.weight
		c.Score, c.Probability = append(c.Score, b.low), append(c.Probability, p)
		if b.high > b.low {
			c.Score, c.Probability = append(c.Score, b.high), append(c.Probability, p)
		}
	}
	return c, true
}

// Inside moves probabilities of 0 and 1, which a few examples cannot show, inside: to what one more
// example, half of either class, would make of the n examples of the first or last step, as far as
// the order of the steps allows. Only the ends of a fit of [Isotonic] can be 0 or 1. examples are
// those of the fit. O(n).
func (c *Calibration) Inside(examples []Example) {
	last := len(c.Score) - 1
	if last < 0 {
		return
	}
	var below, above []Example
	end, start := 0, last
	for end < last && c.Probability[end+1] == c.Probability[0] {
		end++
	}
	for start > 0 && c.Probability[start-1] == c.Probability[last] {
		start--
	}
	for _, e := range examples {
		if e.Score <= c.Score[end] {
			below = append(below, e)
		}
		if e.Score >= c.Score[start] {
			above = append(above, e)
		}
	}
	half := func(step []Example) float64 {
		groups, _ := grouped(step)
		t := totals(groups)
		return 0.5 / (effective(t.positive+t.negative, t.positiveSquare+t.negativeSquare) + 1)
	}
	if c.Probability[0] == 0 {
		p := half(below)
		if end < last {
			p = min(p, c.Probability[end+1])
		}
		for i := range end + 1 {
			c.Probability[i] = p
		}
	}
	if c.Probability[last] == 1 {
		p := 1 - half(above)
		if start > 0 {
			p = max(p, c.Probability[start-1])
		}
		for i := start; i <= last; i++ {
			c.Probability[i] = p
		}
	}
}

// Platt fits a logistic curve to the scores (Platt 1999): maximum likelihood with the targets (n₊ +
// 1)/(n₊ + 2) for positives and 1/(n₋ + 2) for negatives, by Newton's method (Lin, Lin and Weng,
// Machine Learning 68, 2007). ok is false without both classes or where a score is not finite. O(n)
// for each of some ten steps.
func Platt(examples []Example) (c Calibration, ok bool) {
	groups, ok := grouped(examples)
	t := totals(groups)
	if !ok || t.positive == 0 || t.negative == 0 {
		return c, false
	}
	p := plattProblem{
		groups: groups, weight: t.positive + t.negative,
		high: (t.positive + 1) / (t.positive + 2), low: 1 / (t.negative + 2),
	}
	// The scores are standardised, so that the two parameters are of one size.
	for _, g := range groups {
		p.center += float64((g.positive + g.negative) / p.weight * g.score)
	}
	var square float64
	for _, g := range groups {
		d := g.score - p.center
		square += float64((g.positive + g.negative) / p.weight * float64(d*d))
	}
	if p.scale = math.Sqrt(square); p.scale == 0 || math.IsInf(p.scale, 0) {
		p.scale = 1
	}
	slope, offset := p.solve(portable.Log((t.positive + 1) / (t.negative + 1)))
	c.Slope = slope / p.scale
	c.Offset = offset - float64(c.Slope*p.center)
	return c, c.Slope-c.Slope == 0 && c.Offset-c.Offset == 0
}

// plattProblem is the likelihood of a logistic curve in standardised scores.
type plattProblem struct {
	groups        []group
	high, low     float64 // targets
	weight        float64
	center, scale float64
}

// at returns the mean loss, its gradient and its second derivatives.
func (p *plattProblem) at(slope, offset float64) (loss, gs, g0, hss, hs0, h00 float64) {
	for _, g := range p.groups {
		x := (g.score - p.center) / p.scale
		z := float64(slope*x) + offset
		w := (g.positive + g.negative) / p.weight
		target := (float64(g.positive*p.high) + float64(g.negative*p.low)) / p.weight
		// w·ln(1 + eᶻ) − target·z
		loss += float64(w*(max(z, 0)+portable.Log1p(portable.Exp(-math.Abs(z))))) - float64(target*z)
		q := sigmoid(z)
		d, h := float64(w*q)-target, float64(w*float64(q*(1-q)))
		gs += float64(d * x)
		g0 += d
		hss += float64(h * float64(x*x))
		hs0 += float64(h * x)
		h00 += h
	}
	return loss, gs, g0, hss, hs0, h00
}

// solve minimises the loss from slope 0 and the given offset.
func (p *plattProblem) solve(start float64) (slope, offset float64) {
	offset = start
	loss, gs, g0, hss, hs0, h00 := p.at(slope, offset)
	const most, tolerance, ridge = 100, 1e-13, 1e-14
	for range most {
		if math.Abs(gs)+math.Abs(g0) < tolerance {
			break
		}
		hss, h00 = hss+ridge, h00+ridge
		det := float64(hss*h00) - float64(hs0*hs0)
		ds := (float64(h00*gs) - float64(hs0*g0)) / det
		d0 := (float64(hss*g0) - float64(hs0*gs)) / det
		descent := float64(gs*ds) + float64(g0*d0)
		step, moved := 1.0, false
		for ; step > 1e-10; step /= 2 {
			s, o := slope-float64(step*ds), offset-float64(step*d0)
			l, a, b, c, d, e := p.at(s, o)
			// Near the optimum the loss is the same to its last digits, and the gradient tells.
			if l < loss-float64(1e-4*float64(step*descent)) || math.Abs(a)+math.Abs(b) < (math.Abs(gs)+math.Abs(g0))/2 {
				slope, offset, loss, gs, g0, hss, hs0, h00, moved = s, o, l, a, b, c, d, e, true
				break
			}
		}
		if !moved {
			break
		}
	}
	return slope, offset
}
