package pasto

import "math"

// take adds an observation to the arm's statistics, and reports whether the arm has changed.
func (l *Confident) take(o *Observation) bool {
	s, k, m := &l.s, o.Arm, l.objective.Dim()
	w := o.Size
	if w == 0 {
		w = 1
	}
	if s.Count[k] == 0 {
		s.Fresh--
	} else {
		s.Freedom++
	}
	s.Count[k]++
	s.Size[k] += w
	s.NewCount[k]++
	s.NewSize[k] += w
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
	n := s.NewCount[k]
	if n%firstBlock != 0 || l.options.Alarm < 0 {
		return false
	}
	if s.Count[k]-float64(n) >= firstBlock && l.differs(k) {
		l.restart(k)
		return true
	}
	if n >= s.NewLimit[k] { // blocks of 32, 64, ... up to half of all, and again
		s.NewCount[k], s.NewSize[k] = 0, 0
		clear(block)
		if s.NewLimit[k] *= 2; float64(s.NewLimit[k]) > s.Count[k]/2 {
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
		v := float64(l.variance(k, i) * (1/old + 1/s.NewSize[k]))
		if float64(d*d) > float64(float64(l.options.Alarm*l.options.Alarm)*v) && math.Abs(d) > 1e-12*(math.Abs(s.Mean[k*m+i])+math.Abs(s.NewMean[k*m+i])) {
			return true
		}
	}
	return false
}

// restart lets the recent block be all that is known of the arm. Its variance is the pooled one until more
// is seen.
func (l *Confident) restart(k int) {
	s, m := &l.s, l.objective.Dim()
	s.Freedom = max(s.Freedom-(s.Count[k]-1), 0)
	for i := range m {
		s.Pool[i] = max(s.Pool[i]-s.Squares[k*m+i], 0)
		s.Mean[k*m+i] = s.NewMean[k*m+i]
		s.Squares[k*m+i] = 0
		if s.Freedom > 0 {
			s.Squares[k*m+i] = float64(s.Pool[i] / s.Freedom * float64(s.NewCount[k]-1))
		}
	}
	s.Size[k], s.Count[k] = s.NewSize[k], float64(s.NewCount[k])
	s.NewLimit[k] = 0 // forgetAll passes it over
	s.Freedom += s.Count[k] - 1
	for i := range m {
		s.Pool[i] += s.Squares[k*m+i]
	}
}

// forgetAll lets the past of every arm but those just started anew count for one group, and what is known
// of the noise for a few; all blocks end.
func (l *Confident) forgetAll() {
	s, m := &l.s, l.objective.Dim()
	if s.Freedom > keptFreedom {
		c := keptFreedom / s.Freedom
		s.Freedom = keptFreedom
		for i := range s.Pool {
			s.Pool[i] *= c
		}
	}
	for k := range s.Size {
		if s.NewLimit[k] != 0 && s.Count[k] > 1 {
			s.Size[k] /= s.Count[k]
			s.Count[k] = 1
			clear(s.Squares[k*m : (k+1)*m])
		}
		s.NewCount[k], s.NewSize[k], s.NewLimit[k] = 0, 0, 2*firstBlock
	}
	clear(s.NewMean)
}

// variance is that of a unit of size of arm k in metric i; +Inf while nothing is known.
func (l *Confident) variance(k, i int) float64 {
	s := &l.s
	if s.Freedom <= 0 {
		return math.Inf(1)
	}
	pool := s.Pool[i] / s.Freedom
	free := max(s.Count[k]-1, 0)
	return (s.Squares[k*l.objective.Dim()+i] + float64(poolWeight*pool)) / (free + poolWeight)
}
