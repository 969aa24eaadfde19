package pasto

// Infeasible tells whether the guardrails, hard or not, can be held at all, by what is known so far: nil when
// some mixture of the arms served so far holds them by the estimates V̂, else the least violation there is
// by them. Sure reports that not even estimates moved in the good direction by three standard errors could
// hold them. It solves two linear programs, and changes nothing. For objectives that are not [Goals], and
// before two groups of an arm have been seen, it is nil.
func (l *Confident) Infeasible() (least *Infeasible, sure bool) {
	g, ok := l.objective.(*Goals)
	if !ok || l.s.Freedom <= 0 {
		return nil, false
	}
	means, errs := l.Estimate()
	part, best := &Table{metrics: means.metrics}, &Table{metrics: means.metrics}
	var arms []int
	for k, ok := range l.s.Active {
		if !ok || l.s.Count[k] == 0 {
			continue
		}
		arms = append(arms, k)
		part.arms++
		best.arms++
		part.data = append(part.data, means.Arm(k)...)
		for i, v := range means.Arm(k) {
			best.data = append(best.data, v+float64(float64(3*l.sign[i])*errs.Arm(k)[i]))
		}
	}
	if part.arms == 0 {
		return nil, false
	}
	least = infeasibleOf(CheckFeasible(g, part))
	if least == nil {
		return nil, false
	}
	q := least.Mixture
	least.Mixture = make([]float64, l.Arms())
	for i, k := range arms {
		least.Mixture[k] = q[i]
	}
	return least, infeasibleOf(CheckFeasible(g, best)) != nil
}
