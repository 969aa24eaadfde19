package confident

import "math"

// detector compares, for each arm and metric, the adjusted values of a recent block of the arm's
// rounds, and of its last segment of 16, with those before them. Values are adjusted by the other
// arms of their rounds (see armStats), so that what all arms have in common is no change; where no
// round has had two arms they are the arm's own.
type detector struct {
	Next []float64 // K: rounds of the arm that count, since its last change
	Seen []float64 // K: the last round that served the arm
	// Σ weight·(what the means of the reference arms miss, as a multiple of σ²).
	Reference []float64
	// The recent block of rounds: weight, rounds, length in rounds, the part of rounds without
	// other arms (Σ size²), Reference, and the mean.
	BlockWeight    []float64
	BlockRounds    []float64
	BlockLimit     []float64
	BlockLone      []float64
	BlockReference []float64
	BlockSize      []float64 // of the raw values
	BlockRaw       []float64 // K·M: their mean
	BlockMean      []float64 // K·M
	// The last segment, with Σ weight·(adjusted − mean)².
	LastWeight    []float64
	LastLone      []float64
	LastReference []float64
	LastSize      []float64 // of the raw values
	LastRaw       []float64 // K·M: their mean
	LastStart     []float64 // the round in which it began
	LastMean      []float64 // K·M
	LastSquares   []float64 // K·M
}

// firstBlock is the number of rounds of a segment: after each there is a test for a change.
const firstBlock = 16

// perArm lists the numbers of each arm, perMetric those of each arm and metric.
func (d *detector) perArm() [14]*[]float64 {
	return [...]*[]float64{
		&d.Next, &d.BlockWeight, &d.BlockRounds, &d.BlockLimit, &d.BlockLone, &d.LastWeight, &d.LastLone,
		&d.Reference, &d.BlockReference, &d.LastReference, &d.Seen, &d.LastStart, &d.BlockSize, &d.LastSize,
	}
}

func (d *detector) perMetric() [5]*[]float64 {
	return [...]*[]float64{&d.BlockMean, &d.LastMean, &d.LastSquares, &d.BlockRaw, &d.LastRaw}
}

// add adds the adjusted value of an arm.
func (d *detector) add(x *armRound) {
	k, adj, m, weight := x.arm, x.adjusted, len(x.adjusted), x.weight
	off := float64(weight * x.persistent)
	d.Reference[k] += off
	d.BlockReference[k] += off
	d.LastReference[k] += off
	if d.LastWeight[k] == 0 {
		d.LastStart[k] = d.Seen[k]
	}
	d.Next[k]++
	d.BlockRounds[k]++
	last := d.LastWeight[k]
	d.BlockWeight[k] += weight
	d.LastWeight[k] += weight
	if x.lone {
		d.BlockLone[k] += float64(weight * weight)
		d.LastLone[k] += float64(weight * weight)
	}
	d.BlockSize[k] += x.size
	d.LastSize[k] += x.size
	blockShare, lastShare := x.size/d.BlockSize[k], x.size/d.LastSize[k]
	block, newest := d.BlockRaw[k*m:(k+1)*m], d.LastRaw[k*m:(k+1)*m]
	for i, v := range x.mean {
		block[i] += float64(blockShare * (v - block[i]))
		newest[i] += float64(lastShare * (v - newest[i]))
	}
	recent, latest := weight/d.BlockWeight[k], weight/d.LastWeight[k]
	pair := float64(x.scale * float64(weight*(last/d.LastWeight[k])))
	within := d.LastSquares[k*m : (k+1)*m]
	block, newest = d.BlockMean[k*m:(k+1)*m], d.LastMean[k*m:(k+1)*m]
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
	d.LastWeight[k], d.LastLone[k], d.LastReference[k], d.LastSize[k] = 0, 0, 0, 0
	clear(d.LastMean[k*m : (k+1)*m])
	clear(d.LastSquares[k*m : (k+1)*m])
	clear(d.LastRaw[k*m : (k+1)*m])
}

// mostBlock is the number of rounds of the longest blocks.
const mostBlock = 1024

// endBlock begins a new block of arm k, of 32, 64, ... rounds up to half of all or 1,024, and
// again.
func (d *detector) endBlock(k int) {
	m := len(d.LastMean) / len(d.LastWeight)
	limit := 2 * d.BlockLimit[k]
	if limit > min(d.Next[k]/2, mostBlock) || limit < 2*firstBlock {
		limit = 2 * firstBlock
	}
	d.BlockWeight[k], d.BlockRounds[k], d.BlockLone[k], d.BlockReference[k], d.BlockSize[k] = 0, 0, 0, 0, 0
	d.BlockLimit[k] = limit
	clear(d.BlockMean[k*m : (k+1)*m])
	clear(d.BlockRaw[k*m : (k+1)*m])
}

// forget begins arm k anew.
func (d *detector) forget(k int) {
	d.Next[k], d.BlockLimit[k], d.Reference[k] = 0, 0, 0
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
	for a := range l.round.arms {
		x := &l.round.arms[a]
		if !x.tested || !d.segmentEnds(x.arm) {
			continue
		}
		x.began = d.LastStart[x.arm]
		if x.sign <= 1 {
			l.s.Stats.addCalm(x.arm, d)
		}
		d.endSegment(x.arm)
		if d.BlockRounds[x.arm] >= d.BlockLimit[x.arm] {
			d.endBlock(x.arm)
		}
	}
	if most <= 1 {
		return false
	}
	l.estimate()
	since := float64(l.s.T)
	for a := range l.round.arms {
		if x := &l.round.arms[a]; x.sign >= float64(nearly*most) {
			since = min(since, x.began)
			l.s.Found++
			l.beginAnew(x.arm)
		}
	}
	// Nobody can vouch for arms that have not been served since: they may have changed as well.
	for k, seen := range d.Seen {
		if l.s.Active[k] && l.s.Stats.Rounds[k] > 0 && seen < since {
			l.beginAnew(k)
		}
	}
	return true
}

// nearly is the part of the largest sign of a change that counts as another.
const nearly = 0.75

// signOfChange returns by how many times the allowed difference the recent block, or the last
// segment, of arm k differs from its earlier values, in the metric where that is most. Where
// effects of rounds are not shown the raw values must differ by that, which tells the arm that has
// changed from those that are compared with it, and the adjusted ones by most of it, in the same
// direction.
func (l *Learner) signOfChange(k int) float64 {
	d, s, m, most := &l.s.Changes, &l.s.Stats, l.objective.Dim(), 0.0
	for i := range m {
		if l.ignored[i] {
			continue
		}
		j, shown := k*m+i, l.metricShown(i)
		for _, p := range [...]struct {
			ready         bool
			fair, raw     float64 // means
			weight, size  float64
			lone, missing float64
		}{
			{
				d.Next[k]-d.BlockRounds[k] >= firstBlock, d.BlockMean[j], d.BlockRaw[j], d.BlockWeight[k],
				d.BlockSize[k],
				d.BlockLone[k], d.BlockReference[k],
			},
			{
				d.Next[k] >= 2*firstBlock && l.options.has(noSegments), d.LastMean[j], d.LastRaw[j], d.LastWeight[k],
				d.LastSize[k], d.LastLone[k], d.LastReference[k],
			},
		} {
			if !p.ready {
				continue
			}
			fair := l.apart(&s.Fair, k, i, p.fair, p.weight, p.lone, p.missing)
			if shown {
				most = max(most, math.Abs(fair))
				continue
			}
			raw := l.apart(&s.Raw, k, i, p.raw, p.size, 0, 0)
			if float64(fair*raw) > 0 && math.Abs(fair) >= float64(agreement*min(math.Abs(raw), 1)) {
				most = max(most, math.Abs(raw))
			}
		}
	}
	return most
}

// agreement is the part of a sign of change in the raw values that the adjusted ones must show.
const agreement = 2. / 3

// apart returns the difference between the mean of a recent part of arm k's values, with this
// weight, Σ size² of rounds without other arms and Reference, and that of the others, as a multiple
// of ChangeThreshold standard errors and an allowance for skewed or long-tailed metrics. With z
// standard errors the allowance is (z²−1)/6 times the ratio of the third moment to the variance,
// the first term of the Cornish–Fisher expansion: six events of a rare one.
func (l *Learner) apart(s *scatter, k, i int, mean, weight, lone, reference float64) float64 {
	all, old := s.Mean[k*l.objective.Dim()+i], s.Weight[k]-weight
	if !(old > 0) || !(weight > 0) {
		return 0
	}
	// all = (old·before + weight·mean)/Weight, so mean − before = (mean − all)·Weight/old.
	d := float64((mean - all) * (s.Weight[k] / old))
	if !(math.Abs(d) > float64(1e-12*(math.Abs(all)+math.Abs(mean)))) {
		return 0
	}
	z, tau := l.options.ChangeThreshold, l.s.Noise.tau(&l.s.Stats.Raw, i)
	if s == &l.s.Stats.Raw || l.metricShown(i) {
		tau = 0 // it is in the scatter, or rounds with effects have been adjusted since
	}
	sigma := s.variance(k, i, tau, &l.options)
	ref := 0.0
	if s == &l.s.Stats.Fair {
		ref = max(l.s.Changes.Reference[k]-reference, 0)
	}
	square := float64(sigma*((1+ref)/old+(1+reference)/weight)) +
		float64(tau*(max(s.Heavy[k]-lone, 0)/old/old+lone/weight/weight))
	allowed := float64(z * math.Sqrt(square))
	if l.options.has(noSkew) && s.Pool[i] > 0 {
		allowed += float64(max(float64(z*z)-1, 0)/6*(s.Bulge[i]/s.Pool[i])) / min(old, weight)
	}
	if allowed == 0 {
		return math.Copysign(math.MaxFloat64, d)
	}
	return d / allowed
}

// beginAnew starts arm k over after a change: it is served again, and until then its earlier mean
// counts for one group. All other arms keep what is known about them.
func (l *Learner) beginAnew(k int) {
	s := &l.s
	s.count(k, -1)
	s.Stats.forget(k)
	s.count(k, 1)
	s.Joint.forget(k, l.plan.est.rows)
	s.Changes.forget(k)
	s.Solved[k] = 0
}
