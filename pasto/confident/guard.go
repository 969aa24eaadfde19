package confident

import (
	"math"
	"slices"

	"github.com/noregret/noregret/pasto"
)

// guard bounds what the arms may do to the hard guardrails.
type guard struct {
	*estimates
	slack pasto.Table // K·J: by how much each arm surely holds each hard guardrail
}

const (
	// unboundedShare is the share of arms of which nothing is known, not even a range.
	unboundedShare = 0.01
	// leastAnchor is the part of the control's estimate that is kept where its interval reaches 0.
	leastAnchor = 0.1
	// Below fewGroups an arm's scatter says little.
	fewGroups = 3
	// settledShare is the part of the exploration that ends where p⁺ is the control arm.
	settledShare = 0.75
	// probeShare is the largest share of an arm that may have become no better than the control.
	probeShare = 0.5
	// fewArms is the number of arms up to which a promise is renewed in each round.
	fewArms = 64
	// manyArms is the number of arms up to which there is a solution where the size of an arm's
	// groups has doubled.
	manyArms = 128
)

// radius returns by how much the estimate of metric i of arm k with this squared error may be off
// at any time.
func (g *guard) radius(k, i int, square float64) float64 {
	return g.model.Radius(k, i, square, g.options.Alpha/float64(g.s.Live*len(g.guards)))
}

// computeSlack computes by how much each arm surely holds each hard guardrail: K·J numbers,
// negative where it may break it. Known says whether there are estimates.
func (g *guard) computeSlack(known bool) {
	arms, control := len(g.s.Active), g.options.Control
	g.slack.Reset(arms, len(g.guards))
	known = known && g.model.Rounds(control) > 0
	for j, i := range g.guards {
		x := &g.goals.Metrics()[i]
		margin, anchor, sure := g.margin(i, known)
		for k := range arms {
			v := g.worst(i, margin, anchor)
			if sure && g.model.Usable[k] {
				y, square := g.seen(k, i)
				v = max(v, float64(g.metrics[i].Sign*(y-x.Limit()))-g.radius(k, i, square)+g.suspected(k, i))
			}
			if k == control {
				v = margin
			}
			g.slack.Arm(k)[j] = v + x.Slack
		}
	}
}

// margin returns the slack of the control arm in guardrail i, at least as much as is sure: of an
// absolute guardrail what is above its limit by the bound, and 0 if that is below, as the control
// is declared safe; of a relative one −δ·|y_0|, for the anchor y_0 at the end of its interval that
// is nearer to 0. As long as nothing is sure about y_0, and the worst value of the range is 0, the
// anchor is 1: what an arm may lose is then in proportion to y_0 too.
func (g *guard) margin(i int, known bool) (margin, anchor float64, sure bool) {
	x, control := &g.goals.Metrics()[i], g.options.Control
	y := g.model.Mean(control, i)
	switch {
	case !g.metrics[i].Relative && !known:
		return 0, 0, false
	case !g.metrics[i].Relative:
		_, square := g.seen(control, i)
		return max(float64(g.metrics[i].Sign*(y-x.Threshold))-g.radius(control, i, square), 0), 0, true
	case known && y != 0:
		own := g.model.Sampling(control, i)
		off := g.radius(control, i, own)
		least := float64(leastAnchor * math.Abs(y))
		if !g.options.has(noAnchor) {
			least = 0
		}
		anchor, sure = math.Copysign(max(math.Abs(y)-off, least), y), true
	case x.Direction == pasto.Up && x.Lower == 0 && x.Upper > 0:
		anchor = 1
	}
	return -float64(float64(g.metrics[i].Sign*x.Threshold) * math.Abs(anchor)), anchor, sure
}

// worst is the slack of an arm of which nothing is known but the range; −Inf without a range.
func (g *guard) worst(i int, margin, anchor float64) float64 {
	x := &g.goals.Metrics()[i]
	if !x.HasRange() {
		return math.Inf(-1)
	}
	y := x.Lower
	if x.Direction == pasto.Down {
		y = x.Upper
	}
	if g.metrics[i].Relative {
		return float64(g.metrics[i].Sign*(y-anchor)) + margin
	}
	return float64(g.metrics[i].Sign * (y - x.Threshold))
}

// isUnbounded reports whether arm k has no bound in some hard guardrail.
func (g *guard) isUnbounded(k int) bool { return slices.Contains(g.slack.Arm(k), math.Inf(-1)) }
