package confident

import (
	"math"
	"slices"

	"github.com/noregret/noregret/changepoint"
	"github.com/noregret/noregret/pasto"
)

// changed ends the round for the arms that were served in it. It reports whether one of them, or
// all arms together, have changed.
func (l *Learner) changed(obs []pasto.Observation) bool {
	found := l.cusum()
	for i := range obs {
		if k := obs[i].Arm; l.now[k] > 0 && !found {
			found = l.segmentEnds(k) && l.options.ChangeThreshold > 0 && l.differs(k)
		}
	}
	for i := range obs {
		if k := obs[i].Arm; l.now[k] > 0 {
			l.now[k] = 0
			if !found && l.segmentEnds(k) {
				l.commitSegment(k)
			}
		}
	}
	return found
}

// segmentEnds reports whether the rounds of arm k's block make up whole segments.
func (l *Learner) segmentEnds(k int) bool {
	return int64(l.s.NewRounds[k])%firstBlock == 0
}

// addInnovation adds the deviation d of a group from its arm's earlier mean to the round's sums,
// in standard deviations of the noise of committed segments, which a jump does not affect. Both
// is w·old/(w + old) for the sizes w of the group and old of the mean. Such innovations have
// variance 1 and are uncorrelated, except for what the groups of a round have in common.
func (l *Learner) addInnovation(k, i int, d, both float64) {
	s, j := &l.s, k*l.objective.Dim()+i
	if !(s.CommittedPool[i] > 0) || both == 0 {
		return
	}
	noise := (s.PastSquares[j] + float64(poolWeight*(s.CommittedPool[i]/s.CommittedFreedom))) /
		(s.PastFreedom[k] + poolWeight)
	a := math.Sqrt(both / noise)
	l.innovation[i] += float64(d * a)
	l.part[i] += a
	l.groups[i]++
}

// cusum reports whether the innovations of the last rounds of all arms point one way. A jump of
// all arms sends the traffic to arms that were served too seldom before it for a test of their
// own. It is a two-sided CUSUM of the rounds' innovations, clipped at 2, with a drift of 1 and
// an alarm at 4·ChangeThreshold: by default 24 rounds of more than 2 standard deviations in a
// row. If the noise is underestimated so much that every round has 2 with a random sign, an
// alarm in a million rounds is unlikely.
func (l *Learner) cusum() bool {
	s, found := &l.s, false
	for i, n := range l.groups {
		if n == 0 || l.ignored[i] || l.options.ChangeThreshold == 0 {
			continue
		}
		x := l.innovation[i] / math.Sqrt(n+float64(s.Steady[i]*float64(l.part[i]*l.part[i])))
		x = min(max(x, -2), 2)
		s.CusumUp[i], s.CusumDown[i] = changepoint.CUSUMStep(s.CusumUp[i], s.CusumDown[i], x, 1)
		if s.CusumUp[i] == 0 && s.CusumDown[i] == 0 && l.tauFreedom() > 0 {
			s.Steady[i] = l.tau(i)
		}
		found = found || max(s.CusumUp[i], s.CusumDown[i]) >= 4*l.options.ChangeThreshold
	}
	clear(l.innovation)
	clear(l.part)
	clear(l.groups)
	return found
}

// commitSegment begins a new segment of arm k, and a new block after 32, 64, ... rounds up to
// half of all, and again. A segment counts for the noise one segment later, so that a change
// within it that was too small to be found is found first. It does not count while a change of
// all arms may be under way.
func (l *Learner) commitSegment(k int) {
	s, m := &l.s, l.objective.Dim()
	if max(slices.Max(s.CusumUp), slices.Max(s.CusumDown)) < l.options.ChangeThreshold ||
		l.options.ChangeThreshold == 0 {
		s.CommittedFreedom += s.PastFreedom[k]
		s.CommittedSpread += s.PastSpread[k]
		s.PastFreedom[k] = s.LastCount[k] - 1
		s.PastSpread[k] = max(s.LastSize[k]-s.LastCluster[k]/s.LastSize[k], 0)
		past, last := s.PastSquares[k*m:(k+1)*m], s.LastSquares[k*m:(k+1)*m]
		for i, q := range past {
			s.CommittedPool[i] += q
		}
		copy(past, last)
	}
	l.endSegment(k)
	if s.NewRounds[k] >= s.NewLimit[k] {
		limit := 2 * s.NewLimit[k]
		l.endBlock(k)
		if limit <= s.Rounds[k]/2 {
			s.NewLimit[k] = limit
		}
	}
}

func (l *Learner) endSegment(k int) {
	s, m := &l.s, l.objective.Dim()
	s.LastSize[k], s.LastCount[k], s.LastCluster[k] = 0, 0, 0
	clear(s.LastMean[k*m : (k+1)*m])
	clear(s.LastSquares[k*m : (k+1)*m])
}

func (l *Learner) endBlock(k int) {
	s, m := &l.s, l.objective.Dim()
	s.NewSize[k], s.NewRounds[k], s.NewCluster[k], s.NewLimit[k] = 0, 0, 0, 2*firstBlock
	clear(s.NewMean[k*m : (k+1)*m])
}

// differs compares the means of the recent block and of the last segment with that of the arm's
// earlier observations.
func (l *Learner) differs(k int) bool {
	s, m := &l.s, l.objective.Dim()
	for i := range m {
		if l.ignored[i] {
			continue
		}
		if s.Rounds[k]-s.NewRounds[k] >= firstBlock && l.apart(k, i, s.NewMean[k*m+i], s.NewSize[k], s.NewCluster[k]) {
			return true
		}
		if s.Rounds[k] >= 2*firstBlock && l.apart(k, i, s.LastMean[k*m+i], s.LastSize[k], s.LastCluster[k]) {
			return true
		}
	}
	return false
}

// apart reports whether the mean of a recent part of arm k's observations, with this size and
// cluster, differs from that of the others by more than ChangeThreshold standard errors and an
// allowance for skewed or long-tailed metrics. With z standard errors the allowance is (z²−1)/6
// times the ratio of the third moment to the variance, the first term of the Cornish–Fisher
// expansion: six events of a rare one. What the groups of a round have in common counts as one
// event for all of them.
func (l *Learner) apart(k, i int, mean, size, cluster float64) bool {
	s, all := &l.s, l.s.Mean[k*l.objective.Dim()+i]
	old := s.Size[k] - size
	// all = (old·before + size·mean)/Size, so mean − before = (mean − all)·Size/old.
	d := math.Abs(float64((mean - all) * (s.Size[k] / old)))
	z := l.options.ChangeThreshold
	noise := float64(z * math.Sqrt(l.squareError(k, i, old, s.Cluster[k]-cluster)+l.squareError(k, i, size, cluster)))
	skew := l.skew(i, z) / min(old, size)
	if tau := l.tau(i); tau > 0 { // what groups of a round have in common is skewed too, and counts once a round
		groups := float64(max(cluster/size, (s.Cluster[k]-cluster)/old) * (s.Count[k] / s.Size[k]))
		skew *= 1 + float64(max(groups-1, 0)*min(1, tau/l.variance(k, i)))
	}
	return d > noise+skew && d > float64(1e-12*(math.Abs(all)+math.Abs(mean)))
}

// skew returns the correction of z standard errors of a mean of metric i for its skewness, times
// the mean's size.
func (l *Learner) skew(i int, z float64) float64 {
	if !(l.s.Pool[i] > 0) {
		return 0
	}
	return float64(max(float64(z*z)-1, 0) / 6 * (l.s.Bulge[i] / l.s.Pool[i]))
}

// reset starts over after a change. It is unknown which arms have changed and when, so each arm
// is served again; until then its earlier mean counts for one group, and its first observation
// replaces it. The noise is that within segments and counts for at most keptFreedom degrees of
// freedom. The effects that groups of a round have in common become unknown.
func (l *Learner) reset() {
	s, m := &l.s, l.objective.Dim()
	if s.CommittedFreedom == 0 { // early
		for k := range s.PastFreedom {
			s.CommittedFreedom += s.PastFreedom[k]
			s.CommittedSpread += s.PastSpread[k]
			for i, q := range s.PastSquares[k*m : (k+1)*m] {
				s.CommittedPool[i] += q
			}
		}
	}
	if c := keptFreedom / s.CommittedFreedom; c < 1 {
		s.CommittedFreedom *= c
		s.CommittedSpread *= c
		for i := range s.CommittedPool {
			s.CommittedPool[i] *= c
		}
	}
	s.Freedom, s.Spread = s.CommittedFreedom, s.CommittedSpread
	copy(s.Pool, s.CommittedPool)
	for i, q := range s.Pool { // as if it were normal
		if s.Bulge[i] = 0; s.Freedom > 0 {
			s.Bulge[i] = min(float64(1.6*float64(q*math.Sqrt(float64(q/s.Freedom*(s.Spread/s.Freedom))))), mostThird)
		}
	}
	clear(s.CusumUp) // Steady stays, until there is a new one
	clear(s.CusumDown)
	clear(s.Shared)
	clear(s.Inner)
	s.Inners, s.Between = 0, 0
	clear(s.SingleGroups.Square)
	clear(s.SingleGroups.Product)
	s.Pairs, s.SingleGroups = 0, singleGroups{Square: s.SingleGroups.Square, Product: s.SingleGroups.Product}
	for k := range s.Size {
		if s.Count[k] > 1 {
			s.Size[k] /= s.Count[k]
			s.Count[k], s.Cluster[k] = 1, float64(s.Size[k]*s.Size[k])
		}
		s.Rounds[k] = 0
		clear(s.Squares[k*m : (k+1)*m])
		clear(s.Third[k*m : (k+1)*m])
		s.PastFreedom[k], s.PastSpread[k] = 0, 0
		clear(s.PastSquares[k*m : (k+1)*m])
		l.endSegment(k)
		l.endBlock(k)
	}
	s.Unobserved, s.Underobserved, s.HoldsPrevious = s.Live, 0, l.hard != nil
}
