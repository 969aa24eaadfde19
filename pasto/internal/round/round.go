// Package round holds what the learners of pasto share in a round: the checks of observations and
// their sums by arm, operations on mixtures, the draws of arms, and the identity of an objective in
// snapshots.
package round

import (
	"fmt"
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/check"
)

// CheckRetire returns an error if arm k does not exist, is already retired, or is the last active
// arm.
func CheckRetire(k int, active []bool) error {
	live := 0
	for _, a := range active {
		if a {
			live++
		}
	}
	switch {
	case k < 0 || k >= len(active):
		return noregret.BadInputf("arm", "%d is unknown: want one of 0 to %d", k, len(active)-1)
	case !active[k]:
		return noregret.BadInputf("arm", "%d is retired already", k)
	case live == 1:
		return noregret.BadInputf("arm", "%d is the last active one: at least one must stay", k)
	}
	return nil
}

// CheckObjective is [pasto.CheckProblem] for learners that follow gradients or score single arms:
// it also refuses hard guardrails.
func CheckObjective(f pasto.Objective, arms int) error {
	if err := pasto.CheckProblem(f, arms); err != nil {
		return err
	}
	if g, ok := f.(*pasto.Goals); ok && g.HasHard() {
		return noregret.BadInputf("objective", "a hard guardrail has no gradient: learn with squared "+
			"violations "+
			"and a "+
			"larger lambda for smaller ones, or with the default")
	}
	return nil
}

// Checker checks the observations of a round before any state changes, and computes the contrasts
// of relative guardrails. It keeps its buffers from round to round.
type Checker struct {
	// Raw leaves the values of relative guardrails as they are: the learner has the control as an
	// arm, and observations with a control group beside it are refused.
	Raw bool
	// Earlier admits groups of earlier rounds whose arms now have propensity 0: the learner does
	// not weight by propensities.
	Earlier bool
	obs     []pasto.Observation
	values  []float64
}

// Check returns an error if an observation of the round breaks a rule. Otherwise it returns the
// observations as the objective sees them (with contrasts in place of relative guardrails), and the
// sum of their sizes, which is 0 for groups of equal size. The result is valid until the next call.
// P is the distribution that was served; active, if not nil, marks the arms that are not retired.
func (in *Checker) Check(f pasto.Objective, obs []pasto.Observation, round int, p []float64,
	active []bool) (seen []pasto.Observation,
	total float64, err error,
) {
	if len(obs) == 0 {
		return nil, 0, noregret.BadInputf("observations", "none in round %d: at least one group is required", round)
	}
	for i := range obs {
		if err := checkObservation(&obs[i], i, f.Dim(), round, p, active); err != nil {
			return nil, 0, err
		}
		if o := &obs[i]; !(p[o.Arm] > 0) && !(o.Earlier && in.Earlier) {
			return nil, 0, observed(i, "arm %d has propensity %v in this round: it cannot have been drawn", o.Arm,
				p[o.Arm])
		}
		if (obs[i].Size > 0) != (obs[0].Size > 0) {
			return nil, 0, observed(i, "size %v beside %v: give all groups of a round a size, or none", obs[i].Size,
				obs[0].Size)
		}
		total += obs[i].Size
	}
	if u, ok := f.(*pasto.Utility); ok {
		for i := range obs {
			for m, v := range obs[i].Metrics {
				if lower, upper := u.Range(m); !(v >= lower && v <= upper) {
					return nil, 0, observed(i, "metric %d of utility %q is %v: want a number in its range [%v, %v]", m,
						u.Name, v, lower, upper)
				}
			}
		}
	}
	g, ok := f.(*pasto.Goals)
	if !ok {
		return obs, total, nil
	}
	if in.Raw || !g.HasRelative() {
		for i := range obs {
			if in.Raw && obs[i].Control != nil {
				return nil, 0,
					observed(i, "a control group, and the control is an arm of the learner: leave it out")
			}
			for m, v := range obs[i].Metrics {
				if x := &g.Metrics()[m]; !x.Admits(v) {
					return nil, 0, observed(i, "metric %q is %v: want a number in its range [%v, %v]", x.Name, v,
						x.Lower, x.Upper)
				}
			}
		}
		return obs, total, nil
	}
	in.obs = append(in.obs[:0], obs...)
	in.values = slices.Grow(in.values[:0], len(obs)*g.Dim())[:len(obs)*g.Dim()]
	for i := range in.obs {
		row := in.values[i*g.Dim() : (i+1)*g.Dim()]
		if err := g.Contrast(row, obs[i].Metrics, obs[i].Control); err != nil {
			return nil, 0, observed(i, "%w", err)
		}
		in.obs[i].Metrics = row
	}
	in.relate(g, obs)
	return in.obs, total, nil
}

// relate takes the sign of the control's mean in relative guardrails from all values of the round:
// it is negative where all of them are, of arms and control groups. With the sign of each value
// alone the noise of a control group near 0 would turn its limit around, and so move the mean of
// the contrasts.
func (in *Checker) relate(g *pasto.Goals, obs []pasto.Observation) {
	for m := range g.Metrics() {
		x := &g.Metrics()[m]
		if !x.Relative {
			continue
		}
		sign := -1.0
		for i := range obs {
			if obs[i].Control[m] >= 0 || obs[i].Metrics[m] >= 0 {
				sign = 1
			}
		}
		factor := x.Factor(sign)
		for i := range obs {
			in.obs[i].Metrics[m] = obs[i].Metrics[m] - float64(factor*obs[i].Control[m])
		}
	}
}

// checkObservation returns an error if observation i of a round breaks a rule of its own.
func checkObservation(o *pasto.Observation, i, metrics, round int, p []float64, active []bool) error {
	switch {
	case o.Arm < 0 || o.Arm >= len(p):
		return observed(i, "arm %d is unknown: want one of 0 to %d", o.Arm, len(p)-1)
	case active != nil && !active[o.Arm]:
		return observed(i, "arm %d is retired: archive what comes late", o.Arm)
	case o.Round != 0 && o.Round < round:
		return observed(i, "round %d is closed already: a duplicate or a late observation, round %d is running",
			o.Round, round)
	case o.Round > round:
		return observed(i, "round %d is unknown: round %d is running", o.Round, round)
	case len(o.Metrics) != metrics:
		return observed(i, "%d metrics: want %d", len(o.Metrics), metrics)
	case o.Size != 0 && !(o.Size >= check.SmallestSize && o.Size <= check.LargestSize):
		return observed(i, "size %v: want 0, or a number from %v to %v", o.Size, check.SmallestSize, check.LargestSize)
	}
	for m, v := range o.Metrics {
		if !(math.Abs(v) <= check.Largest) {
			return observed(i, "metric %d is %v: want a finite number, of size at most %v", m, v, check.Largest)
		}
	}
	if err := checkVariances(o, i, metrics); err != nil {
		return err
	}
	for m, v := range o.Control {
		if !(math.Abs(v) <= check.Largest) {
			return observed(i, "control metric %d is %v: want a finite number, of size at most %v", m, v, check.Largest)
		}
	}
	return nil
}

// checkVariances returns an error if the variances of observation i are not those of one unit each.
func checkVariances(o *pasto.Observation, i, metrics int) error {
	switch {
	case o.Variances == nil:
		return nil
	case len(o.Variances) != metrics:
		return observed(i, "%d variances: want %d, or none", len(o.Variances), metrics)
	case o.Size == 0:
		return observed(i, "variances and no size: want the number of units")
	}
	for m, v := range o.Variances {
		if v == v && !(v >= 0 && v <= check.Largest*check.Largest) {
			return observed(i, "variance %d is %v: want a number from 0 to %v, or NaN if it is unknown", m, v,
				check.Largest*check.Largest)
		}
	}
	return nil
}

// observed is an error about observation i of a round.
func observed(i int, format string, args ...any) error {
	return noregret.BadInputf(fmt.Sprintf("observations[%d]", i), format, args...)
}

// SnapshotMagic begins the snapshots of all learners of pasto.
const SnapshotMagic = "noregret-pasto-2\n"

// Identity is what a snapshot says of the objective it was learned for: metrics and softness of
// [pasto.Goals], name and constants of a [pasto.Utility], what String says of others, or the type
// if there is no String.
func Identity(f pasto.Objective) string {
	if s, ok := f.(fmt.Stringer); ok {
		return s.String()
	}
	return fmt.Sprintf("%T(metrics=%d)", f, f.Dim())
}

// NewTable returns a table of zeros. Arms and metrics must be at least 0.
func NewTable(arms, metrics int) *pasto.Table {
	t := new(pasto.Table)
	t.Reset(arms, metrics)
	return t
}
