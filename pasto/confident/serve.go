package confident

import (
	"fmt"
	"math"

	"github.com/noregret/noregret/internal/portable"
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

// Promise says whether the hard guardrails are promised for what is served, and why not.
//
// The promise is this. Let every metric's errors be sub-Gaussian with the variances that the
// learner uses, or asymptotically so, and let means not change, but for what the arms of a round
// have in common. Let the control arm hold the guardrails. Each arm has for each hard guardrail a
// bound that is valid in all rounds together with probability 1 − Alpha/(K·J), for K arms and J
// hard guardrails: the one-sided normal-mixture boundary (Robbins 1970; Howard, Ramdas, McAuliffe
// and Sekhon 2021, equation 14). An arm without data has the worst value of its range. Then with
// probability at least 1 − Alpha no served mixture p breaks a guardrail, as Σ_k p_k·(bound of k) is
// at least its limit in each round: the optimistic-pessimistic linear program of Pacchiano,
// Ghavamzadeh, Bartlett and Jiang (2021), in which the control arm is the safe start.
func (l *Learner) Promise() Promise {
	none := func(format string, args ...any) Promise { return Promise{Reason: fmt.Sprintf(format, args...)} }
	switch {
	case !l.hard:
		return none("no guardrail is hard")
	case l.options.Control < 0:
		return none("no control arm is named, so that no mixture is safe to begin with")
	case l.options.Hold == Deployed:
		return none("guardrails are held by what is deployed only")
	}
	l.est.estimate()
	for _, i := range l.guards {
		x := &l.goals.Metrics()[i]
		if l.guard.controlBreaks(i) {
			return none("the control arm itself does not hold %q", x.Name)
		}
		for k, active := range l.s.Active {
			if active && l.s.Stats.Rounds[k] == 0 && !x.HasRange() {
				return none("%q has no range, and arm %d has no data: such arms get at most %v of all units", x.Name, k,
					unboundedShare)
			}
		}
	}
	return Promise{Holds: true, Alpha: l.options.Alpha}
}

// mix computes Serving.
func (l *Learner) mix() {
	if l.promised() {
		l.mixSafely()
	} else {
		l.mixFreely()
	}
	if share, s := l.options.Share, l.s.Serving; share > 0 && s[l.options.Control] < share {
		l.guard.shrink((1 - share) / (1 - s[l.options.Control]))
	}
	l.sampler.Reset()
}

// mixFreely serves p⁻, p⁺ and the arms of which little is known. Arms not served since the start or
// their last change get all at first, and later their number's share; those of one or two groups
// get half of theirs.
func (l *Learner) mixFreely() {
	s, o := &l.s, &l.options
	unseen := 0.0
	if s.Unobserved > 0 {
		unseen = 1
		if s.AllObserved {
			unseen = float64(s.Unobserved) / float64(s.Live)
		}
	}
	alpha, each := l.optimisticShare(), 0.0
	if o.has(noSpread) {
		each = float64(0.1 * max(s.Width, 1/math.Sqrt(float64(s.T-s.Began)+10)))
	}
	few, weight := 0, 0.0
	for k, active := range s.Active {
		if n := s.Stats.Count[k]; active && n > 0 && n < fewGroups {
			few++
		}
	}
	if few > 0 && o.has(noFew) {
		weight = float64((1 - unseen) * float64(0.5*float64(few)/float64(s.Live)))
	}
	rest := 1 - unseen - weight
	each = float64(rest * max(each, o.Floor))
	rest -= each
	for k := range s.Serving {
		p := float64(rest * (float64(alpha*s.Up[k]) + float64((1-alpha)*s.Down[k])))
		if s.Active[k] {
			p += each / float64(s.Live)
			if s.Stats.Rounds[k] == 0 {
				p += unseen / float64(s.Unobserved)
			} else if weight > 0 && s.Stats.Count[k] < fewGroups {
				p += weight / float64(few)
			}
		}
		s.Serving[k] = p
	}
	l.plan.cap(s.Serving)
}

// optimisticShare is the share of the optimistic mixture, by information.
func (l *Learner) optimisticShare() float64 {
	o, w := &l.options.Exploration, l.s.Width
	if l.options.Control >= 0 {
		return l.exploredShare()
	}
	if !(w > 0) {
		return 0
	}
	return min(o.Share, float64(o.Decay*portable.Exp(float64(2*portable.Log(w))/3)))
}

// exploredShare is the share that explores where there is a control arm: half of the largest at
// first, and as much again over √t.
func (l *Learner) exploredShare() float64 {
	return float64(0.5 * l.options.Exploration.Share * min(1, 2/math.Sqrt(float64(l.s.T-l.s.Began)+1)))
}

// mixSafely serves the safe mixture and what explores, made safe together.
func (l *Learner) mixSafely() {
	s, control := &l.s, l.options.Control
	guards := len(l.guards)
	// Where even p⁺ is the control no arm is likely to be better than it.
	share := l.exploredShare()
	if s.Unobserved == 0 && l.options.has(noCandidates) {
		share = float64(share * (1 - float64(settledShare*s.Up[control])))
	}
	total, unbounded := 0.0, 0
	for k, active := range s.Active {
		s.Serving[k] = 0
		if !active || k == control {
			continue
		}
		if l.guard.isUnbounded(k) {
			unbounded++
			continue
		}
		need := 0.0 // what a unit of the arm takes, in slacks of a unit of the control
		for j := range l.guards {
			if v, own := l.guard.slack[k*guards+j], l.guard.slack[control*guards+j]; v < 0 {
				need = max(need, -v/max(own, float64(-1e-9*v)))
			}
		}
		w := 1.0
		if l.options.has(noBudget) {
			w = 1 / (1 + need)
		}
		if l.options.has(noCandidates) && s.Stats.Rounds[k] > 0 {
			w = float64(w * (0.5 + float64(0.5*float64(float64(s.Live)*s.Up[k]))))
		}
		s.Serving[k] = w
		total += w
	}
	if total > 0 {
		for k := range s.Serving {
			s.Serving[k] /= total
		}
		share = l.guard.affordable(share)
	} else {
		share = 0
	}
	for k, p := range s.Serving {
		s.Serving[k] = float64((1-share)*s.Safe[k]) + float64(share*p)
	}
	l.plan.cap(s.Serving)
	l.guard.makeSafe()
	if unbounded == 0 {
		return
	}
	for k, active := range s.Active {
		s.Serving[k] = float64((1 - unboundedShare) * s.Serving[k])
		if active && k != control && l.guard.isUnbounded(k) {
			s.Serving[k] += unboundedShare / float64(unbounded)
		}
	}
}
