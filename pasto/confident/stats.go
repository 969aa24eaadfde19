package confident

import "math"

// armStats are the moments of each arm's observations. A row of a K·M table holds an arm's metrics.
//
// Means and sizes are those of the raw values. Squares are those of the adjusted values: a value
// less what the other arms of its round deviate from their own adjusted means, so that what all arms
// of a round have in common is not in them. A round without other arms is adjusted by nothing;
// LoneSize and LoneCluster say how much of Squares stems from such rounds.
type armStats struct {
	Size        []float64 // K: Σ size
	Count       []float64 // K: groups
	Rounds      []float64 // K: rounds that served the arm since the start or its last change
	Cluster     []float64 // K: Σ over rounds of the square of the arm's size in the round
	Mean        []float64 // K·M
	Weight      []float64 // K: Σ of the weights of adjusted values
	LoneSize    []float64 // K: the part of Weight from rounds without other arms
	LoneCluster []float64 // K: Σ size² over these rounds
	Free        []float64 // K: degrees of freedom of Squares
	Adjusted    []float64 // K·M: means of the adjusted values
	Squares     []float64 // K·M: Σ weight·(adjusted − mean)²
	UnitSize    []float64 // K·M: Σ size of groups with a known variance of a unit, nil if there are none
	UnitSquares []float64 // K·M: Σ size·variance of a unit
	UnitTotal   []float64 // M: Σ over arms of UnitSize
	UnitPool    []float64 // M: Σ over arms of UnitSquares
	// Sums over arms of Squares, Free and spread, with what is kept of arms that began anew.
	Pool    []float64 // M
	Freedom float64
	Spread  float64
	Bulge   []float64 // M: Σ weight²·|adjusted − mean|³, approximately
	// The squares within segments that showed no change, and their degrees of freedom.
	Calm        []float64 // M
	CalmFreedom float64
	KeptFreedom float64   // of Pool, from arms that began anew
	Kept        []float64 // M: of Pool
}

// mostThird bounds the sums of third powers, which do not overflow with it.
const mostThird = 1e300

// perArm lists the numbers of each arm, perMetric those of each arm and metric.
func (s *armStats) perArm() [8]*[]float64 {
	return [...]*[]float64{
		&s.Size, &s.Count, &s.Rounds, &s.Cluster, &s.Weight, &s.LoneSize, &s.LoneCluster, &s.Free,
	}
}

func (s *armStats) perMetric() [3]*[]float64 {
	return [...]*[]float64{&s.Mean, &s.Adjusted, &s.Squares}
}

// spread is how many times the arm's Squares contain the variance of the effects of rounds.
func (s *armStats) spread(k int) float64 {
	if s.LoneSize[k] == 0 {
		return 0
	}
	return max(s.LoneSize[k]-s.LoneCluster[k]/s.Weight[k], 0)
}

// addRound adds what arm k was observed to be in a round. A weight of 0 leaves the adjusted values
// alone.
func (s *armStats) addRound(k int, r *armRound) {
	m := len(s.Pool)
	if s.Rounds[k] == 0 {
		s.begin(k)
	}
	s.Spread -= s.spread(k)
	s.Rounds[k]++
	s.Count[k] += r.groups
	s.Size[k] += r.size
	s.Cluster[k] += float64(r.size * r.size)
	share := r.size / s.Size[k]
	mean := s.Mean[k*m : (k+1)*m]
	for i, v := range r.mean {
		if s.Rounds[k] == 1 {
			mean[i] = v
		} else {
			mean[i] += float64(share * (v - mean[i]))
		}
	}
	s.addSquares(k, r, r.adjusted, r.weight)
	if r.lone && r.weight > 0 {
		s.LoneSize[k] += r.weight
		s.LoneCluster[k] += float64(r.weight * r.weight)
	}
	s.Spread += s.spread(k)
	if r.units != nil {
		s.addUnits(k, r)
	}
}

// begin forgets what is left of arm k from before a change.
func (s *armStats) begin(k int) {
	m := len(s.Pool)
	for _, v := range s.perArm() {
		(*v)[k] = 0
	}
	clear(s.Adjusted[k*m : (k+1)*m])
	clear(s.Squares[k*m : (k+1)*m])
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

// addSquares adds the scatter within the round and that of the adjusted mean.
func (s *armStats) addSquares(k int, r *armRound, adj []float64, weight float64) {
	m, old := len(s.Pool), s.Weight[k]
	squares, mean := s.Squares[k*m:(k+1)*m], s.Adjusted[k*m:(k+1)*m]
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
	s.Weight[k] = old + weight
	if old == 0 {
		copy(mean, adj)
		return
	}
	s.Free[k]++
	s.Freedom++
	share, both := weight/s.Weight[k], float64(weight*(old/(old+weight)))
	for i, v := range adj {
		d := v - mean[i]
		mean[i] += float64(share * d)
		q := float64(float64(d*d) * both)
		squares[i] += q
		s.Pool[i] += q
		s.Bulge[i] = min(s.Bulge[i]+thirdPower(q, weight), mostThird)
	}
}

// addUnits adds the known variances of units.
func (s *armStats) addUnits(k int, r *armRound) {
	m := len(s.Pool)
	if s.UnitSize == nil {
		s.UnitSize, s.UnitSquares = make([]float64, len(s.Mean)), make([]float64, len(s.Mean))
		s.UnitTotal, s.UnitPool = make([]float64, m), make([]float64, m)
	}
	for i, q := range r.units {
		s.UnitSize[k*m+i] += r.unitSize[i]
		s.UnitTotal[i] += r.unitSize[i]
		s.UnitSquares[k*m+i] += q
		s.UnitPool[i] += q
	}
}

// forget makes arm k begin anew: until it is served again, its earlier mean counts for one group.
// The pooled noise is that of the other arms and, as far as these have few degrees of freedom, that
// within the segments that showed no change.
func (s *armStats) forget(k int) {
	m := len(s.Pool)
	size := s.Size[k]
	if s.Count[k] > 1 {
		size /= s.Count[k]
	}
	s.begin(k)
	s.Size[k], s.Count[k], s.Cluster[k] = size, 1, float64(size*size)
	s.KeptFreedom = 0
	clear(s.Kept)
	if s.CalmFreedom > 0 {
		c := min(1, keptFreedom/s.CalmFreedom)
		s.KeptFreedom = float64(c * s.CalmFreedom)
		for i, q := range s.Calm {
			s.Kept[i] = float64(c * q)
		}
	}
	before := s.Freedom
	copy(s.Pool, s.Kept)
	s.Freedom, s.Spread = s.KeptFreedom, 0
	for j := range s.Size {
		s.Freedom += s.Free[j]
		s.Spread += s.spread(j)
		for i, q := range s.Squares[j*m : (j+1)*m] {
			s.Pool[i] += q
		}
	}
	for i := range s.Bulge { // as if it were normal: the jump is in what is known of it
		if before > 0 {
			s.Bulge[i] = min(s.Bulge[i], float64(1.6*float64(s.Pool[i]*math.Sqrt(float64(s.Pool[i]*s.scale())))))
		}
	}
}

// scale is the mean weight of an adjusted value over the degrees of freedom.
func (s *armStats) scale() float64 {
	weight, n := 0.0, 0.0
	for k, w := range s.Weight {
		weight += w
		n += s.Rounds[k]
	}
	if n == 0 || s.Freedom == 0 {
		return 0
	}
	return weight / n / s.Freedom
}

// variance returns the variance σ² of a unit of size of arm k in metric i, without the effects of
// rounds, whose variance is tau; +Inf while it is unknown. By scatter it mixes the arm's own with
// the pooled variance, worth poolWeight groups. Where the variance of units is known, it is that,
// times the pooled ratio phi of the scatter to it; width is the range of a unit's value, 0 if that
// is unknown.
func (s *armStats) variance(k, i int, tau, phi, width float64, trusting bool) float64 {
	j := k*len(s.Pool) + i
	if s.UnitSize != nil && s.UnitSize[j] > 0 {
		return float64(phi * s.unitVariance(k, i, width))
	}
	if s.Freedom <= 0 {
		return math.Inf(1)
	}
	free, own, pool := s.Free[k], s.Squares[j], s.Pool[i]
	if mean := s.Mean[j]; trusting && free >= 4 && own > float64(1e-28*float64(mean*mean)*s.Size[k]) { // no rounding
		// The pool may be of arms that are noisier by far.
		pool = min(pool, float64(trust(free)*(own/free*s.Freedom)))
	}
	if tau > 0 {
		own, pool = max(own-float64(tau*s.spread(k)), 0), max(pool-float64(tau*s.Spread), 0)
	}
	return (own + float64(poolWeight*(pool/s.Freedom))) / (free + poolWeight)
}

// unitVariance returns the variance of a unit of arm k by the known variances of its groups. A
// smaller own variance than the pooled one counts with it, worth poolWeight groups, or with one
// value at the other end of the range where that is less: an arm that has shown no rare event yet
// may have some.
func (s *armStats) unitVariance(k, i int, width float64) float64 {
	m := len(s.Pool)
	size, squares := s.UnitSize[k*m+i], s.UnitSquares[k*m+i]
	own := squares / size
	w := float64(poolWeight * (s.Size[k] / s.Count[k]))
	mixed := (squares + float64(w*(s.UnitPool[i]/s.UnitTotal[i]))) / (size + w)
	if width > 0 {
		mixed = min(mixed, (squares+float64(width*width))/size)
	}
	return max(own, mixed)
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
