package confident

import "math"

// detector compares, for each arm and metric, the adjusted values of a recent block of the arm's
// rounds, and of its last segment of 16, with those before them. Values are adjusted by the other
// arms of their rounds (see armStats), so that what all arms have in common is no change; where no
// round has had two arms they are the arm's own.
type detector struct {
	Next []float64 // K: rounds of the arm that count, since its last change
	// The recent block of rounds: weight, rounds, length in rounds, the part of rounds without
	// other arms (Σ size²), and the mean.
	BlockWeight []float64
	BlockRounds []float64
	BlockLimit  []float64
	BlockLone   []float64
	BlockMean   []float64 // K·M
	// The last segment, with Σ weight·(adjusted − mean)².
	LastWeight  []float64
	LastLone    []float64
	LastMean    []float64 // K·M
	LastSquares []float64 // K·M
}

// firstBlock is the number of rounds of a segment: after each there is a test for a change.
const firstBlock = 16

// perArm lists the numbers of each arm, perMetric those of each arm and metric.
func (d *detector) perArm() [7]*[]float64 {
	return [...]*[]float64{
		&d.Next, &d.BlockWeight, &d.BlockRounds, &d.BlockLimit, &d.BlockLone, &d.LastWeight, &d.LastLone,
	}
}

func (d *detector) perMetric() [3]*[]float64 {
	return [...]*[]float64{&d.BlockMean, &d.LastMean, &d.LastSquares}
}

// add adds an adjusted value of arm k.
func (d *detector) add(k int, adj []float64, weight float64, lone bool) {
	m := len(adj)
	d.Next[k]++
	d.BlockRounds[k]++
	last := d.LastWeight[k]
	d.BlockWeight[k] += weight
	d.LastWeight[k] += weight
	if lone {
		d.BlockLone[k] += float64(weight * weight)
		d.LastLone[k] += float64(weight * weight)
	}
	recent, latest := weight/d.BlockWeight[k], weight/d.LastWeight[k]
	pair := float64(weight * (last / d.LastWeight[k]))
	block, newest, within := d.BlockMean[k*m:(k+1)*m], d.LastMean[k*m:(k+1)*m], d.LastSquares[k*m:(k+1)*m]
	for i, v := range adj {
		block[i] += float64(recent * (v - block[i]))
		e := v - newest[i]
		newest[i] += float64(latest * e)
		within[i] += float64(float64(e*e) * pair)
	}
}

// segmentEnds reports whether the rounds of arm k make up whole segments.
func (d *detector) segmentEnds(k int) bool {
	return d.Next[k] > 0 && int64(d.Next[k])%firstBlock == 0
}

// endSegment begins a new segment of arm k.
func (d *detector) endSegment(k int) {
	m := len(d.LastMean) / len(d.LastWeight)
	d.LastWeight[k], d.LastLone[k] = 0, 0
	clear(d.LastMean[k*m : (k+1)*m])
	clear(d.LastSquares[k*m : (k+1)*m])
}

// endBlock begins a new block of arm k, of 32, 64, ... rounds up to half of all, and again.
func (d *detector) endBlock(k int) {
	m := len(d.LastMean) / len(d.LastWeight)
	limit := 2 * d.BlockLimit[k]
	if limit > d.Next[k]/2 {
		limit = 2 * firstBlock
	}
	d.BlockWeight[k], d.BlockRounds[k], d.BlockLone[k], d.BlockLimit[k] = 0, 0, 0, limit
	clear(d.BlockMean[k*m : (k+1)*m])
}

// forget begins arm k anew.
func (d *detector) forget(k int) {
	d.Next[k], d.BlockLimit[k] = 0, 0
	d.endSegment(k)
	d.endBlock(k)
}

// changed ends the round for the arms that were served in it, and begins those anew that have
// changed: the one with the largest sign of it, and those with nearly as large ones. It reports
// whether there are any.
func (l *Learner) changed() bool {
	d, most := &l.s.Changes, 0.0
	for a := range l.round.arms {
		x := &l.round.arms[a]
		if x.tested && d.segmentEnds(x.arm) && l.options.ChangeThreshold > 0 {
			x.sign = l.signOfChange(x.arm)
			most = max(most, x.sign)
		}
	}
	found := false
	for a := range l.round.arms {
		x := &l.round.arms[a]
		switch {
		case most > 1 && x.sign >= float64(nearly*most):
			l.beginAnew(x.arm)
			found = true
		case x.tested && d.segmentEnds(x.arm):
			if x.sign <= 1 {
				l.s.Stats.addCalm(x.arm, d)
			}
			d.endSegment(x.arm)
			if d.BlockRounds[x.arm] >= d.BlockLimit[x.arm] {
				d.endBlock(x.arm)
			}
		}
	}
	return found
}

// nearly is the part of the largest sign of a change that counts as another.
const nearly = 0.75

// addCalm adds the noise of a segment of arm k that shows no change.
func (s *armStats) addCalm(k int, d *detector) {
	m := len(s.Pool)
	s.CalmFreedom += firstBlock - 1
	for i, q := range d.LastSquares[k*m : (k+1)*m] {
		s.Calm[i] += q
	}
}

// signOfChange returns by how many times the allowed difference the recent block, or the last segment, of
// arm k differs from its earlier values, in the metric where that is most.
func (l *Learner) signOfChange(k int) float64 {
	d, m, most := &l.s.Changes, l.objective.Dim(), 0.0
	for i := range m {
		if l.ignored[i] {
			continue
		}
		if d.Next[k]-d.BlockRounds[k] >= firstBlock {
			most = max(most, l.apart(k, i, d.BlockMean[k*m+i], d.BlockWeight[k], d.BlockLone[k]))
		}
		if d.Next[k] >= 2*firstBlock && l.options.has(noSegments) {
			most = max(most, l.apart(k, i, d.LastMean[k*m+i], d.LastWeight[k], d.LastLone[k]))
		}
	}
	return most
}

// apart returns the difference between the mean of a recent part of arm k's adjusted values, with
// this weight and Σ size² of rounds without other arms, and that of the others, as a multiple of
// ChangeThreshold standard errors and an allowance for skewed or long-tailed metrics. With z
// standard errors the allowance is (z²−1)/6 times the ratio of the third moment to the variance,
// the first term of the Cornish–Fisher expansion: six events of a rare one.
func (l *Learner) apart(k, i int, mean, weight, lone float64) float64 {
	s, all := &l.s.Stats, l.s.Stats.Adjusted[k*l.objective.Dim()+i]
	old := s.Weight[k] - weight
	if !(old > 0) || !(weight > 0) {
		return 0
	}
	// all = (old·before + weight·mean)/Weight, so mean − before = (mean − all)·Weight/old.
	d := math.Abs(float64((mean - all) * (s.Weight[k] / old)))
	if !(d > float64(1e-12*(math.Abs(all)+math.Abs(mean)))) {
		return 0
	}
	z, tau := l.options.ChangeThreshold, l.s.Noise.tau(s, i)
	sigma := l.variance(k, i, tau)
	square := sigma/old + float64(tau*(max(s.LoneCluster[k]-lone, 0)/old/old)) + sigma/weight +
		float64(tau*(lone/weight/weight))
	allowed := float64(z * math.Sqrt(square))
	if l.options.has(noSkew) && s.Pool[i] > 0 {
		allowed += float64(max(float64(z*z)-1, 0)/6*(s.Bulge[i]/s.Pool[i])) / min(old, weight)
	}
	if allowed == 0 {
		return math.Inf(1)
	}
	return d / allowed
}

// beginAnew starts arm k over after a change: it is served again, and until then its earlier mean
// counts for one group. All other arms keep what is known about them.
func (l *Learner) beginAnew(k int) {
	s := &l.s
	s.Found++
	l.estimate()
	s.count(k, -1)
	s.Stats.forget(k)
	s.count(k, 1)
	s.Joint.forget(k, l.plan.est.rows)
	s.Changes.forget(k)
	s.Solved[k] = 0
}
