package compare

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/vec"
)

// Sums are what the units of one arm brought in one round, in one metric. A unit of a plain metric
// has a value x; a unit of a ratio has two, x above and y below the line.
type Sums struct {
	// Arm is the arm's index.
	Arm int
	// N is the number of units, above 0.
	N float64
	// X is the mean of x, and XX the sum of (x − X)².
	X, XX float64
	// Y and YY are those of y, and XY is the sum of (x − X)(y − Y); 0 for plain metrics.
	Y, YY, XY float64
}

// Merge adds the units of other, which are of the same arm and round (Chan, Golub and LeVeque,
// "Updating formulae and a pairwise algorithm for computing sample variances", 1979).
func (s *Sums) Merge(other Sums) {
	n := s.N + other.N
	if other.N == 0 {
		return
	}
	share := other.N / n
	cross := float64(s.N * share)
	dx, dy := other.X-s.X, other.Y-s.Y
	s.XX += other.XX + float64(cross*float64(dx*dx))
	s.YY += other.YY + float64(cross*float64(dy*dy))
	s.XY += other.XY + float64(cross*float64(dx*dy))
	s.X += float64(share * dx)
	s.Y += float64(share * dy)
	s.N = n
}

// largest is the largest mean that is accepted.
const largest = 1e100

// check returns an error for sums that no units can have.
func (s *Sums) check(i, arms int, ratio bool) error {
	bad := func(format string, args ...any) error {
		return noregret.BadInputf(fmt.Sprintf("round[%d]", i), format, args...)
	}
	switch {
	case s.Arm < 0 || s.Arm >= arms:
		return bad("arm %d: want one of the %d arms, from 0 on", s.Arm, arms)
	case math.Abs(s.X) > largest || math.Abs(s.Y) > largest || math.Sqrt(s.XX) > largest || math.Sqrt(s.YY) > largest:
		return bad("means %v and %v, sums of squares %v and %v of arm %d: want means of at most %v and sums of "+
			"squares of at most its square, whose products stay finite", s.X, s.Y, s.XX, s.YY, s.Arm, largest)
	case !(s.N > 0) || math.IsInf(s.N, 1):
		return bad("%v units of arm %d: want a finite number above 0", s.N, s.Arm)
	case !vec.IsFinite(s.X) || !vec.IsFinite(s.Y) || !vec.IsFinite(s.XY):
		return bad("means %v and %v, products %v of arm %d: want finite numbers", s.X, s.Y, s.XY,
			s.Arm)
	case !(s.XX >= 0) || math.IsInf(s.XX, 1) || !(s.YY >= 0) || math.IsInf(s.YY, 1):
		return bad("sums of squares %v and %v of arm %d: want finite numbers, at least 0", s.XX,
			s.YY, s.Arm)
	case math.Abs(s.XY) > float64(1.000001*float64(math.Sqrt(s.XX)*math.Sqrt(s.YY))):
		return bad("sum of products %v of arm %d: want at most √(%v·%v)", s.XY, s.Arm, s.XX, s.YY)
	case !ratio && (s.Y != 0 || s.YY != 0 || s.XY != 0):
		return bad("arm %d has a second part, which only a ratio has", s.Arm)
	}
	return nil
}
