package optimum

import (
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/pasto/internal/check"
)

// least runs the first phase: the least total violation, each guardrail's in its own scale, and if
// they cannot be held to within what tight leaves them the least in the metrics' units. It reports
// whether all can be held; then the artificial variables are closed. What it reports is so in the
// metrics' own units, to within their slack or rounding.
func (lp *program) least() (feasible bool, err error) {
	for {
		if feasible, err = lp.phase(); err != nil {
			return false, err
		}
		lp.mix = lp.mixtureTo(lp.mix)
		again, err := lp.refine(lp.mix, feasible)
		switch {
		case err != nil:
			return false, err
		case again:
			continue
		case !feasible && lp.wild && !lp.proves():
			return false, noregret.BadInputf("means",
				"nothing shows that no mixture holds the guardrails: the linear program "+
					"is "+
					"too ill-conditioned")
		}
		return feasible, nil
	}
}

// phase is least by the scales that there are.
func (lp *program) phase() (feasible bool, err error) {
	if feasible, err = lp.reach(); feasible || err != nil {
		return feasible, err
	}
	all, used := 0.0, false
	for j, v := range lp.slack {
		all += v / lp.scale[j]
	}
	if !lp.relaxed && lp.shortfall() <= all+lp.tol {
		lp.relaxed = true
		copy(lp.room, lp.slack)
		if feasible, err = lp.reach(); feasible || err != nil {
			return feasible, err
		}
	}
	for _, v := range lp.room {
		used = used || v > 0
	}
	if used { // what is least is the violation of the thresholds themselves
		clear(lp.tight)
		lp.begin()
		if err := lp.run(true); err != nil {
			return false, err
		}
	}
	largest := slices.Max(lp.scale)
	for j, s := range lp.scale {
		lp.weight[j] = s / largest
	}
	return false, lp.run(true)
}

// reach looks for a mixture that does what tight demands.
func (lp *program) reach() (bool, error) {
	lp.tighten()
	for j := range lp.weight {
		lp.weight[j] = 1
	}
	lp.begin()
	if err := lp.run(true); err != nil {
		return false, err
	}
	lp.closed = lp.shortfall() <= lp.tol
	return lp.closed, nil
}

// proves reports whether the dual prices of the first phase show that no mixture holds the
// guardrails: each arm's levels cost more than they earn.
func (lp *program) proves() bool {
	if !lp.multipliers(true) {
		return false
	}
	for k := range lp.means.Arms() {
		v := 0.0
		for j, d := range lp.dual[:len(lp.rows)] {
			v += float64(max(-d, 0) * lp.level(k, j))
		}
		if !(v < 0) {
			return false
		}
	}
	return true
}

const (
	// hidden is the part of a row's scale below which what a mixture reaches may be hidden by the
	// tolerance.
	hidden = 1e-3
	// rounded is the part of its terms to which a sum is exact.
	rounded = 1e-13
	// sharp is the tolerance where the usual one is not fine enough.
	sharp = 1e-14
)

// refine looks at the mixture p in the metrics' own units. Where it breaks a guardrail and is far
// below its scale, that of an arm far outside, the scale becomes what p reaches; where it is not
// and p was found to hold the guardrail, the tolerance becomes finer. It reports whether the
// program is to be solved again; what is left when that is of no more use is an error, unless
// rounding explains it.
func (lp *program) refine(p []float64, feasible bool) (again bool, err error) {
	for j, i := range lp.rows {
		y, reached, size := 0.0, 0.0, math.Abs(lp.limit[j])
		for k, w := range p {
			if w == 0 {
				continue
			}
			v := lp.means.Arm(k)[i]
			y += float64(w * v)
			reached += float64(w * math.Abs(v-lp.limit[j]))
			size += float64(w * math.Abs(v))
		}
		switch v := float64(lp.sign[j] * (lp.limit[j] - y)); {
		case !check.Finite(v):
			return false, noregret.BadInputf("means",
				"the linear program's mixture is not finite: it is too ill-conditioned")
		case v <= lp.slack[j]+float64(rounded*size):
		case reached < float64(hidden*lp.scale[j]):
			lp.scale[j] = max(reached, lp.slack[j])
			lp.units[i] = lp.scale[j]
			lp.wild, again = true, true
		case v <= float64(1.1*lp.slack[j])+float64(rounded*lp.scale[j]):
		case feasible && lp.tol > sharp:
			lp.tol, lp.wild, again = sharp, true, true
		case feasible && !again:
			return false, noregret.BadInputf("means",
				"the linear program's mixture passes a threshold of %v by %v: it is too "+
					"ill-conditioned", lp.limit[j], v)
		}
	}
	return again, nil
}
