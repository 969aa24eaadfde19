package confident

import (
	"fmt"
	"math"
	"slices"

	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/pasto"
)

// Promise says what is known to hold of the serving mixtures.
type Promise struct {
	// Holds reports whether every served mixture holds every hard guardrail, in all rounds together
	// with probability at least 1 − Alpha.
	Holds bool
	Alpha float64
	// Reason says why nothing is promised, "" where Holds is true.
	Reason string
}

// unboundedShare is the share of arms of which nothing is known, not even a range.
const unboundedShare = 0.01

// promised reports whether what is served must hold the hard guardrails.
func (l *Learner) promised() bool {
	return l.hard != nil && l.options.Control >= 0 && l.options.Hold == Served
}

// Promise says whether the hard guardrails are promised for what is served, and why not.
//
// The promise is this. Let every metric's errors be sub-Gaussian with the variances that the
// learner uses, or asymptotically so, and let means not change. Let the control arm hold the
// guardrails. Each arm has for each hard guardrail a bound that is valid in all rounds together
// with probability 1 − Alpha/(K·J), for K arms and J hard guardrails: the normal-mixture boundary
// (Robbins 1970; Howard, Ramdas, McAuliffe and Sekhon 2021), with Bernstein's term for metrics of a
// known range and known variances of units; an arm without data has the worst value of the range.
// Then with probability at least 1 − Alpha no served mixture p breaks a guardrail, as Σ_k
// p_k·(bound of k) is at least its limit in each round: the optimistic-pessimistic linear program
// of Pacchiano, Ghavamzadeh, Bartlett and Jiang (2021), in which the control arm is the safe start.
func (l *Learner) Promise() Promise {
	none := func(format string, args ...any) Promise { return Promise{Reason: fmt.Sprintf(format, args...)} }
	switch {
	case l.hard == nil:
		return none("no guardrail is hard")
	case l.options.Control < 0:
		return none("no control arm is named, so that no mixture is safe to begin with")
	case l.options.Hold == Deployed:
		return none("guardrails are held by what is deployed only")
	}
	for j, i := range l.guards {
		x := &l.hard.Metrics()[i]
		if l.controlBreaks(j) {
			return none("the control arm itself does not hold %q", x.Name)
		}
		for k, active := range l.s.Active {
			if active && l.s.Stats.Rounds[k] == 0 && x.Upper <= x.Lower {
				return none("%q has no range, and arm %d has no data: such arms get at most %v of all units", x.Name, k,
					unboundedShare)
			}
		}
	}
	return Promise{Holds: true, Alpha: l.options.Alpha}
}

// controlBreaks reports whether the control arm's estimate is beyond hard guardrail j by more than
// its error.
func (l *Learner) controlBreaks(j int) bool {
	i, control, e := l.guards[j], l.options.Control, &l.plan.est
	x := &l.hard.Metrics()[i]
	if l.relative[i] {
		return float64(l.sign[i]*x.Threshold) > 0
	}
	l.estimate()
	if !e.usable[control] {
		return false
	}
	at := control*len(l.sign) + i
	off := l.radius(control, i, e.squared[at]+l.pessimisticLevel(i), l.s.Stats.Raw.Weight[control])
	return float64(l.sign[i]*(e.rows[at]-x.Threshold))+off+x.Slack < 0
}

// boundary returns the standard errors that a mean of n units of size may be off by, at any time:
// the normal mixture √((1 + ρ/n)·(ln(1 + n/ρ) + 2·ln(K·J/α))), with a hundredth of the first round
// for ρ.
func (l *Learner) boundary(n float64) float64 {
	rho := float64(0.01 * l.s.First)
	return math.Sqrt(float64((1 + rho/n) * (portable.Log1p(n/rho) + float64(2*l.logCount()))))
}

// logCount is ln(K·J/α).
func (l *Learner) logCount() float64 {
	return portable.Log(float64(float64(l.s.Live)*float64(len(l.guards))) / l.options.Alpha)
}

// radius returns by how much the mean of metric i of arm k, of n units of size and with this
// squared error, may be off at any time. Where variances are those of units of a known range, the
// term of Bernstein's inequality for the largest deviation is added.
func (l *Learner) radius(k, i int, square, n float64) float64 {
	off := float64(l.boundary(n) * math.Sqrt(square))
	if s := &l.s.Stats; l.width[i] > 0 && s.UnitSize != nil && s.UnitSize[k*len(l.sign)+i] > 0 {
		off += float64(l.width[i]*l.logCount()) / 3 / n
	}
	return off
}

// pessimisticLevel is the squared error that all arms have in common, more than estimated while few
// rounds tell it.
func (l *Learner) pessimisticLevel(i int) float64 {
	free := l.s.Noise.freedom(&l.s.Stats.Raw)
	switch {
	case free > 0:
	case l.anyEffectsUnknown():
		return math.Inf(1)
	default:
		return 0
	}
	return float64(l.plan.est.level[i] * (1 + 10/free))
}

// computeSlack computes by how much each arm surely holds each hard guardrail: K·J numbers,
// negative where it may break it. Known says whether there are estimates.
func (l *Learner) computeSlack(known bool) {
	arms, guards := len(l.s.Active), len(l.guards)
	l.plan.slack = slices.Grow(l.plan.slack[:0], arms*guards)[:arms*guards]
	for j, i := range l.guards {
		x := &l.hard.Metrics()[i]
		margin, anchor, sure := l.margin(i, known)
		for k := range arms {
			v := l.worst(i, margin, anchor)
			if sure && l.plan.est.usable[k] && l.s.Stats.Rounds[k] > 0 {
				v = max(v, l.lowest(k, i, margin))
			}
			if k == l.options.Control {
				v = margin
			}
			if math.IsInf(v, -1) {
				l.plan.est.usable[k] = false
			}
			l.plan.slack[k*guards+j] = v + x.Slack
		}
	}
}

// margin returns the slack of the control arm in guardrail i, at least as much as is sure: of an
// absolute guardrail what is above its limit by the bound, and 0 if that is below, as the control
// is declared safe; of a relative one −δ·|y_0|, for the anchor y_0 at the end of its interval that
// is nearer to 0. As long as nothing is sure about y_0, and the worst value of the range is 0, the
// anchor is 1: what an arm may lose is then in proportion to y_0 too.
func (l *Learner) margin(i int, known bool) (margin, anchor float64, sure bool) {
	x, control, e := &l.hard.Metrics()[i], l.options.Control, &l.plan.est
	at := control*len(l.sign) + i
	known = known && l.s.Stats.Rounds[control] > 0
	off := 0.0
	if known {
		off = l.radius(control, i, e.squared[at]+l.pessimisticLevel(i), l.s.Stats.Raw.Weight[control])
	}
	if !l.relative[i] {
		if !known {
			return 0, 0, false
		}
		return max(float64(l.sign[i]*(e.rows[at]-x.Threshold))-off, 0), 0, true
	}
	switch y := e.rows[at]; {
	case known && y != 0:
		anchor, sure = math.Copysign(max(math.Abs(y)-off, float64(leastAnchor*math.Abs(y))), y), true
	case x.Direction == pasto.Up && x.Lower == 0 && x.Upper > 0:
		anchor = 1
	}
	return -float64(float64(l.sign[i]*x.Threshold) * math.Abs(anchor)), anchor, sure
}

// leastAnchor is the part of the control's estimate that is kept where its interval reaches 0.
const leastAnchor = 0.1

// worst is the slack of an arm of which nothing is known but the range; −Inf without a range.
func (l *Learner) worst(i int, margin, anchor float64) float64 {
	x := &l.hard.Metrics()[i]
	if x.Upper <= x.Lower {
		return math.Inf(-1)
	}
	y := x.Lower
	if x.Direction == pasto.Down {
		y = x.Upper
	}
	if l.relative[i] {
		return float64(l.sign[i]*(y-anchor)) + margin
	}
	return float64(l.sign[i] * (y - x.Threshold))
}

// lowest is the slack of arm k in guardrail i by its bound.
func (l *Learner) lowest(k, i int, margin float64) float64 {
	x, e, m, control := &l.hard.Metrics()[i], &l.plan.est, len(l.sign), l.options.Control
	at, n := k*m+i, l.s.Stats.Raw.Weight[k]
	if l.relative[i] {
		n = min(n, l.s.Stats.Raw.Weight[control])
		return float64(l.sign[i]*(e.rows[at]-e.rows[control*m+i])) - l.radius(k, i, e.apart[at], n) + margin
	}
	return float64(l.sign[i]*(e.rows[at]-x.Threshold)) - l.radius(k, i, e.squared[at]+l.pessimisticLevel(i), n)
}

// slackOf is the slack of mixture p in hard guardrail j. Arms without data or range are left out.
func (l *Learner) slackOf(p []float64, j int) float64 {
	sum := 0.0
	for k, v := range p {
		if s := l.plan.slack[k*len(l.guards)+j]; v > 0 && !math.IsInf(s, -1) {
			sum += float64(v * s)
		}
	}
	return sum
}

// makeSafe moves p towards the control arm by as little as the promise allows: to (1−ρ)·e_0 + ρ·p
// with the largest ρ of which the slack is at least 0 in each hard guardrail.
func (l *Learner) makeSafe(p []float64) {
	control, rho := l.options.Control, 1.0
	for j := range l.guards {
		own, v := l.plan.slack[control*len(l.guards)+j], l.slackOf(p, j)
		switch {
		case own < 0:
			rho = 0
		case v < 0:
			rho = min(rho, own/(own-v))
		}
	}
	l.shrink(p, rho)
}

// shrink makes p (1−ρ)·e_0 + ρ·p for the control arm 0.
func (l *Learner) shrink(p []float64, rho float64) {
	if rho >= 1 {
		return
	}
	rest := 1.0
	for k := range p {
		if p[k] = float64(rho * p[k]); k != l.options.Control {
			rest -= p[k]
		}
	}
	p[l.options.Control] = max(rest, 0)
}

// mix computes Serving from p⁺, p⁻ or the safe mixture, and the arms of which little is known.
func (l *Learner) mix() {
	s, promised := &l.s, l.promised()
	alpha, each := l.exploration()
	// the share of arms not served since the start or their last change: all at first, later by
	// their number
	unseen := 0.0
	if s.Unobserved > 0 {
		unseen = 1
		if s.AllObserved {
			unseen = float64(s.Unobserved) / float64(s.Live)
		}
	}
	rest := 1 - unseen
	few := 0.0
	if s.Underobserved > 0 && l.options.has(noFew) {
		few = float64(rest * float64(0.5*(float64(s.Underobserved)/float64(s.Live))))
	}
	rest -= few
	each = float64(rest * each)
	rest -= each
	x, base := l.extra, s.Down
	if promised {
		base = l.base()
	}
	known := l.boundedArms()
	for k := range x {
		x[k] = 0
		if !s.Active[k] || promised && !known[k] {
			continue
		}
		x[k] = each / float64(s.Live)
		if s.Stats.Rounds[k] == 0 {
			x[k] += unseen / float64(s.Unobserved)
		} else if s.Stats.Count[k] < fewGroups {
			x[k] += few / float64(s.Underobserved)
		}
	}
	if promised {
		l.makeExtraSafe(1 - rest)
	}
	for k := range s.Serving {
		s.Serving[k] = float64(rest*(float64(alpha*s.Up[k])+float64((1-alpha)*base[k]))) + x[k]
	}
	l.finish(promised, known)
}

// base is what is served where hard guardrails are promised, beside what is explored: half of the
// safe mixture, which is worth most, and half of the deployed one, moved towards the control until
// it is safe, which tells most about what to deploy.
func (l *Learner) base() []float64 {
	l.half = append(l.half[:0], l.s.Down...)
	l.makeSafe(l.half)
	for k, v := range l.s.Safe {
		l.half[k] = float64(0.5*l.half[k]) + float64(0.5*v)
	}
	return l.half
}

// exploration returns the share of the optimistic mixture, and that which is spread over all arms.
func (l *Learner) exploration() (alpha, each float64) {
	o := &l.options
	alpha = o.Exploration.Share
	if w := l.s.Width; w < 1 {
		v := 0.0
		if w > 0 {
			v = float64(o.Exploration.Decay * portable.Exp(float64(2*portable.Log(w))/3))
		}
		alpha = min(alpha, v)
	}
	if late := 1 / math.Sqrt(float64(l.s.T-l.s.Began)+10); !o.has(noSpread) {
		each = 0
	} else if each = float64(0.1 * max(l.s.Width, late)); l.promised() {
		// it is made safe, and tells which arms can be relied on
		each = min(max(l.s.Width, late), 0.5)
	}
	return alpha, min(max(each, o.Floor), 1)
}

// boundedArms marks the arms that have a slack in each hard guardrail.
func (l *Learner) boundedArms() []bool {
	if !l.promised() {
		return nil
	}
	l.bounded = l.bounded[:0]
	for k := range l.s.Active {
		ok := true
		for j := range l.guards {
			ok = ok && !math.IsInf(l.plan.slack[k*len(l.guards)+j], -1)
		}
		l.bounded = append(l.bounded, ok)
	}
	return l.bounded
}

// makeExtraSafe makes what is served beside the solutions, of this share in all, safe by itself.
func (l *Learner) makeExtraSafe(share float64) {
	x, sum := l.extra, 0.0
	if share <= 0 {
		return
	}
	for k := range x {
		x[k] /= share
		sum += x[k]
	}
	x[l.options.Control] += max(1-sum, 0)
	l.makeSafe(x)
	for k := range x {
		x[k] = float64(share * x[k])
	}
}

// finish applies the caps, the least share of the control arm, the share of arms without any bound,
// and the promise to Serving.
func (l *Learner) finish(promised bool, bounded []bool) {
	s, control := &l.s, l.options.Control
	l.cap(s.Serving)
	if promised {
		l.makeSafe(s.Serving)
		n := 0
		for k, ok := range bounded {
			if !ok && s.Active[k] {
				n++
			}
		}
		if n > 0 {
			for k, ok := range bounded {
				s.Serving[k] = float64((1 - unboundedShare) * s.Serving[k])
				if !ok && s.Active[k] {
					s.Serving[k] += unboundedShare / float64(n)
				}
			}
		}
	}
	if control >= 0 && s.Serving[control] < l.options.Share {
		if left := 1 - s.Serving[control]; left > 0 {
			l.shrink(s.Serving, (1-l.options.Share)/left)
		}
	}
	l.sampler.Reset()
}
