package mixed

import (
	"math"

	"github.com/noregret/noregret/pasto/internal/lists"
	"github.com/noregret/noregret/pasto/internal/round"
)

const (
	// poolWeight is the number of groups that the pooled variance counts for beside an arm's own,
	// and poolUnits that of units where the variances of units are known.
	poolWeight = 8
	poolUnits  = 200
	// Where an arm has trustedGroups, its variance is taken to be at least the pooled one divided
	// by trust: the pool may be of arms that are noisier by far.
	trustedGroups = 8
	trust         = 20
)

// moments are the moments of each arm's observations: of the raw values, and of the adjusted ones,
// a value less what the other arms of its round deviate from their own adjusted means, so that what
// all arms of a round have in common is not in them. An active arm with Rounds 0 has not been
// served since the start or its last change.
type moments struct {
	Rounds   []float64 `of:"arm"`         // rounds that served the arm
	Count    []float64 `of:"arm"`         // groups
	Weight   []float64 `of:"arm"`         // Σ size
	Heavy    []float64 `of:"arm"`         // Σ over rounds of the square of the round's size
	Mean     []float64 `of:"both,signed"` // of the raw values
	Standing []float64 `of:"arm"`         // Σ weight of adjusted values
	Adjusted []float64 `of:"both,signed"` // their mean
	Squares  []float64 `of:"both"`        // Σ of squared innovations of adjusted values, each with mean σ²
	Free     []float64 `of:"arm"`         // the number of these
	// Sums over arms.
	Pool    []float64 `of:"metric"` // Σ Squares
	Freedom float64   // Σ Free
	Third   []float64 `of:"metric"` // Σ size²·|innovation|³, approximately; what is forgotten stays in it
	// The known variances of units: nil where there are none.
	UnitSize    []float64 `of:"both,optional"`   // Σ size of groups with a known variance of a unit
	UnitSquares []float64 `of:"both,optional"`   // Σ size·variance of a unit
	UnitTotal   []float64 `of:"metric,optional"` // Σ over arms of UnitSize
	UnitPool    []float64 `of:"metric,optional"` // Σ over arms of UnitSquares

	rules Rules
}

// add adds what an arm was observed to be in a round: the scatter within the round, which a round
// of one arm does not have as it may lack what rounds differ by, and the innovation, what the round
// misses the arm's mean by.
func (s *moments) add(r *armRound) {
	k := r.Arm
	if r.Groups > 1 && !r.alone {
		s.addSquares(r, r.Groups-1, r.Within)
	}
	if s.Standing[k] > 0 && r.weight > 0 {
		for i, q := range r.square {
			r.Third[i] = round.ThirdPower(q, r.Size)
		}
		s.addSquares(r, 1, r.square)
	}
	s.Rounds[k]++
	s.Count[k] += r.Groups
	s.Heavy[k] += float64(r.Size * r.Size)
	lists.Average(k, s.Weight, s.Mean, r.Size, r.Mean)
	if r.weight > 0 {
		lists.Average(k, s.Standing, s.Adjusted, r.weight, r.adjusted)
	}
	if len(r.Units) > 0 {
		s.addUnits(r)
	}
}

// addSquares adds sums of squares of so many degrees of freedom, and the third powers beside them.
func (s *moments) addSquares(r *armRound, free float64, squares []float64) {
	s.Free[r.Arm] += free
	s.Freedom += free
	lists.Pool(r.Arm, s.Squares, s.Pool, squares)
	for i, v := range r.Third {
		s.Third[i] = min(s.Third[i]+v, round.MostThird)
	}
}

// addUnits adds the known variances of units. A bound takes the place of those by earlier means.
func (s *moments) addUnits(r *armRound) {
	if s.UnitSize == nil {
		lists.Of{s}.Give(len(s.Rounds), len(s.Pool))
	}
	if r.bounded {
		lists.Unpool(r.Arm, s.UnitSize, s.UnitTotal)
		lists.Unpool(r.Arm, s.UnitSquares, s.UnitPool)
	}
	lists.Pool(r.Arm, s.UnitSize, s.UnitTotal, r.UnitSize)
	lists.Pool(r.Arm, s.UnitSquares, s.UnitPool, r.Units)
}

// forget takes arm k out of the sums over arms.
func (s *moments) forget(k int) {
	s.Freedom = max(s.Freedom-s.Free[k], 0)
	lists.Unpool(k, s.Squares, s.Pool)
	lists.Unpool(k, s.UnitSize, s.UnitTotal)
	lists.Unpool(k, s.UnitSquares, s.UnitPool)
}

// unitsKnown reports whether the variance of a unit of arm k is known in metric i.
func (s *moments) unitsKnown(k, i int) bool {
	return s.UnitSize != nil && s.UnitSize[k*len(s.Pool)+i] > 0
}

// variance returns the variance of a unit of size of arm k in metric i, without what all arms of a
// round have in common: by the variances of units where they are known, and else by the scatter of
// adjusted values, each mixed with the pooled one. It is +Inf while it is unknown.
func (s *moments) variance(k, i int) float64 {
	j := k*len(s.Pool) + i
	switch {
	case s.unitsKnown(k, i):
		mixed := (s.UnitSquares[j] + float64(poolUnits*(s.UnitPool[i]/s.UnitTotal[i]))) / (s.UnitSize[j] + poolUnits)
		return max(mixed, s.UnitSquares[j]/s.UnitSize[j])
	case !(s.Freedom > 0):
		return math.Inf(1)
	}
	free, own, pool := s.Free[k], s.Squares[j], s.Pool[i]/s.Freedom
	// An own variance that is but rounding does not count.
	if mean := s.Mean[j]; free >= trustedGroups && own > float64(1e-28*float64(mean*mean)*s.Weight[k]) &&
		s.rules&NoTrust == 0 {
		pool = min(pool, float64(trust*(own/free)))
	}
	return (own + float64(poolWeight*pool)) / (free + poolWeight)
}

// pooled returns the mean variance of a unit of size in metric i, +Inf while it is unknown.
func (s *moments) pooled(i int) float64 {
	switch {
	case s.UnitTotal != nil && s.UnitTotal[i] > 0:
		return s.UnitPool[i] / s.UnitTotal[i]
	case s.Freedom > 0:
		return s.Pool[i] / s.Freedom
	}
	return math.Inf(1)
}
