package guard

import (
	"math"
	"slices"
	"strconv"

	"github.com/noregret/noregret/experiment/compare"
	"github.com/noregret/noregret/experiment/definition"
)

// Reason is why an active arm gets no share, "" where it may get one.
type Reason string

const (
	// Vetoed arms get no share until the veto is lifted. Policies do not plan with them.
	Vetoed Reason = "veto"
	// Suspended arms get no share until their first window has closed.
	Suspended Reason = "suspended"
)

// Stopped says whether an arm may be served.
type Stopped struct {
	Stop Reason `json:"stop,omitempty"`
	// Why explains Stop to people.
	Why string `json:"why,omitempty"`
	// Beyond lists the guardrails that the arm by itself breaks with confidence, ascending, so that
	// each acts once.
	Beyond []int `json:"beyond,omitempty"`
	// Crashed lists the guardrails for which the arm was vetoed as one that crashes, ascending, so
	// that each does so once.
	Crashed []int `json:"crashed,omitempty"`
	// Observed reports whether a window of the arm has closed.
	Observed bool `json:"observed,omitempty"`
}

// Observe records that a window of the arm has closed, which ends its suspension.
func (x *Stopped) Observe() {
	x.Observed = true
	if x.Stop == Suspended {
		x.Stop, x.Why = "", ""
	}
}

// Arm is an arm that guardrails may stop.
type Arm struct {
	Name   string
	Active bool
	*Stopped
}

// Stops reports whether a guardrail stops arms that by themselves break it with confidence: until a
// veto is lifted if every arm must hold it, else until their first window has closed. A soft
// guardrail that only alerts stops nothing. Under a fixed policy only those do that shrink, or that
// every arm must hold.
func Stops(d *definition.Definition, g *definition.Guardrail) bool {
	if d.Policy.Kind == "fixed" {
		return g.EachArm || g.Action == "shrink"
	}
	return g.EachArm || g.Hard || g.Action != "alert"
}

// stopArms stops the arms that by themselves break a guardrail with confidence. It reports whether
// there are any.
func (x *States) stopArms(e *Evidence, arms []Arm, p []float64, v *Verdict) (stopped bool) {
	d := e.Definition
	for i := range d.Guardrails {
		g := &d.Guardrails[i]
		if !Stops(d, g) {
			continue
		}
		beyond := x.beyond(e, i)
		for k := range arms {
			a := &arms[k]
			if k == e.Control || !a.Active || !x.turned(e, i, a, beyond(k), p) {
				continue
			}
			switch {
			case a.Stop == Vetoed || a.Stop == Suspended && !g.EachArm || !g.EachArm && a.Observed:
				continue
			case g.EachArm || d.Policy.Kind == "fixed":
				a.Stop, a.Why, v.Vetoed = Vetoed, "guardrail "+g.Metric+": the arm breaks it by itself; until the "+
					"veto is lifted", true
			default:
				a.Stop, a.Why = Suspended, "guardrail "+g.Metric+": the arm breaks it by itself; until its first "+
					"window has closed"
			}
			stopped = true
			v.note("arm %s stopped: %s", a.Name, a.Why)
		}
	}
	return stopped
}

// beyond returns a function that reports whether an arm by itself breaks guardrail i with
// confidence.
func (x *States) beyond(e *Evidence, i int) func(k int) bool {
	g := &e.Definition.Guardrails[i]
	if e.boundedSide(g) {
		return func(k int) bool { return e.beyond(g, k) }
	}
	_, up, _, _ := g.Limit()
	arm, _ := x.slacks(e, i)
	inflation := e.inflated(e.Definition.MetricIndex(g.Metric))
	return func(k int) bool {
		a := arm(k)
		return up && a.To < 0 || !up && a.From > 0 || x.beyondEarly(e, i, k, inflation)
	}
}

// turned records whether an arm breaks guardrail i by itself, and reports whether it did not
// before. Of a guardrail that only the mixture p must hold, an arm does not count if p holds it
// with confidence.
func (x *States) turned(e *Evidence, i int, a *Arm, beyond bool, p []float64) bool {
	at, was := slices.BinarySearch(a.Beyond, i)
	if beyond && !was && !e.Definition.Guardrails[i].EachArm {
		beyond = !(x.Slack(e, i, p).Low >= 0)
	}
	switch {
	case beyond && !was:
		a.Beyond = slices.Insert(slices.Clone(a.Beyond), at, i)
		return true
	case !beyond && was:
		a.Beyond = slices.Delete(slices.Clone(a.Beyond), at, at+1)
	}
	return false
}

// Release begins to shrink the mixture for guardrails that arms break by themselves whose
// suspension has ended. The mixture with these arms must be shown to hold the limit from its first
// unit on. Suspended are the arms that were suspended before.
func (x *States) Release(d *definition.Definition, arms []Arm, suspended []int) (v Verdict) {
	for _, k := range suspended {
		if arms[k].Stop == Suspended {
			continue
		}
		for _, i := range arms[k].Beyond {
			if g := &d.Guardrails[i]; g.Action == "shrink" && !x.Guards[i].Shrinking {
				x.Guards[i].Shrinking = true
				v.note("arm %s no longer stopped: the mixture is shrunk for the guardrail %s", arms[k].Name, g.Metric)
			}
		}
	}
	return v
}

// An arm that breaks a guardrail by itself is not worth mixing if the guardrail leaves it less than
// the share leastMixed, or leastReleased if it was stopped before its first window had closed.
const (
	leastMixed    = 0.125
	leastReleased = 0.25
)

// VetoCrashing vetoes arms that break a guardrail by themselves with confidence, and so far that it
// leaves them hardly any share. Without the veto, a mixture would serve them up to that share as
// soon as the policy has learned about them. Only guardrails that stop arms veto; suspended lists
// the arms that were suspended until now.
func (x *States) VetoCrashing(e *Evidence, arms []Arm, suspended []int) (v Verdict) {
	d := e.Definition
	if d.Policy.Kind == "fixed" || d.Arms.Box != nil {
		return v
	}
	for i := range d.Guardrails {
		g := &d.Guardrails[i]
		if !Stops(d, g) {
			continue
		}
		beyond := x.beyond(e, i)
		for k := range arms {
			a := &arms[k]
			at, was := slices.BinarySearch(a.Crashed, i)
			// The sequence that stopped a suspended arm holds at all times: once is enough. It is
			// that of the guardrail that the arm breaks, and says nothing about others.
			stopped := slices.Contains(suspended, k) && slices.Contains(a.Beyond, i)
			if !stopped && !beyond(k) {
				if was {
					a.Crashed = slices.Delete(slices.Clone(a.Crashed), at, at+1)
				}
				continue
			}
			if k == e.Control || !a.Active || !a.Observed || a.Stop != "" || was {
				continue
			}
			least, errors := leastMixed, roomErrors
			if stopped {
				least, errors = leastReleased, 0
			}
			if most := e.room(g, k, errors); most < least {
				a.Stop, v.Vetoed = Vetoed, true
				a.Crashed = slices.Insert(slices.Clone(a.Crashed), at, i)
				a.Why = "guardrail " + g.Metric + ": the arm breaks it by itself, and it leaves the arm at most " +
					strconv.FormatFloat(100*most, 'f', 1, 64) + " % of the units; until the veto is lifted"
				v.note("arm %s stopped: %s", a.Name, a.Why)
			}
		}
	}
	return v
}

// roomErrors is the number of standard errors by which an arm may be better than its mean when its
// room is judged: few units say that an arm breaks a limit long before they say by how much. An
// arm that was stopped is judged by its mean: it would get its share back.
const roomErrors = 2.0

// room returns the largest share that a guardrail leaves for arm k in a mixture with the other arms
// as they were served. It uses the means, or the early values if the guardrail's metric has them,
// and takes the arm for better by some standard errors.
func (e *Evidence) room(g *definition.Guardrail, k int, errors float64) float64 {
	d := e.Definition
	others, n, sum := compare.NewStats(d), int64(0), 0.0
	for j := range e.Joined.Arms {
		if j != k {
			others.Merge(e.Stats(j))
			if e.boundedSide(g) {
				units, s, _ := e.worst(g, j)
				n, sum = n+units, sum+s
			}
		}
	}
	var best, own float64
	if e.boundedSide(g) {
		units, s, limit := e.worst(g, k)
		// Of values in [0, 1] with a mean, those at the ends vary most.
		mean := s / float64(units)
		best, own = limit-sum/float64(n), limit-mean+float64(errors*math.Sqrt(mean*(1-mean)/float64(units)))
	} else {
		slack, _, known := SlackOf(d, g, &others, e.control())
		z, err, ok := SlackOf(d, g, e.Stats(k), e.control())
		if !known || !ok {
			return 1
		}
		best, own = slack, z+float64(errors*err)
	}
	if !(own < 0) || math.IsNaN(best) {
		return 1
	}
	return max(best, 0) / (max(best, 0) - own)
}

// SlackOf returns the slack of an arm in a guardrail and its standard error, by the sums of its
// units: y − c for a lower limit, c − y for an upper one, with numerator − c·denominator for a
// ratio, and c = control + change·|control| for a change. Control is nil without a control arm. Ok
// is false where a mean is not known.
func SlackOf(d *definition.Definition, g *definition.Guardrail, a, control *compare.Stats) (z, err float64, ok bool) {
	limit, up, relative, _ := g.Limit()
	m := d.MetricIndex(g.Metric)
	r := d.RatioIndex(m)
	if relative {
		if control == nil {
			return 0, 0, false
		}
		n, mean := control.Mean(d, m)
		if n == 0 {
			return 0, 0, false
		}
		limit = OfControl(mean, limit)
	}
	s := a.Observations(d, m, limit)
	if r >= 0 {
		limit = 0 // it is in the observations
	}
	if z = s.Mean - limit; !up {
		z = -z
	}
	if s.N > 1 {
		err = math.Sqrt(s.M2 / (float64(s.N) * float64(s.N-1)))
	}
	return z, err, s.N > 0
}

// OfControl returns the limit y + change·|y| for a change relative to the control's mean y.
func OfControl(y, change float64) float64 { return y + float64(change*math.Abs(y)) }
