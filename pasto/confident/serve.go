package confident

import (
	"github.com/noregret/noregret/pasto/internal/check"
	"github.com/noregret/noregret/pasto/internal/round"
)

// mix computes Serving: the deployed mixture, or the safe one where hard guardrails are promised,
// and beside it what explores. Arms of which too little is known for that have a share of their
// own.
func (l *Learner) mix() {
	s, o, p := &l.s, &l.options, l.s.Serving
	share, spread := l.exploredShare()
	base, share, floor := s.Down, share-spread, max(o.Floor, spread)
	if l.promised() {
		base, floor = s.Safe, 0
	}
	total, unknown := 0.0, 0.0
	for k := range p {
		p[k] = l.explored(k)
		total += p[k]
		unknown += l.unknown(k)
	}
	if total == 0 {
		share, total = 0, 1
	}
	for k, v := range base {
		p[k] = float64((1-share)*v) + float64(share*(p[k]/total))
	}
	if l.promised() {
		l.plan.cap(p)
		round.Shrink(p, o.Control, round.SafeShare(p, o.Control, &l.guard.slack))
	}
	own := l.unknownShare(unknown)
	for k, v := range p {
		if p[k] = float64((1 - own) * (1 - floor) * v); s.Active[k] {
			p[k] += float64((1-own)*floor) / float64(s.Live)
		}
		if u := l.unknown(k); u > 0 {
			p[k] += float64(own * (u / unknown))
		}
	}
	l.plan.cap(p)
	for k, v := range p {
		if v > probeShare && l.doubtful(k) {
			round.Shrink(p, o.Control, probeShare/v)
		}
	}
	if o.Share > 0 && p[o.Control] < o.Share {
		round.Shrink(p, o.Control, (1-o.Share)/(1-p[o.Control]))
	}
	l.sampler.Reset()
}

// doubtful reports whether arm k is a suspect that is no better than the control if it has changed.
func (l *Learner) doubtful(k int) bool {
	if _, is := l.model.Suspects.Of(k); !is {
		return false
	}
	l.model.Estimate(l.s.Active)
	l.theta, l.other = check.Zeros(l.theta, len(l.metrics)), check.Zeros(l.other, len(l.metrics))
	for i := range l.metrics {
		l.theta[i], _ = l.seen(k, i)
		l.theta[i] += float64(l.metrics[i].Sign * l.suspected(k, i))
		l.other[i], _ = l.seen(l.options.Control, i)
	}
	return l.plan.program.Reward(l.theta) < l.plan.program.Reward(l.other)
}

// unknown is how much arm k needs a share of its own, beside the mixtures, as too little is known
// of it: 1 for all of its number's share, and 0 for none. Where hard guardrails are promised these
// are the arms without any bound. Elsewhere they are those not served yet, and after all have been,
// by half, those of fewer than three groups.
func (l *Learner) unknown(k int) float64 {
	s := &l.s
	switch {
	case !s.Active[k], l.promised() && (k == l.options.Control || !l.guard.isUnbounded(k)):
		return 0
	case l.promised(), l.model.Rounds(k) == 0:
		return 1
	case s.AllObserved && l.model.Groups(k) < fewGroups && l.options.has(noFew):
		return 0.5
	}
	return 0
}

// unknownShare is the share of all arms that need one of their own, n in number.
func (l *Learner) unknownShare(n float64) float64 {
	switch {
	case n == 0:
		return 0
	case l.promised():
		return unboundedShare
	case !l.s.AllObserved:
		return 1
	}
	return n / float64(l.s.Live)
}

// exploredShare is the share of what explores, by information, and how much of it is spread over
// all arms where nothing is promised: see [Exploration].
func (l *Learner) exploredShare() (share, spread float64) {
	s, w := &l.s, l.s.Width
	if !l.promised() {
		return l.options.unpromisedShare(w, s.Live)
	}
	if s.Unobserved > 0 {
		w = 1
	} else if l.options.has(noCandidates) { // where even p⁺ is the control hardly any arm is better
		w *= 1 - float64(settledShare*s.Up[l.options.Control])
	}
	return float64(0.5 * l.options.Exploration.Share * w * w), 0
}

// explored is the weight of arm k in what explores: it goes to the arms of p⁺. Where hard
// guardrails are promised half of it goes to all arms, and an arm has less, the more of the
// control's slack a unit of it takes.
func (l *Learner) explored(k int) float64 {
	s := &l.s
	if !s.Active[k] || l.promised() && (k == l.options.Control || l.guard.isUnbounded(k)) {
		return 0
	}
	weight, need := 0.0, 0.0
	if l.promised() && l.options.has(noSpread) {
		weight = 0.5
	}
	if l.model.Rounds(k) == 0 {
		weight = 1
	} else if l.options.has(noCandidates) {
		weight += float64(0.5 * float64(float64(s.Live)*s.Up[k]))
	}
	if !l.promised() || !l.options.has(noBudget) {
		return weight
	}
	for j, own := range l.guard.slack.Arm(l.options.Control) {
		if v := l.guard.slack.Arm(k)[j]; v < 0 {
			need = max(need, -v/max(own, float64(-1e-9*v)))
		}
	}
	return weight / (1 + need)
}
