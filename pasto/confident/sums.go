package confident

import (
	"math"

	"github.com/noregret/noregret/pasto/internal/check"
	"github.com/noregret/noregret/pasto/internal/lists"
	"github.com/noregret/noregret/pasto/internal/round"
)

const (
	// poolRounds is the number of rounds that the pooled variance counts for beside an arm's own,
	// and poolUnits that of units where variances of units are known.
	poolRounds = 8
	poolUnits  = 200
	// From trustedRounds on an arm's variance is taken to be at least its own part of the pooled
	// one divided by trust: other arms may be noisier by far.
	trustedRounds = 8
	trust         = 20
	// dispersionRounds is what the dispersion of 1 counts for, in rounds of an arm.
	dispersionRounds = 20
	// clip is the number of standard deviations at which values are clipped in the test for
	// changes.
	clip = 2
	// mostExcess bounds a term of the dispersion, so that its sum does not overflow.
	mostExcess = 1e200
	// rounding is the relative difference of two means that counts for nothing.
	rounding = 1e-9
)

// sums are what is known of each arm since it began or last changed. A round of an arm is one
// observation of it, the mean of its groups with their sizes as weight: so what the groups of a
// round have in common is in the scatter between rounds. Invariants: Weight[k] is 0 if and only if
// Rounds[k] is; Pool and Freedom are the sums of Squares and Free over arms.
type sums struct {
	Rounds     []float64 `of:"arm"`         // rounds with data
	Weight     []float64 `of:"arm"`         // Σ size
	Heavy      []float64 `of:"arm"`         // Σ size²
	Mean       []float64 `of:"both,signed"` // weighted by size
	Squares    []float64 `of:"both"`        // Σ of squared innovations, each with mean σ²
	Free       []float64 `of:"arm"`         // their number
	Pool       []float64 `of:"metric"`
	Freedom    float64
	Within     []float64 `of:"metric"` // Σ size·(group − mean of its arm and round)², over all rounds
	WithinFree float64   // its degrees of freedom
	Since      []float64 `of:"arm"` // Σ size since the last change of any arm
	// Variances of units, where they are given, and by how much the scatter exceeds them.
	UnitSize    []float64 `of:"both,optional"`
	UnitSquares []float64 `of:"both,optional"` // Σ size·variance
	UnitPool    []float64 `of:"metric,optional"`
	UnitTotal   []float64 `of:"metric,optional"`
	Excess      []float64 `of:"metric,optional"` // Σ squared innovation / its expectation
	ExcessOf    []float64 `of:"metric,optional"` // their number

	// The means of clipped values over all rounds and over the last ones.
	All, Short, Middle, Long recent

	pooled []pooled // by metric, at the end of the last round: see refresh
}

// pooled is what is known of a metric from all arms together, +Inf where it is unknown.
type pooled struct {
	unit float64 // the given variance of a unit
	// dispersion is by how many times the scatter between rounds exceeds that of units or of the
	// groups within a round, less a standard error, at least 1: above 1 groups of a round have
	// something in common.
	dispersion float64
	variance   float64 // of one unit of size
}

// refresh computes what is known of the metrics from all arms together. It must follow what changes
// the sums, at the end of a round: so the order of the arms in it does not matter.
func (s *sums) refresh() {
	s.pooled = check.Zeros(s.pooled, len(s.Pool))
	for i := range s.pooled {
		p := &s.pooled[i]
		p.unit, p.dispersion, p.variance = math.Inf(1), math.Inf(1), math.Inf(1)
		sum, n := 0.0, 0.0
		switch {
		case s.UnitTotal != nil && s.UnitTotal[i] > 0:
			p.unit = s.UnitPool[i] / s.UnitTotal[i]
			sum, n = s.Excess[i], s.ExcessOf[i]
		case s.Within[i] > 0:
			sum, n = float64(s.Pool[i]*(s.WithinFree/s.Within[i])), s.Freedom
		}
		if s.Within[i] > 0 || p.unit < math.Inf(1) {
			n += dispersionRounds
			p.dispersion = max((sum+dispersionRounds)/n-math.Sqrt(2/n), 1)
		}
		if p.unit < math.Inf(1) {
			p.variance = float64(p.unit * p.dispersion)
		} else if s.Freedom > 0 {
			p.variance = s.Pool[i] / s.Freedom
		}
	}
}

// recent is a mean over rounds of an arm of values that are clipped at two standard deviations from
// the arm's mean before them, so that rare large values hardly move it. Weights decay by a factor
// in each round of the arm.
type recent struct {
	Weight []float64 `of:"arm"` // Σ decay·size
	Square []float64 `of:"arm"` // Σ decay²·size: the variance of Mean is at most σ²·Square/Weight²
	Mean   []float64 `of:"both,signed"`
}

// memories are the numbers of rounds of [sums]'s recent means.
var memories = [...]float64{16, 64, 256}

// recents lists the recent means in the order of memories.
func (s *sums) recents() []*recent { return []*recent{&s.Short, &s.Middle, &s.Long} }

// lists names the lists of numbers.
func (s *sums) lists() lists.Of { return lists.Of{s, &s.All, &s.Short, &s.Middle, &s.Long} }

// add adds a round of an arm, and reports whether the arm has changed: whether one of its recent
// means differs from its mean by more than a number of standard errors, 0 for never.
func (s *sums) add(x *round.Sum, metrics []metric, threshold float64) (changed bool) {
	k, m := x.Arm, len(s.Pool)
	old, square := s.Weight[k], x.Third // room for the squared innovations
	for i := range m {
		v, mean, now := max(s.variance(k, i), s.pooled[i].variance), s.Mean[k*m+i], x.Mean[i]
		d, most := now-mean, float64(clip*math.Sqrt(v/x.Size))
		square[i] = float64(d*d) / (1/x.Size + 1/old)
		if old > 0 && math.Abs(d) > most {
			now = mean + math.Copysign(most, d)
		}
		metrics[i].variance, metrics[i].clipped = v, now
	}
	for i, v := range x.Within {
		s.Within[i] += v
	}
	s.WithinFree += x.Groups - 1
	s.Rounds[k]++
	s.Since[k] += x.Size
	s.Heavy[k] += float64(x.Size * x.Size)
	lists.Average(k, s.Weight, s.Mean, x.Size, x.Mean)
	s.All.add(k, x.Size, 1, metrics)
	for j, r := range s.recents() {
		r.add(k, x.Size, 1-1/memories[j], metrics)
	}
	changed = old > 0 && threshold > 0 && s.differs(k, metrics, threshold)
	for i := range m {
		if old > 0 && s.unitsKnown(k, i) {
			if v := s.unitVariance(k, i); v > 0 {
				s.Excess[i] += min(square[i]/v, mostExcess)
				s.ExcessOf[i]++
			}
		}
	}
	if len(x.Units) > 0 {
		s.addUnits(x)
	}
	if old > 0 {
		s.Free[k]++
		s.Freedom++
		lists.Pool(k, s.Squares, s.Pool, square)
	}
	return changed
}

// add adds a round of this size to the recent mean of arm k, after what it has is kept in part.
func (r *recent) add(k int, size, keep float64, metrics []metric) {
	r.Weight[k] = float64(keep*r.Weight[k]) + size
	r.Square[k] = float64(keep*float64(keep*r.Square[k])) + size
	for i := range metrics {
		j := k*len(metrics) + i
		r.Mean[j] += float64(size / r.Weight[k] * (metrics[i].clipped - r.Mean[j]))
	}
}

// differs reports whether a recent mean of arm k differs from its mean by more than a number of
// standard errors in some metric. The variance of the difference is that of the recent mean less
// that of the mean, which is made of the same rounds. Means of which it is less than half are not
// compared.
func (s *sums) differs(k int, metrics []metric, threshold float64) bool {
	m, all := len(metrics), 1/s.All.Weight[k]
	for _, r := range s.recents() {
		own := r.Square[k] / float64(r.Weight[k]*r.Weight[k])
		if own < 2*all {
			continue
		}
		for i := range metrics {
			mean := s.All.Mean[k*m+i]
			d := math.Abs(r.Mean[k*m+i]-mean) - float64(rounding*math.Abs(mean))
			if d > float64(threshold*math.Sqrt(float64(metrics[i].variance*(own-all)))) && !metrics[i].watched {
				return true
			}
		}
	}
	return false
}

// addUnits adds the variances of units of a round.
func (s *sums) addUnits(x *round.Sum) {
	if s.UnitSize == nil {
		lists.Of{s}.Give(len(s.Rounds), len(s.Pool))
	}
	lists.Pool(x.Arm, s.UnitSize, s.UnitTotal, x.UnitSize)
	lists.Pool(x.Arm, s.UnitSquares, s.UnitPool, x.Units)
}

// forget forgets what is known of arm k.
func (s *sums) forget(k int) {
	s.Freedom = max(s.Freedom-s.Free[k], 0)
	lists.Unpool(k, s.Squares, s.Pool)
	lists.Unpool(k, s.UnitSize, s.UnitTotal)
	lists.Unpool(k, s.UnitSquares, s.UnitPool)
	s.lists().Clear(k, len(s.Pool))
}

// unitsKnown reports whether the variance of a unit of arm k is given in metric i.
func (s *sums) unitsKnown(k, i int) bool { return s.UnitSize != nil && s.UnitSize[k*len(s.Pool)+i] > 0 }

// unitVariance returns the given variance of a unit of arm k in metric i, mixed with that of all
// arms and not below its own.
func (s *sums) unitVariance(k, i int) float64 {
	own, size := s.UnitSquares[k*len(s.Pool)+i], s.UnitSize[k*len(s.Pool)+i]
	return max((own+float64(poolUnits*s.pooled[i].unit))/(size+poolUnits), own/size)
}

// variance returns the variance of one unit of size of arm k in metric i: the squared error of the
// mean is it divided by the weight. It is +Inf while it is unknown.
func (s *sums) variance(k, i int) float64 {
	switch {
	case s.unitsKnown(k, i):
		return float64(s.unitVariance(k, i) * s.pooled[i].dispersion)
	case !(s.Freedom > 0):
		return math.Inf(1)
	}
	free, own, pool := s.Free[k], s.Squares[k*len(s.Pool)+i], s.pooled[i].variance
	if free >= trustedRounds && own > 0 {
		pool = min(pool, float64(trust*(own/free)))
	}
	return (own + float64(poolRounds*pool)) / (free + poolRounds)
}

// square returns the squared error of the mean of arm k in metric i; +Inf while it is unknown. Of
// what the groups of a round have in common, a round has the same however many groups it has.
func (s *sums) square(k, i int) float64 {
	n := s.Weight[k]
	if s.Rounds[k] == 0 {
		return math.Inf(1)
	}
	common := 1 - 1/s.pooled[i].dispersion
	uneven := float64(s.Heavy[k]/n*(s.Rounds[k]/n)) - 1 // 0 for rounds of equal size, and else more
	return float64(s.variance(k, i)*(1+float64(common*max(uneven, 0)))) / n
}

// doubt returns the squared error of the mean of arm k in metric i as it would be if the arm had
// changed with the last one that did: of the rounds before that, one counts.
func (s *sums) doubt(k, i int) float64 {
	n := s.Weight[k]
	return float64(s.square(k, i) * (n / min(s.Since[k]+n/s.Rounds[k], n)))
}
