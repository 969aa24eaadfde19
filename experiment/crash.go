package experiment

import (
	"math"
	"slices"
	"strconv"

	"github.com/noregret/noregret/experiment/compare"
	"github.com/noregret/noregret/experiment/definition"
)

// An arm that breaks a guardrail by itself is not worth mixing if the guardrail leaves it less than
// the share leastMixed, or leastReleased if it was stopped before its first window had closed.
const (
	leastMixed    = 0.125
	leastReleased = 0.25
)

// roomErrors is the number of standard errors by which an arm may be better than its mean when its
// room is judged: few units say that an arm breaks a limit long before they say by how much.
const roomErrors = 2

// room returns the largest share that guardrail g leaves for arm k in a mixture with the other arms
// as they were served. It uses the means, or the early values if the guardrail's metric has them,
// and takes the arm for better by [roomErrors].
func (x *roster) room(g *definition.Guardrail, k int) float64 {
	others := compare.NewStats(x.def)
	early, n, sum := earlyView{x}, int64(0), 0.0
	for j := range x.Arms {
		if j != k {
			others.Merge(&x.sums.Arms[j])
			if early.boundedSide(g) {
				units, s, _ := early.worstValues(g, j)
				n, sum = n+units, sum+s
			}
		}
	}
	var best, own float64
	if early.boundedSide(g) {
		units, s, limit := early.worstValues(g, k)
		// Of values in [0, 1] with a mean, those at the ends vary most.
		mean := s / float64(units)
		best, own = limit-sum/float64(n), limit-mean+float64(roomErrors*math.Sqrt(mean*(1-mean)/float64(units)))
	} else {
		slack, _, known := guardSlack(x.def, g, &others, x.controlStats())
		z, err, ok := guardSlack(x.def, g, &x.sums.Arms[k], x.controlStats())
		if !known || !ok {
			return 1
		}
		best, own = slack, z+float64(roomErrors*err)
	}
	if !(own < 0) || math.IsNaN(best) {
		return 1
	}
	return max(best, 0) / (max(best, 0) - own)
}

// vetoCrashing vetoes arms that break a guardrail by themselves with confidence, and so far that it
// leaves them hardly any share. Without the veto, a mixture would serve them up to that share as
// soon as the policy has learned about them. Only guardrails that stop arms veto. Suspended lists
// the arms that were suspended until now.
func (x stopper) vetoCrashing(suspended []int, now int64) {
	if x.roster.def.Policy.Kind == "fixed" || x.roster.def.Arms.Box != nil {
		return
	}
	veto, in := false, x.guardInput(true)
	for i := range x.roster.def.Guardrails {
		g := &x.roster.def.Guardrails[i]
		if !stopsArms(x.roster.def, g) {
			continue
		}
		beyond := x.beyond(in, i)
		for k := range x.roster.Arms {
			a := &x.roster.Arms[k]
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
			if k == x.roster.Control || !a.Active || !a.Observed || a.Stop != "" || was {
				continue
			}
			least := leastMixed
			if stopped {
				least = leastReleased
			}
			if most := x.roster.room(g, k); most < least {
				a.Stop, veto = vetoed, true
				a.Crashed = slices.Insert(slices.Clone(a.Crashed), at, i)
				a.Why = "guardrail " + g.Metric + ": the arm breaks it by itself, and it leaves the arm at most " +
					strconv.FormatFloat(100*most, 'f', 1, 64) + " % of the units; until the veto is lifted"
				x.note(now, "arm %s stopped: %s", a.Name, a.Why)
			}
		}
	}
	if veto {
		x.replan()
	}
}
