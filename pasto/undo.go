package pasto

// undo is what it takes to take back a round: the rows that it touches, and everything in the few rounds that
// touch everything.
type undo struct {
	arms               []int
	sum, base, weight  []float64
	last, count        []int
	scale              float64
	slot               windowRound
	whole              bool
	allSum, allWeights []float64
}

// mark remembers what [estimate.add] is about to change.
func (e *estimate) mark(u *undo, obs []Observation) {
	s := &e.s
	u.arms, u.sum, u.base, u.weight, u.last, u.count = u.arms[:0], u.sum[:0], u.base[:0], u.weight[:0], u.last[:0], u.count[:0]
	for i := range obs {
		u.arms = append(u.arms, obs[i].Arm)
	}
	u.scale, u.whole = s.Scale, false
	switch e.form.kind {
	case kindDiscountedIPW:
		u.whole = s.Scale*(1-e.form.param) < leastScale
	case kindWindow:
		n := len(s.Ring)
		u.slot.copy(&s.Ring[s.T%n])
		u.arms = append(u.arms, u.slot.Arms...)
		u.whole = (s.T+1)%n == 0
	}
	if u.whole {
		u.allSum, u.allWeights = append(u.allSum[:0], s.Sum...), append(u.allWeights[:0], s.Weight...)
	}
	for _, k := range u.arms {
		u.sum = append(u.sum, s.Sum[k*e.m:(k+1)*e.m]...)
		u.weight, u.last = append(u.weight, s.Weight[k]), append(u.last, s.Last[k])
		if s.Base != nil {
			u.base = append(u.base, s.Base[k*e.m:(k+1)*e.m]...)
		}
		if s.Count != nil {
			u.count = append(u.count, s.Count[k])
		}
	}
}

// revert takes the round back that was added since mark.
func (e *estimate) revert(u *undo) {
	s := &e.s
	s.T--
	s.Scale = u.scale
	if u.whole {
		copy(s.Sum, u.allSum)
		copy(s.Weight, u.allWeights)
	}
	for i, k := range u.arms {
		copy(s.Sum[k*e.m:(k+1)*e.m], u.sum[i*e.m:])
		s.Weight[k], s.Last[k] = u.weight[i], u.last[i]
		if s.Base != nil {
			copy(s.Base[k*e.m:(k+1)*e.m], u.base[i*e.m:])
		}
		if s.Count != nil {
			s.Count[k] = u.count[i]
		}
	}
	if e.form.kind == kindWindow {
		s.Ring[s.T%len(s.Ring)].copy(&u.slot)
	}
}

// copy makes w what v is, in its own memory.
func (w *windowRound) copy(v *windowRound) {
	w.Arms, w.Sizes, w.Values = append(w.Arms[:0], v.Arms...), append(w.Sizes[:0], v.Sizes...), append(w.Values[:0], v.Values...)
}

// confidentUndo is what it takes to take back a round of [Confident].
type confidentUndo struct {
	scalars  confidentState // its slices are not used
	rows     []float64      // of each observation: Size, Count, NewSize, Rounds, Cluster, NewCluster, Mean, Squares, NewMean
	counts   []int          // NewCount, NewRounds, NewLimit
	pool     []float64      // Pool, Shared, Lone.Square, Lone.Product
	whole    bool
	all      []float64 // see parts
	allCount []int     // NewCount, NewRounds, NewLimit
}

// mark remembers what the observations are about to change.
func (l *Confident) mark(obs []Observation) {
	s, u, m := &l.s, &l.undo, l.objective.Dim()
	u.scalars, u.whole = *s, false
	u.pool = append(append(append(append(u.pool[:0], s.Pool...), s.Shared...), s.Lone.Square...), s.Lone.Product...)
	u.rows, u.counts = u.rows[:0], u.counts[:0]
	for i := range obs {
		k := obs[i].Arm
		u.rows = append(append(u.rows, s.Size[k], s.Count[k], s.NewSize[k], s.Rounds[k], s.Cluster[k], s.NewCluster[k]), s.Mean[k*m:(k+1)*m]...)
		u.rows = append(append(u.rows, s.Squares[k*m:(k+1)*m]...), s.NewMean[k*m:(k+1)*m]...)
		u.counts = append(u.counts, s.NewCount[k], s.NewRounds[k], s.NewLimit[k])
	}
}

// parts are the vectors that a change of the means touches.
func (s *confidentState) parts() [9][]float64 {
	return [9][]float64{s.Size, s.Count, s.NewSize, s.Rounds, s.Cluster, s.NewCluster, s.Mean, s.Squares, s.NewMean}
}

// markAll remembers everything, before a change of the means makes all arms anew.
func (l *Confident) markAll() {
	u := &l.undo
	u.whole, u.all = true, u.all[:0]
	for _, v := range l.s.parts() {
		u.all = append(u.all, v...)
	}
	u.allCount = append(append(append(u.allCount[:0], l.s.NewCount...), l.s.NewRounds...), l.s.NewLimit...)
}

// revert takes back the round since mark.
func (l *Confident) revert(obs []Observation) {
	s, u, m := &l.s, &l.undo, l.objective.Dim()
	*s = u.scalars
	pool := u.pool
	for _, v := range [4][]float64{s.Pool, s.Shared, s.Lone.Square, s.Lone.Product} {
		pool = pool[copy(v, pool):]
	}
	if u.whole {
		from := u.all
		for _, v := range s.parts() {
			from = from[copy(v, from):]
		}
		n := copy(s.NewCount, u.allCount)
		copy(s.NewRounds, u.allCount[n:])
		copy(s.NewLimit, u.allCount[2*n:])
	}
	for i := range obs {
		k, row := obs[i].Arm, u.rows[i*(6+3*m):]
		s.Size[k], s.Count[k], s.NewSize[k] = row[0], row[1], row[2]
		s.Rounds[k], s.Cluster[k], s.NewCluster[k] = row[3], row[4], row[5]
		copy(s.Mean[k*m:(k+1)*m], row[6:])
		copy(s.Squares[k*m:(k+1)*m], row[6+m:])
		copy(s.NewMean[k*m:(k+1)*m], row[6+2*m:])
		s.NewCount[k], s.NewRounds[k], s.NewLimit[k] = u.counts[3*i], u.counts[3*i+1], u.counts[3*i+2]
	}
}
