package simplex

import "slices"

// Feasible runs the first phase: it looks for a distribution that satisfies all rows. If there is
// one it leaves a feasible basis for [Program.Maximize] and reports true. If there is none,
// Solution is one of least total violation in the units of the values. The result holds in the
// rows' own units, up to their slack or rounding.
func (lp *Program) Feasible() (bool, error) {
	for {
		feasible, err := lp.firstPhase()
		if err != nil {
			return false, err
		}
		lp.best = lp.Solution(lp.best)
		again, err := lp.Refine(lp.best, feasible)
		switch {
		case err != nil:
			return false, err
		case again:
			continue
		case !feasible && lp.hasOutlier && !lp.provesInfeasible():
			return false, ErrProof
		}
		return feasible, nil
	}
}

// firstPhase is Feasible with the current scales. It first minimizes the violations in their own
// scales and, if that does not reach 0, in the rows' own units.
func (lp *Program) firstPhase() (feasible bool, err error) {
	if feasible, err = lp.reach(); feasible || err != nil {
		return feasible, err
	}
	all, used := 0.0, false
	for j := range lp.scale {
		all += lp.problem.Rows[j].Slack / lp.scale[j]
	}
	if !lp.relaxed && lp.shortfall() <= all+lp.tol {
		lp.relaxed = true
		for j := range lp.margin {
			lp.margin[j] = lp.problem.Rows[j].Slack
		}
		if feasible, err = lp.reach(); feasible || err != nil {
			return feasible, err
		}
	}
	for _, v := range lp.margin {
		used = used || v > 0
	}
	if used { // the violation is counted from the limits themselves
		clear(lp.demand)
		lp.initialBasis()
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

// reach looks for a distribution that meets the demands.
func (lp *Program) reach() (bool, error) {
	for j, s := range lp.scale {
		lp.demand[j] = (lp.push[j] - lp.margin[j]) / s
		lp.weight[j] = 1
	}
	lp.initialBasis()
	if err := lp.run(true); err != nil {
		return false, err
	}
	lp.closed = lp.shortfall() <= lp.tol
	return lp.closed, nil
}

// initialBasis makes the basis of the point of the largest gain, with the surplus of rows that it
// satisfies and the artificial variables of the others.
func (lp *Program) initialBasis() {
	first, inside, n, m := 0, -1, lp.problem.Points, len(lp.scale)
	for k, v := range lp.gain {
		if v > lp.gain[first] {
			first = k
		}
		if lp.FromInside && (inside < 0 || v > lp.gain[inside]) && lp.meets(k) {
			inside = k
		}
	}
	if inside >= 0 {
		first = inside
	}
	lp.basis, lp.closed = lp.basis[:0], false
	for j := range m {
		c := n + j
		if lp.level(first, j) < lp.demand[j] {
			c += m
		}
		lp.basis = append(lp.basis, c)
	}
	lp.basis = append(lp.basis, first)
	clear(lp.inBasis)
	for _, c := range lp.basis {
		lp.inBasis[c] = true
	}
}

// meets reports whether point k alone meets all demands.
func (lp *Program) meets(k int) bool {
	for j, level := range lp.levelsOf(k) {
		if level < lp.demand[j] {
			return false
		}
	}
	return true
}

// shortfall is the sum of the artificial variables.
func (lp *Program) shortfall() float64 {
	v := 0.0
	for i, c := range lp.basis {
		if c >= lp.problem.Points+len(lp.scale) {
			v += max(lp.x[i], 0)
		}
	}
	return v
}

// provesInfeasible reports whether the dual prices of the first phase prove that no distribution
// satisfies the rows: at these prices each point's levels are worth less than 0.
func (lp *Program) provesInfeasible() bool {
	if !lp.multipliers(true) {
		return false
	}
	for k := range lp.problem.Points {
		v := 0.0
		for j, level := range lp.levelsOf(k) {
			v += float64(max(-lp.dual[j], 0) * level)
		}
		if !(v < 0) {
			return false
		}
	}
	return true
}
