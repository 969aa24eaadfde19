package confident

import "math"

// scatter is the mean and the scatter of values of each arm. A row of a K·M table holds an arm's
// metrics.
type scatter struct {
	Weight  []float64 // K: Σ weight
	Exposed []float64 // K: the part of Weight of values that contain the effect of their round
	Heavy   []float64 // K: Σ over rounds of the square of that part
	Free    []float64 // K: degrees of freedom of Squares
	Mean    []float64 // K·M
	Squares []float64 // K·M: Σ weight·(value − mean)²
	// Sums over arms of Squares, Free and spread, with what is kept of arms that began anew.
	Pool        []float64 // M
	Freedom     float64
	Total       float64 // Σ over arms of Weight
	Spread      float64
	Bulge       []float64 // M: Σ weight²·|value − mean|³, approximately
	Kept        []float64 // M
	KeptFreedom float64
}

// mostThird bounds the sums of third powers, which do not overflow with it.
const mostThird = 1e300

// thirdPower returns √(w·q)·q, for the square q = w·d² of a deviation d of a value of weight w.
func thirdPower(q, w float64) float64 { return float64(q * math.Sqrt(float64(w*q))) }

// perArm lists the numbers of each arm, perMetric those of each metric.
func (s *scatter) perArm() [4]*[]float64 {
	return [...]*[]float64{&s.Weight, &s.Exposed, &s.Heavy, &s.Free}
}

func (s *scatter) perMetric() [3]*[]float64 { return [...]*[]float64{&s.Pool, &s.Bulge, &s.Kept} }

// spread is how many times the arm's Squares contain the variance of the effects of rounds.
func (s *scatter) spread(k int) float64 {
	if s.Exposed[k] == 0 {
		return 0
	}
	return max(s.Exposed[k]-s.Heavy[k]/s.Weight[k], 0)
}

// add adds the value of a round, of this weight, and the scatter within the round. Exposed says
// that it contains the effect of the round, scale by how much more exact it is beside other values
// of the arm. A weight of 0 adds the scatter within the round only.
func (s *scatter) add(k int, r *armRound, row []float64, weight, scale float64, exposed bool) {
	m, old := len(s.Pool), s.Weight[k]
	squares, mean := s.Squares[k*m:(k+1)*m], s.Mean[k*m:(k+1)*m]
	if r.groups > 1 {
		s.Free[k] += r.groups - 1
		s.Freedom += r.groups - 1
		for i, q := range r.within {
			squares[i] += q
			s.Pool[i] += q
			s.Bulge[i] = min(s.Bulge[i]+r.third[i], mostThird)
		}
	}
	if weight == 0 {
		return
	}
	s.Spread -= s.spread(k)
	s.Weight[k] = old + weight
	s.Total += weight
	if exposed {
		s.Exposed[k] += weight
		s.Heavy[k] += float64(weight * weight)
	}
	s.Spread += s.spread(k)
	if old == 0 {
		copy(mean, row)
		return
	}
	s.Free[k]++
	s.Freedom++
	share, both := weight/s.Weight[k], float64(scale*float64(weight*(old/(old+weight))))
	for i, v := range row {
		d := v - mean[i]
		mean[i] += float64(share * d)
		q := float64(float64(d*d) * both)
		squares[i] += q
		s.Pool[i] += q
		s.Bulge[i] = min(s.Bulge[i]+thirdPower(q, float64(scale*weight)), mostThird)
	}
}

// begin forgets the scatter of arm k, and its mean with the first value to come.
func (s *scatter) begin(k int) {
	m := len(s.Pool)
	s.Total = max(s.Total-s.Weight[k], 0)
	for _, v := range s.perArm() {
		(*v)[k] = 0
	}
	clear(s.Squares[k*m : (k+1)*m])
}

// forget makes arm k begin anew. The pooled noise is that of the other arms, and what is kept:
// noise within segments that showed no change.
func (s *scatter) forget(k int, calm []float64, calmFreedom float64) {
	m := len(s.Pool)
	s.begin(k)
	s.KeptFreedom = 0
	clear(s.Kept)
	if calmFreedom > 0 {
		c := min(1, keptFreedom/calmFreedom)
		s.KeptFreedom = float64(c * calmFreedom)
		for i, q := range calm {
			s.Kept[i] = float64(c * q)
		}
	}
	copy(s.Pool, s.Kept)
	s.Freedom, s.Spread = s.KeptFreedom, 0
	weight, n := 0.0, 0.0
	for j := range s.Weight {
		s.Freedom += s.Free[j]
		s.Spread += s.spread(j)
		if s.Free[j] > 0 {
			weight += s.Weight[j]
			n += s.Free[j] + 1
		}
		for i, q := range s.Squares[j*m : (j+1)*m] {
			s.Pool[i] += q
		}
	}
	for i, q := range s.Pool { // at most as if it were normal: it contains the jump
		if s.Freedom > 0 && n > 0 {
			s.Bulge[i] = min(s.Bulge[i], float64(1.6*float64(q*math.Sqrt(float64(q/s.Freedom*(weight/n))))))
		} else {
			s.Bulge[i] = 0
		}
	}
}

// variance returns the variance σ² of a unit of weight of arm k in metric i, without the effects of
// rounds, whose variance is tau; +Inf while it is unknown. It mixes the arm's own with the pooled
// variance, worth poolWeight groups.
func (s *scatter) variance(k, i int, tau float64, o *Options) float64 {
	if s.Freedom <= 0 {
		return math.Inf(1)
	}
	j := k*len(s.Pool) + i
	free, own, pool := s.Free[k], s.Squares[j], s.Pool[i]
	// no rounding
	if mean := s.Mean[j]; o.has(noTrust) && free >= 4 && own > float64(1e-28*float64(mean*mean)*s.Weight[k]) {
		// The pool may be of arms that are noisier by far.
		pool = min(pool, float64(trust(free)*(own/free*s.Freedom)))
	}
	if tau > 0 {
		own, pool = max(own-float64(tau*s.spread(k)), 0), max(pool-float64(tau*s.Spread), 0)
	}
	pool /= s.Freedom
	w := float64(poolWeight)
	if own < float64(free*pool) && o.has(noRare) {
		w = s.rareWeight(i)
	}
	return (own + float64(w*pool)) / (free + w)
}

// rareWeight returns the number of groups that the pooled variance counts for against a smaller own
// one: 2.5·g², where g is the standardized absolute third moment of a group, and at least
// poolWeight. The latter is larger for normal noise (g² = 2.55), whose variance a few groups
// estimate; for rare events g² is about 1/rate, so that two or three events count as much as the
// pool.
func (s *scatter) rareWeight(i int) float64 {
	g := s.Bulge[i] / s.Pool[i] / math.Sqrt(s.Pool[i]) // in roots of weight
	w := float64(2.5*float64(float64(g*g)*s.Freedom)) * (s.Freedom / s.Total)
	if !(w < 1e15) {
		return 1e15
	}
	return max(w, poolWeight)
}

// trust returns how many times an arm's own variance, with at least 4 degrees of freedom, the
// pooled one may count for. For normal noise the own variance is below 1/trust of the true one
// in one of a few thousand cases.
func trust(free float64) float64 {
	most := [...]float64{4: 200, 5: 80, 6: 40, 7: 28, 8: 21}
	if free < float64(len(most)) {
		return most[int(free)]
	}
	return 16
}

// armStats are the moments of each arm's observations: of the raw values, and of the adjusted ones,
// a value less what the other arms of its round deviate from their own adjusted means, so that what
// all arms of a round have in common is not in them. A round without other arms is adjusted by
// nothing.
type armStats struct {
	Count  []float64 // K: groups
	Rounds []float64 // K: rounds that served the arm since the start or its last change
	Raw    scatter   // weighted by size
	Fair   scatter   // of the adjusted values
	// The known variances of units: nil where there are none.
	UnitSize    []float64 // K·M: Σ size of groups with a known variance of a unit
	UnitSquares []float64 // K·M: Σ size·variance of a unit
	UnitTotal   []float64 // M: Σ over arms of UnitSize
	UnitPool    []float64 // M: Σ over arms of UnitSquares
	// The squares of adjusted values within segments that showed no change, and their degrees of
	// freedom.
	Calm        []float64 // M
	CalmFreedom float64
}

// addRound adds what an arm was observed to be in a round.
func (s *armStats) addRound(r *armRound) {
	k := r.arm
	if s.Rounds[k] == 0 {
		s.begin(k)
	}
	s.Rounds[k]++
	s.Count[k] += r.groups
	s.Raw.add(k, r, r.mean, r.size, 1, true)
	s.Fair.add(k, r, r.adjusted, r.weight, r.scale, r.lone)
	if r.units != nil {
		s.addUnits(k, r)
	}
}

// begin forgets what is left of arm k from before a change.
func (s *armStats) begin(k int) {
	m := len(s.Calm)
	s.Count[k] = 0
	s.Raw.begin(k)
	s.Fair.begin(k)
	if s.UnitSize == nil {
		return
	}
	for i := range m {
		s.UnitTotal[i] = max(s.UnitTotal[i]-s.UnitSize[k*m+i], 0)
		s.UnitPool[i] = max(s.UnitPool[i]-s.UnitSquares[k*m+i], 0)
	}
	clear(s.UnitSize[k*m : (k+1)*m])
	clear(s.UnitSquares[k*m : (k+1)*m])
}

// addUnits adds the known variances of units.
func (s *armStats) addUnits(k int, r *armRound) {
	m := len(s.Calm)
	if s.UnitSize == nil {
		s.UnitSize, s.UnitSquares = make([]float64, len(s.Raw.Mean)), make([]float64, len(s.Raw.Mean))
		s.UnitTotal, s.UnitPool = make([]float64, m), make([]float64, m)
	}
	for i, q := range r.units {
		s.UnitSize[k*m+i] += r.unitSize[i]
		s.UnitTotal[i] += r.unitSize[i]
		s.UnitSquares[k*m+i] += q
		s.UnitPool[i] += q
	}
}

// addCalm adds the noise of a segment of arm k that shows no change.
func (s *armStats) addCalm(k int, d *detector) {
	m := len(s.Calm)
	s.CalmFreedom += firstBlock - 1
	for i, q := range d.LastSquares[k*m : (k+1)*m] {
		s.Calm[i] += q
	}
}

// forget makes arm k begin anew: until it is served again, its earlier mean counts for one group.
func (s *armStats) forget(k int) {
	size := s.Raw.Weight[k] / max(s.Count[k], 1)
	s.begin(k)
	s.Rounds[k] = 0
	s.Raw.forget(k, s.Calm, s.CalmFreedom)
	s.Fair.forget(k, s.Calm, s.CalmFreedom)
	s.Count[k] = 1
	s.Raw.Weight[k], s.Raw.Exposed[k], s.Raw.Heavy[k] = size, size, float64(size*size)
	s.Raw.Total += size
}

// unitVariance returns the variance of a unit of arm k by the known variances of its groups. A
// smaller own variance than the pooled one counts with it, worth poolWeight groups, or with one
// value at the other end of the range, of this width, where that is less: an arm that has shown no
// rare event yet may have some.
func (s *armStats) unitVariance(k, i int, width float64) float64 {
	m := len(s.Calm)
	size, squares := s.UnitSize[k*m+i], s.UnitSquares[k*m+i]
	own := squares / size
	w := float64(poolWeight * (s.Raw.Weight[k] / s.Count[k]))
	mixed := (squares + float64(w*(s.UnitPool[i]/s.UnitTotal[i]))) / (size + w)
	if width > 0 {
		mixed = min(mixed, (squares+float64(width*width))/size)
	}
	return max(own, mixed)
}
