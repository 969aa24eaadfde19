package confident

import (
	"math"

	"github.com/noregret/noregret/pasto"
)

// addObservation adds an observation to the arm's statistics. The first observation after a
// change replaces what is left from before it.
func (l *Learner) addObservation(o *pasto.Observation) {
	s, k, m := &l.s, o.Arm, l.objective.Dim()
	s.count(k, -1)
	defer s.count(k, 1)
	w := unit(o)
	mean, squares, third := s.Mean[k*m:(k+1)*m], s.Squares[k*m:(k+1)*m], s.Third[k*m:(k+1)*m]
	if s.Rounds[k] == 0 {
		s.Size[k], s.Count[k], s.Cluster[k] = 0, 0, 0
	} else {
		s.Freedom++
		s.Spread -= l.spread(k)
	}
	if l.now[k] == 0 {
		s.Rounds[k]++
		s.NewRounds[k]++
	}
	more := float64(w * (2*l.now[k] + w)) // Σ size² over rounds, of which the running one grows
	old, last := s.Size[k], s.LastSize[k]
	l.now[k] += w
	s.Cluster[k] += more
	s.NewCluster[k] += more
	s.LastCluster[k] += more
	s.Count[k]++
	s.LastCount[k]++
	s.Size[k] += w
	s.NewSize[k] += w
	s.LastSize[k] += w
	s.Spread += l.spread(k)
	share, recent, latest := w/s.Size[k], w/s.NewSize[k], w/s.LastSize[k]
	both, pair := float64(w*(old/s.Size[k])), float64(w*(last/s.LastSize[k]))
	block, newest, within := s.NewMean[k*m:(k+1)*m], s.LastMean[k*m:(k+1)*m], s.LastSquares[k*m:(k+1)*m]
	for i, v := range o.Metrics {
		if old == 0 {
			mean[i], squares[i], third[i] = v, 0, 0
		}
		d := v - mean[i]
		mean[i] += float64(share * d)
		q := float64(float64(d*d) * both)
		l.addInnovation(k, i, d, both)
		c := min(float64(q*math.Sqrt(float64(w*q))), mostThird)
		squares[i] += q
		s.Pool[i] += q
		third[i] = min(third[i]+c, mostThird)
		s.Bulge[i] = min(s.Bulge[i]+c, mostThird)
		block[i] += float64(recent * (v - block[i]))
		d = v - newest[i]
		newest[i] += float64(latest * d)
		within[i] += float64(float64(d*d) * pair)
	}
}

// mostThird bounds the sums of third powers, which do not overflow with it.
const mostThird = 1e300

// unit is the size that an observation counts with.
func unit(o *pasto.Observation) float64 {
	if o.Size == 0 {
		return 1
	}
	return o.Size
}

// spread returns Size − Cluster/Size of an arm: how many times Σ size·(û − mean)² contains the
// variance of the effects common to a round.
func (l *Learner) spread(k int) float64 {
	return max(l.s.Size[k]-l.s.Cluster[k]/l.s.Size[k], 0)
}

// addBetweenGroups adds a round to the estimate of the effects that its groups have in common:
// the mean of the product of the deviations of two groups is the variance of these effects. Arms
// without a mean are ignored.
func (l *Learner) addBetweenGroups(obs []pasto.Observation) {
	s, m := &l.s, l.objective.Dim()
	total, known := 0.0, 0
	for i := range obs {
		if s.Rounds[obs[i].Arm] > 0 {
			total += unit(&obs[i])
			known++
		}
	}
	if known == 1 && len(obs) == 1 {
		l.addSingleGroup(&obs[0])
	}
	if known < 2 {
		return
	}
	clear(l.sum)
	clear(l.own)
	each := 0.0
	for i := range obs {
		k := obs[i].Arm
		if s.Rounds[k] == 0 {
			continue
		}
		share := unit(&obs[i]) / total
		each += float64(share * share)
		for j, v := range obs[i].Metrics {
			r := float64(share * (v - s.Mean[k*m+j]))
			l.sum[j] += r
			l.own[j] += float64(r * r)
		}
	}
	for j, r := range l.sum {
		s.Shared[j] += float64(r*r) - l.own[j]
	}
	s.Pairs += 1 - each
}

// addSingleGroup adds a round of one group, of an arm that has a mean, to the estimate of the
// effects of rounds.
func (l *Learner) addSingleGroup(o *pasto.Observation) {
	s, k, m := &l.s, o.Arm, l.objective.Dim()
	a, w, size := &s.SingleGroups, unit(o), s.Size[k]
	kept := size / (size + w)
	part := float64(kept * (1 + s.Cluster[k]/size/size))
	a.Rounds++
	a.Inverse += 1 / w
	a.Part += part
	sized := float64(w * part)
	a.Sized += sized
	a.Heavy += float64(sized * sized)
	for i, v := range o.Metrics {
		d := v - s.Mean[k*m+i]
		q := float64(float64(d*d) * kept)
		a.Square[i] += q
		a.Product[i] += float64(w * q)
	}
}

// singleGroupEfficiency is the measured ratio of the degrees of freedom of τ² from rounds of one
// group to the number of such rounds.
const singleGroupEfficiency = 0.6

// effectiveRounds returns how many rounds with several groups those with one group are worth for
// τ²: none if their sizes are alike, as 1/size then does not separate σ² from τ², and (Σ
// size)²/Σ size² if they differ by orders of magnitude.
func (a *singleGroups) effectiveRounds() float64 {
	apart := float64(a.Inverse*(a.Sized/a.Rounds)) - a.Part // ≥ 0 but for the part of the first rounds
	if !(a.Rounds >= 2) || !(apart > float64(0.01*a.Part)) || math.IsInf(apart, 1) {
		return 0
	}
	return float64(singleGroupEfficiency * min(float64(a.Rounds*(apart/(apart+a.Part))),
		float64(a.Sized*(a.Sized/a.Heavy))))
}

// addWithinArm adds the differences between groups of one arm and round, which do not depend on
// the effects of the round.
func (l *Learner) addWithinArm(obs []pasto.Observation) {
	s, again := &l.s, false
	for i := range obs {
		k := obs[i].Arm
		again = again || s.Rounds[k] > 0
		if j := l.before[k]; j > 0 {
			was := &obs[j-1]
			both := unit(was) / (unit(was) + unit(&obs[i]))
			for m, v := range obs[i].Metrics {
				d := v - was.Metrics[m]
				s.Inner[m] += float64(float64(unit(&obs[i])*both) * float64(d*d))
			}
			s.Inners++
		}
		l.before[k] = i + 1
	}
	for i := range obs {
		l.before[obs[i].Arm] = 0
	}
	if again {
		s.Between++
	}
}

// byScatter returns the degrees of freedom of τ² as the difference of the arms' scatter between
// rounds and within them, the only estimate if few rounds have groups of two arms and sizes are
// alike. It returns 0 if another estimate of τ² is better. Successive differences of n groups
// have ⅔·n degrees of freedom.
func (l *Learner) byScatter() float64 {
	s := &l.s
	n := min(s.Inners*2/3, s.Between)
	if !(s.Spread > 0) || n <= float64(4*(s.Pairs+s.SingleGroups.effectiveRounds())) {
		return 0
	}
	return n
}

// tauFreedom returns the approximate degrees of freedom of the estimate of τ².
func (l *Learner) tauFreedom() float64 {
	if n := l.byScatter(); n > 0 {
		return n
	}
	return l.s.Pairs + l.s.SingleGroups.effectiveRounds()
}

// tau returns the variance τ² of what the groups of a round have in common in metric i. It
// averages the mean product of two groups of a round and, for rounds of one group, the solution
// of Σ q = σ²·Σ 1/size + τ²·Σ part and Σ size·q = σ²·n + τ²·Σ size·part, by their degrees of
// freedom.
func (l *Learner) tau(i int) float64 {
	s, a := &l.s, &l.s.SingleGroups
	if l.byScatter() > 0 {
		return max(s.Pool[i]-float64(s.Freedom*(s.Inner[i]/s.Inners)), 0) / s.Spread
	}
	sum, n := s.Shared[i], s.Pairs
	if known := a.effectiveRounds(); known > 0 {
		mean := a.Inverse / a.Rounds
		sum += float64(known * ((float64(mean*a.Product[i]) - a.Square[i]) / (float64(mean*a.Sized) - a.Part)))
		n += known
	}
	if !(n > 0) {
		return 0
	}
	return max(sum/n, 0)
}

// variance returns the variance of a unit of size of arm k in metric i, effects common to its
// round included; +Inf while it is unknown.
func (l *Learner) variance(k, i int) float64 { return l.without(k, i, 0) }

// without returns the variance of a unit of size of arm k in metric i without tau, the variance
// of effects common to its round. The pooled variance counts for poolWeight groups, and for more
// if the arm's own is smaller: see weight.
func (l *Learner) without(k, i int, tau float64) float64 {
	s := &l.s
	if s.Freedom <= 0 {
		return math.Inf(1)
	}
	free, own, pool, w := max(s.Count[k]-1, 0), s.Squares[k*l.objective.Dim()+i], s.Pool[i], float64(poolWeight)
	// not rounding
	if mean := s.Mean[k*l.objective.Dim()+i]; free >= 4 && own > float64(1e-28*float64(mean*mean)*s.Size[k]) {
		// The pool may be of arms that are noisier by far.
		pool = min(pool, float64(trust(free)*(own/free*s.Freedom)))
	}
	if tau > 0 {
		own, pool = max(own-float64(tau*l.spread(k)), 0), max(pool-float64(tau*s.Spread), 0)
	}
	pool /= s.Freedom
	if own < float64(free*pool) {
		w = l.weight(k, i)
	}
	return (own + float64(w*pool)) / (free + w)
}

// trust returns how many times an arm's own variance, with at least 4 degrees of freedom, the
// pooled one may count for. For normal noise the own variance is below 1/trust of the true one
// in one of a few thousand cases; skewed noise needs more.
func trust(free float64) float64 {
	most := [...]float64{4: 200, 5: 80, 6: 40, 7: 28, 8: 21}
	if free < float64(len(most)) {
		return most[int(free)]
	}
	return 16
}

// weight returns the number of groups that the pooled variance counts for against a smaller own
// one of arm k: 2.5·g², where g is the standardized absolute third moment of a group of the arm,
// and at least poolWeight. The latter is larger for normal noise (g² = 2.55), whose variance a
// few groups estimate; for rare events g² is about 1/rate, so that two or three events of the
// arm count as much as the pool.
func (l *Learner) weight(k, i int) float64 {
	s := &l.s
	j := k*l.objective.Dim() + i
	squares, third, free := s.Squares[j], s.Third[j], s.Count[k]-1
	if !(squares > 0) {
		squares, third, free = s.Pool[i], s.Bulge[i], s.Freedom
	}
	g := third / squares / math.Sqrt(squares) // in roots of size
	w := float64(2.5*float64(float64(g*g)*free)) * (s.Count[k] / s.Size[k])
	if !(w < 1e15) {
		return 1e15
	}
	return max(w, poolWeight)
}

// squareError returns the squared standard error of a mean of arm k in metric i with this size
// and cluster, Σ size² over rounds. For y = μ_k + u_t + e, where u_t is common to the groups of
// round t, the mean's variance is σ²/size + τ²·cluster/size². The estimated variance is that of
// u and e together, as far as the arm was served in different rounds; σ² is what remains without
// τ².
func (l *Learner) squareError(k, i int, size, cluster float64) float64 {
	return l.squareErrorWith(k, i, size, cluster, l.tau(i))
}

// squareErrorWith is squareError with a given τ².
func (l *Learner) squareErrorWith(k, i int, size, cluster, tau float64) float64 {
	return (l.without(k, i, tau) + float64(tau*(cluster/size))) / size
}

// outside returns the part of a mean's squared error, in τ²/size, that the arm's estimated
// variance does not contain.
func (l *Learner) outside(k int, size, cluster float64) float64 {
	return max(cluster/size-l.inside(k), 0)
}

// inside returns the part of τ², times size, that the estimated variance of arm k contains.
func (l *Learner) inside(k int) float64 {
	s := &l.s
	pool := 0.0
	if s.Freedom > 0 {
		pool = float64(poolWeight * s.Spread / s.Freedom)
	}
	return (l.spread(k) + pool) / (max(s.Count[k]-1, 0) + poolWeight)
}

// shares reports whether effects common to the groups of a round may be more than a fifth of the
// squared errors of arm k's means while the estimated variance does not contain them.
func (l *Learner) shares(k int) bool {
	s := &l.s
	return l.outside(k, s.Size[k], s.Cluster[k]) > float64(0.25*l.inside(k))
}

// standardError is that of arm k's mean in metric i.
func (l *Learner) standardError(k, i int) float64 {
	return math.Sqrt(l.squareError(k, i, l.s.Size[k], l.s.Cluster[k]))
}
