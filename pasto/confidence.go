package pasto

import "math"

// take adds an observation to the arm's statistics.
func (l *Confident) take(o *Observation) {
	s, k, m := &l.s, o.Arm, l.objective.Dim()
	w := unit(o)
	if s.Count[k] == 0 {
		s.Fresh--
	} else {
		s.Freedom++
		s.Spread -= l.spread(k)
	}
	if l.now[k] == 0 {
		s.Rounds[k]++
		s.NewRounds[k]++
	}
	more := float64(w * (2*l.now[k] + w)) // Σ size² over rounds, of which the running one grows
	l.now[k] += w
	s.Cluster[k] += more
	s.NewCluster[k] += more
	s.Count[k]++
	s.Size[k] += w
	s.NewCount[k]++
	s.NewSize[k] += w
	s.Spread += l.spread(k)
	share, recent := w/s.Size[k], w/s.NewSize[k]
	mean, squares, block := s.Mean[k*m:(k+1)*m], s.Squares[k*m:(k+1)*m], s.NewMean[k*m:(k+1)*m]
	for i, v := range o.Metrics {
		d := v - mean[i]
		mean[i] += float64(share * d)
		q := float64(w * float64(d*(v-mean[i])))
		squares[i] += q
		s.Pool[i] += q
		block[i] += float64(recent * (v - block[i]))
	}
}

// unit is the size that an observation counts with.
func unit(o *Observation) float64 {
	if o.Size == 0 {
		return 1
	}
	return o.Size
}

// spread is Size − Cluster/Size of an arm: Σ size·(û − mean)² contains this many common variances.
func (l *Confident) spread(k int) float64 {
	return l.s.Size[k] - l.s.Cluster[k]/l.s.Size[k]
}

// common adds a round to what is known of the effects that its groups have in common: for two groups of
// different noise the product of what they miss their arms' means by has the common variance as its mean.
// Arms without a mean have no part in it.
func (l *Confident) common(obs []Observation) {
	s, m := &l.s, l.objective.Dim()
	total, known := 0.0, 0
	for i := range obs {
		if s.Count[obs[i].Arm] > 0 {
			total += unit(&obs[i])
			known++
		}
	}
	if known == 1 && len(obs) == 1 {
		l.alone(&obs[0])
	}
	if known < 2 {
		return
	}
	clear(l.sum)
	clear(l.own)
	each := 0.0
	for i := range obs {
		k := obs[i].Arm
		if s.Count[k] == 0 {
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

// alone adds a round of one group, of an arm that has a mean, to what is known of the effects of rounds.
func (l *Confident) alone(o *Observation) {
	s, k, m := &l.s, o.Arm, l.objective.Dim()
	a, w, size := &s.Lone, unit(o), s.Size[k]
	kept := size / (size + w)
	part := float64(kept * (1 + s.Cluster[k]/size/size))
	a.Rounds++
	a.Inverse += 1 / w
	a.Part += part
	a.Sized += float64(w * part)
	for i, v := range o.Metrics {
		d := v - s.Mean[k*m+i]
		q := float64(float64(d*d) * kept)
		a.Square[i] += q
		a.Product[i] += float64(w * q)
	}
}

// known is the number of rounds that those of one group are worth for τ²: all where their sizes differ by
// orders of magnitude, and none where they are alike, as there 1/size does not tell σ² from τ².
func (a *lone) known() float64 {
	apart := float64(a.Inverse*(a.Sized/a.Rounds)) - a.Part // ≥ 0 but for the part of the first rounds
	if !(a.Rounds >= 2) || !(apart > float64(0.01*a.Part)) || math.IsInf(apart, 1) {
		return 0
	}
	return float64(a.Rounds * (apart / (apart + a.Part)))
}

// tauFreedom is the number of degrees of freedom, nearly, that τ² is known with.
func (l *Confident) tauFreedom() float64 {
	return l.s.Pairs + l.s.Lone.known()
}

// tau is the variance τ² of what the groups of a round have in common in metric i: the mean product of two
// groups of a round and, of rounds with one group, the solution of Σ q = σ²·Σ 1/size + τ²·Σ part and
// Σ size·q = σ²·n + τ²·Σ size·part, each by what it is worth.
func (l *Confident) tau(i int) float64 {
	a := &l.s.Lone
	sum, n := l.s.Shared[i], l.s.Pairs
	if known := a.known(); known > 0 {
		mean := a.Inverse / a.Rounds
		sum += float64(known * ((float64(mean*a.Product[i]) - a.Square[i]) / (float64(mean*a.Sized) - a.Part)))
		n += known
	}
	if !(n > 0) {
		return 0
	}
	return max(sum/n, 0)
}

// ended ends the round for arm k, and reports whether the arm has changed.
func (l *Confident) ended(k int) bool {
	s, m := &l.s, l.objective.Dim()
	l.now[k] = 0
	n := s.NewRounds[k]
	if n%firstBlock != 0 || l.options.Alarm < 0 {
		return false
	}
	if s.Rounds[k]-float64(n) >= firstBlock && l.differs(k) {
		l.restart(k)
		return true
	}
	if n >= s.NewLimit[k] { // blocks of 32, 64, ... rounds up to half of all, and again
		s.NewCount[k], s.NewRounds[k], s.NewSize[k], s.NewCluster[k] = 0, 0, 0, 0
		clear(s.NewMean[k*m : (k+1)*m])
		if s.NewLimit[k] *= 2; float64(s.NewLimit[k]) > s.Rounds[k]/2 {
			s.NewLimit[k] = 2 * firstBlock
		}
	}
	return false
}

// differs compares the recent block's means with those of the arm's earlier observations.
func (l *Confident) differs(k int) bool {
	s, m := &l.s, l.objective.Dim()
	old := s.Size[k] - s.NewSize[k]
	for i := range m {
		// mean = (old·before + new·block)/size, so block − before = (block − mean)·size/old.
		d := float64((s.NewMean[k*m+i] - s.Mean[k*m+i]) * (s.Size[k] / old))
		v := l.squareError(k, i, old, s.Cluster[k]-s.NewCluster[k]) + l.squareError(k, i, s.NewSize[k], s.NewCluster[k])
		if float64(d*d) > float64(float64(l.options.Alarm*l.options.Alarm)*v) && math.Abs(d) > 1e-12*(math.Abs(s.Mean[k*m+i])+math.Abs(s.NewMean[k*m+i])) {
			return true
		}
	}
	return false
}

// restart lets the recent block be all that is known of the arm. Its variance is the pooled one, less what
// the jump of its means has put into that, until more is seen. What it has in Freedom, Pool and Spread goes
// out of them in full: forgetAll scales only what is there of arms that it forgets.
func (l *Confident) restart(k int) {
	s, m := &l.s, l.objective.Dim()
	free, old := s.Freedom, s.Size[k]-s.NewSize[k]
	s.Freedom = max(s.Freedom-(s.Count[k]-1), 0)
	s.Spread = max(s.Spread-l.spread(k), 0)
	for i := range m {
		// Σ size·(û − mean)² is that within each part and d²·old·new/size, for means that are d apart.
		d := float64((s.NewMean[k*m+i] - s.Mean[k*m+i]) * (s.Size[k] / old))
		jump := float64(float64(d*d) * float64(old*(s.NewSize[k]/s.Size[k])))
		within := max(s.Pool[i]-min(jump, s.Squares[k*m+i]), 0) / max(free-1, 1)
		s.Pool[i] = max(s.Pool[i]-s.Squares[k*m+i], 0)
		s.Mean[k*m+i] = s.NewMean[k*m+i]
		s.Squares[k*m+i] = float64(within * float64(s.NewCount[k]-1))
	}
	s.Size[k], s.Count[k], s.Cluster[k], s.Rounds[k] = s.NewSize[k], float64(s.NewCount[k]), s.NewCluster[k], float64(s.NewRounds[k])
	s.NewLimit[k] = 0 // forgetAll passes it over
	s.Freedom += s.Count[k] - 1
	s.Spread += l.spread(k)
	for i := range m {
		s.Pool[i] += s.Squares[k*m+i]
	}
}

// forgetAll lets the past of every arm but those just started anew count for one group, and what is known
// of the noise by the arms forgotten for a few; all blocks end.
func (l *Confident) forgetAll() {
	s, m := &l.s, l.objective.Dim()
	free, spread := 0.0, 0.0 // of the arms just started anew, which keep theirs
	clear(l.own)
	for k := range s.Size {
		if s.NewLimit[k] == 0 {
			free += s.Count[k] - 1
			spread += l.spread(k)
			for i := range m {
				l.own[i] += s.Squares[k*m+i]
			}
		}
	}
	if rest := s.Freedom - free; rest > keptFreedom {
		c := keptFreedom / rest
		s.Freedom = free + keptFreedom
		s.Spread = spread + float64(c*max(s.Spread-spread, 0))
		for i := range s.Pool {
			s.Pool[i] = l.own[i] + float64(c*max(s.Pool[i]-l.own[i], 0))
		}
	}
	if s.Pairs > keptFreedom {
		for i := range s.Shared {
			s.Shared[i] *= keptFreedom / s.Pairs
		}
		s.Pairs = keptFreedom
	}
	if a := &s.Lone; a.Rounds > keptFreedom {
		c := keptFreedom / a.Rounds
		a.Rounds, a.Inverse, a.Part, a.Sized = keptFreedom, float64(c*a.Inverse), float64(c*a.Part), float64(c*a.Sized)
		for i := range a.Square {
			a.Square[i] *= c
			a.Product[i] *= c
		}
	}
	for k := range s.Size {
		if s.NewLimit[k] != 0 && s.Count[k] > 1 {
			s.Size[k] /= s.Count[k]
			s.Count[k], s.Rounds[k], s.Cluster[k] = 1, 1, float64(s.Size[k]*s.Size[k])
			clear(s.Squares[k*m : (k+1)*m])
		}
		s.NewCount[k], s.NewRounds[k], s.NewSize[k], s.NewCluster[k], s.NewLimit[k] = 0, 0, 0, 0, 2*firstBlock
	}
	clear(s.NewMean)
}

// variance is that of a unit of size of arm k in metric i, with what it has in common with others of its
// round; +Inf while nothing is known.
func (l *Confident) variance(k, i int) float64 {
	s := &l.s
	if s.Freedom <= 0 {
		return math.Inf(1)
	}
	pool := s.Pool[i] / s.Freedom
	free := max(s.Count[k]-1, 0)
	return (s.Squares[k*l.objective.Dim()+i] + float64(poolWeight*pool)) / (free + poolWeight)
}

// squareError is the squared standard error of a mean of arm k in metric i over so much size, of which
// cluster is Σ size² over rounds. With y = μ_k + u_t + e, where u_t is common to the groups of round t,
// the mean's variance is σ²/size + τ²·cluster/size². The variance at hand is that of u and e together,
// as far as the arm was served in different rounds; what is added is the τ² that it does not contain:
// nothing where each round has one group of the arm, nearly all of it where it has many.
func (l *Confident) squareError(k, i int, size, cluster float64) float64 {
	v := l.variance(k, i) / size
	tau := l.tau(i)
	if tau == 0 {
		return v
	}
	return v + float64(tau*l.outside(k, size, cluster))/size
}

// outside is what a mean's squared error lacks, in τ²/size, where the variance at hand stands for all of
// it.
func (l *Confident) outside(k int, size, cluster float64) float64 {
	return max(cluster/size-l.inside(k), 0)
}

// inside is the part of τ² that the variance at hand of arm k contains, times size.
func (l *Confident) inside(k int) float64 {
	s := &l.s
	pool := 0.0
	if s.Freedom > 0 {
		pool = float64(poolWeight * s.Spread / s.Freedom)
	}
	return (l.spread(k) + pool) / (max(s.Count[k]-1, 0) + poolWeight)
}

// shares reports whether what groups of a round have in common can be more than a fifth of the squared errors
// of arm k's means, and the variance at hand does not contain it.
func (l *Confident) shares(k int) bool {
	s := &l.s
	return l.outside(k, s.Size[k], s.Cluster[k]) > float64(0.25*l.inside(k))
}

// standardError is that of arm k's mean in metric i.
func (l *Confident) standardError(k, i int) float64 {
	return math.Sqrt(l.squareError(k, i, l.s.Size[k], l.s.Cluster[k]))
}
