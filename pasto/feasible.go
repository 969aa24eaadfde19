package pasto

import (
	"math"

	"github.com/noregret/noregret/internal/portable"
)

// Infeasible tells whether the guardrails, hard or not, can be held at all, by what is known so far: nil when
// some mixture of the arms served so far holds them by the estimates V̂, else the least violation there is
// by them. Sure reports that not even estimates moved in the good direction by three standard errors could
// hold them, or more than three while the errors rest on little: the quantile of Student's t that leaves out
// as much as three do of the normal distribution, for as many degrees of freedom as variances, and effects
// common to the groups of a round where these have a part in the errors, are known from. It solves two linear
// programs, and changes nothing. For objectives that are not [Goals], and before two groups of an arm have
// been seen, it is nil.
func (l *Confident) Infeasible() (least *Infeasible, sure bool) {
	g, ok := l.objective.(*Goals)
	if !ok || l.s.Freedom <= 0 {
		return nil, false
	}
	means, errs := l.Estimate()
	part, best := &Table{metrics: means.metrics}, &Table{metrics: means.metrics}
	z := l.allowance(3)
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
			best.data = append(best.data, v+float64(float64(z*l.sign[i])*errs.Arm(k)[i]))
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
	return least, !math.IsInf(z, 1) && infeasibleOf(CheckFeasible(g, best)) != nil
}

// allowance is the number of standard errors to allow for where z would do if they were known: +Inf where
// nothing is known of effects that groups of a round have in common and some arm had several in a round.
func (l *Confident) allowance(z float64) float64 {
	n := l.s.Freedom
	for k, ok := range l.s.Active {
		if ok && l.s.Count[k] > 0 && l.shares(k) {
			n = min(n, l.tauFreedom())
		}
	}
	return student(z, n)
}

// student is the quantile of Student's t with n degrees of freedom that leaves out what z does of the normal
// distribution, by Wallace's approximation: within a tenth from n = 3, and more than the quantile below.
func student(z, n float64) float64 {
	if !(n > 0) {
		return math.Inf(1)
	}
	c := (float64(8*n) + 3) / (float64(8*n) + 1)
	e := float64(float64(float64(z*z)*float64(c*c)) / n)
	switch {
	case e > 200:
		return math.Inf(1)
	case e < 1e-8:
		return z
	}
	return math.Sqrt(float64(n * (portable.Exp(e) - 1)))
}
