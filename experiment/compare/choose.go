package compare

import "math"

// agreement is the number of standard errors of a shorter memory within which a longer one must
// agree with it.
const agreement = 3

// Rule says in which memory estimates are.
type Rule int

const (
	// Bank chooses for each arm the longest memory that agrees with all shorter ones (Lepski's
	// rule), and has a recent one beside it; the zero value.
	Bank Rule = iota
	// All takes all rounds.
	All
	// Fixed takes the memory that [Store.Fix] has added.
	Fixed
)

// Chosen are the estimates of a metric, for each arm in the memory that suits it, and a workspace
// for others: a second use on as many arms allocates nothing. [Store.Choose] writes them.
type Chosen struct {
	// Rule says in which memory; it is set before [Store.Choose].
	Rule Rule
	// Known, Delta and Error are the contrasts with the control by arm, and their standard errors.
	Known        []bool
	Delta, Error []float64
	// Memory is the memory of each arm's contrast: the longest that agrees with all shorter ones.
	Memory []int
	// Change is by arm the contrast less that in the next longer memory, 0 in the longest.
	Change []float64
	// Level is the control's, over all rounds.
	Level Level
	// Recent are the estimates of the recent memory, nil with a rule that has none.
	Recent *Contrasts

	all    [Memories]Contrasts
	solved []Contrasts // those that the rule looks at
	scale  []float64   // the error of each arm in units of that over all rounds
	scaled []float64
	ridge  float64 // of bounds for all rounds, 0 for errors: see [Chosen.Uniform]
	twice  []float64
}

// Recent returns the recent memory of a metric: the longest one with an end that is at most .2 of
// the rounds so far, and that of 24 rounds at first.
func (s *Store) Recent(metric int) int {
	const share, first = 0.2, 2
	for i := 1; i < first; i++ {
		if lengths[i] <= float64(share*float64(s.metrics[metric].rounds)) {
			return i
		}
	}
	return first
}

// Choose writes the estimates of a metric for the coefficient c of its second part, 0 for plain
// metrics. [Chosen.Combine] changes c. It costs O(K³) for the arms that are known, and O(K) above
// 128 arms.
func (s *Store) Choose(dst *Chosen, metric int, c float64) {
	m := &s.metrics[metric]
	if dst.Rule != Bank {
		memory := 0
		if dst.Rule == Fixed && s.fixed > 0 {
			memory = Memories
		}
		s.Contrasts(&dst.all[0], metric, memory, c)
		dst.solved, dst.Recent = dst.all[:1], nil
		dst.Combine(c)
		return
	}
	for i := range dst.all {
		e, all := &dst.all[i], &dst.all[0]
		s.solve(e, m, i)
		if i == 0 {
			e.between(&m.memories[0], s.arms, m.rounds)
		} else {
			e.seen, e.mass, e.mass2, e.sums, e.rounds = all.seen, all.mass, all.mass2, all.sums, all.rounds
		}
		e.centre()
	}
	dst.solved = dst.all[:]
	dst.Recent = &dst.all[s.Recent(metric)]
	dst.Combine(c)
}

// Combine makes the estimates those of x − c·y. It costs O(K).
func (e *Chosen) Combine(c float64) {
	for i := range e.solved {
		e.solved[i].Combine(c)
	}
	all := &e.all[0]
	arms := len(all.Known)
	e.Known, e.Delta, e.Error = zeros(e.Known, arms), zeros(e.Delta, arms), zeros(e.Error, arms)
	e.Memory, e.Change = zeros(e.Memory, arms), zeros(e.Change, arms)
	e.scale, e.scaled = zeros(e.scale, arms), zeros(e.scaled, arms)
	e.Level, e.ridge = all.Level, 0
	for k, known := range all.Known {
		e.Error[k] = math.Inf(1)
		if !known {
			continue
		}
		i := e.agreeing(k)
		x := &e.all[i]
		e.Known[k], e.Memory[k], e.Delta[k], e.Error[k] = true, i, x.Delta[k], math.Sqrt(x.Variance[k])
		if i > 0 {
			e.Change[k] = x.Delta[k] - e.all[i-1].Delta[k]
		}
		if v := all.Variance[k]; v > 0 {
			e.scale[k] = e.Error[k] / math.Sqrt(v)
		}
	}
}

// agreeing returns the longest memory whose contrast of arm k agrees with those of all shorter
// ones.
func (e *Chosen) agreeing(k int) int {
	for i := range e.solved {
		agrees := true
		for j := i + 1; j < len(e.solved); j++ {
			if x := &e.all[j]; x.Known[k] {
				d := math.Abs(e.all[i].Delta[k] - x.Delta[k])
				agrees = agrees && d <= float64(agreement*math.Sqrt(x.Variance[k]))
			}
		}
		if agrees && e.all[i].Known[k] {
			return i
		}
	}
	return 0
}

// Product writes Σp, where Σ_jk = ρ_jk·se_j·se_k with the correlations ρ over all rounds and the
// errors of the chosen memories: always positive semidefinite. O(K²), and O(K) above 128 arms.
//
// After [Chosen.Uniform] it is the matrix of that.
func (e *Chosen) Product(dst, p []float64) {
	e.product(dst, p)
	if e.ridge > 0 {
		e.twice = zeros(e.twice, len(p))
		e.product(e.twice, dst)
		for k, v := range e.twice {
			dst[k] += float64(e.ridge * v)
		}
	}
}

func (e *Chosen) product(dst, p []float64) {
	for k, v := range p {
		e.scaled[k] = float64(v * e.scale[k])
	}
	e.all[0].Product(dst, e.scaled)
	for k := range dst {
		dst[k] = float64(dst[k] * e.scale[k])
	}
}
