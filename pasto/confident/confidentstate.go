package confident

import (
	"math"
	"slices"

	"github.com/noregret/noregret/pasto/internal/check"
)

// state is what a [Learner] knows. An active arm of Rounds 0 has not been served since
// the start or the last change: it has Count 0 if it never was, else Count 1, and the mean and size
// that it had.
type state struct {
	T       int
	Clock   int // rounds since the start or the last change
	Next    int // the value of Clock at which to solve again
	Mixed   int // the value of Clock when what is served was last computed
	Warm    bool
	Fresh   int  // active arms of Rounds 0
	Few     int  // other active arms of fewer than fewGroups groups
	Kept    bool // p⁻ is that of before a change
	Changes int
	Live    int
	Active  []bool
	Size    []float64 // K: Σ size
	Count   []float64 // K: groups
	Rounds  []float64 // K: in which the arm was served
	Cluster []float64 // K: Σ over rounds of the square of the arm's size in the round
	Mean    []float64 // K·M
	Squares []float64 // K·M: Σ size·(û − mean)²
	Third   []float64 // K·M: Σ size²·|û − mean|³, nearly
	Solved  []float64 // K: Count at the last solution
	// The recent block of rounds, in which changes are looked for.
	NewSize    []float64
	NewRounds  []float64
	NewCluster []float64
	NewMean    []float64
	NewLimit   []float64 // the block's length in rounds
	// The last segment of firstBlock rounds.
	LastSize    []float64
	LastCount   []float64
	LastCluster []float64
	LastMean    []float64
	LastSquares []float64
	// The segment before it: Σ (Count − 1), Σ (Size − Cluster/Size) and Squares.
	PastFreedom []float64
	PastSpread  []float64
	PastSquares []float64
	// Over arms: the sums of Squares and Third, of Count − 1, and of Size − Cluster/Size; and the
	// first, third and fourth of these within the segments before Past.
	Pool        []float64 // M
	Bulge       []float64 // M
	Freedom     float64
	Spread      float64
	CalmPool    []float64 // M
	CalmFreedom float64
	CalmSpread  float64
	// Whether all arms have changed: see trend.
	Rise, Fall []float64 // M
	Steady     []float64 // M: τ² when these were last 0
	// What the groups of a round have in common.
	Shared []float64 // M: Σ over rounds of products of two groups' deviations
	Pairs  float64   // Σ of the weights of these
	Lone   lone      // what rounds of one group know of it
	// M: Σ over groups with one of the arm before them in their round of the squares of what they
	// differ by
	Inner    []float64
	Inners   float64   // the number of these
	Between  float64   // rounds that served an arm for at least the second time
	Up, Down []float64 // p⁺ and p⁻
}

// newState is the state at the start.
func newState(arms, m int) state {
	s := state{
		Pool: make([]float64, m), Bulge: make([]float64, m), CalmPool: make([]float64, m), Shared: make([]float64, m),
		Rise: make([]float64, m), Fall: make([]float64, m), Steady: make([]float64, m), Inner: make([]float64, m),
		Lone: lone{Square: make([]float64, m), Product: make([]float64, m)},
	}
	for _, v := range s.each() {
		*v = make([]float64, 0, arms)
	}
	for _, v := range s.rows() {
		*v = make([]float64, 0, arms*m)
	}
	for range arms {
		s.grow(m)
	}
	for k := range arms {
		s.Up[k], s.Down[k] = 1/float64(arms), 1/float64(arms)
	}
	return s
}

// grow adds an arm never served, of share 0.
func (s *state) grow(m int) {
	s.Live++
	s.Fresh++
	s.Active = append(s.Active, true)
	one, row := []float64{0}, make([]float64, m)
	for _, v := range s.each() {
		*v = append(*v, one...)
	}
	for _, v := range s.rows() {
		*v = append(*v, row...)
	}
	s.NewLimit[len(s.NewLimit)-1] = 2 * firstBlock
	s.Solved, s.Up, s.Down = append(s.Solved, 0), append(s.Up, 0), append(s.Down, 0)
}

// count adds n to the number that arm k, which is or was active, belongs to: Fresh, Few or none.
func (s *state) count(k, n int) {
	switch {
	case s.Rounds[k] == 0:
		s.Fresh += n
	case s.Count[k] < fewGroups:
		s.Few += n
	}
}

// each are the numbers of each arm that an observation or a change of the means may touch.
func (s *state) each() [13]*[]float64 {
	return [...]*[]float64{
		&s.Size, &s.Count, &s.Rounds, &s.Cluster, &s.NewSize, &s.NewRounds, &s.NewCluster, &s.NewLimit, &s.LastSize,
		&s.LastCount, &s.LastCluster,
		&s.PastFreedom, &s.PastSpread,
	}
}

// rows are such numbers of each arm and metric.
func (s *state) rows() [7]*[]float64 {
	return [...]*[]float64{&s.Mean, &s.Squares, &s.Third, &s.NewMean, &s.LastMean, &s.LastSquares, &s.PastSquares}
}

// metrics are such numbers of each metric.
func (s *state) metrics() [10]*[]float64 {
	return [...]*[]float64{
		&s.Pool, &s.Bulge, &s.CalmPool, &s.Shared, &s.Rise, &s.Fall, &s.Steady, &s.Inner,
		&s.Lone.Square, &s.Lone.Product,
	}
}

// lone are sums over rounds that have one group, of an arm seen before. With d what the group
// misses the arm's mean by and q = d²·S/(S + size), for the size S that the arm had, q is σ²/size +
// τ²·part on average, where part = (S + C/S)/(S + size) for the C = Σ size² of the arm.
type lone struct {
	Rounds  float64
	Inverse float64   // Σ 1/size
	Part    float64   // Σ part
	Sized   float64   // Σ size·part
	Heavy   float64   // Σ (size·part)²
	Square  []float64 // M: Σ q
	Product []float64 // M: Σ size·q
}

// fits reports whether s is a state of n arms and m metrics that a learner can be in.
func (s *state) fits(n, m int) bool {
	if n < 1 || len(s.Active) != n || !nonNegative(s.Solved, n) ||
		!nonNegative([]float64{s.Freedom, s.Pairs, s.CalmFreedom, s.CalmSpread, s.Inners, s.Between}, 6) {
		return false
	}
	for _, v := range s.each() {
		if !nonNegative(*v, n) {
			return false
		}
	}
	for _, v := range s.rows() {
		signed := v == &s.Mean || v == &s.NewMean || v == &s.LastMean
		if check.Vector("", *v, n*m) != nil || !signed && !nonNegative(*v, n*m) {
			return false
		}
	}
	for _, v := range s.metrics() {
		if check.Vector("", *v, m) != nil || v != &s.Shared && !nonNegative(*v, m) {
			return false
		}
	}
	a := &s.Lone
	if !nonNegative([]float64{a.Rounds, a.Inverse, a.Part, a.Sized, a.Heavy}, 5) || a.Rounds > float64(s.T) {
		return false
	}
	if !(0 <= s.T && s.T <= mostRounds && 0 <= s.Mixed && s.Mixed <= s.Clock && s.Clock <= s.T && 0 <= s.Next &&
		s.Next <= mostRounds && 0 <= s.Changes && s.Changes <= s.T) {
		return false
	}
	return check.Mixture("", s.Up, n) == nil && check.Mixture("", s.Down, n) == nil && s.armsFit()
}

// mostRounds is more than any learner lives to see.
const mostRounds = min(1<<53, math.MaxInt)

// nonNegative reports whether v has n finite numbers of at least 0.
func nonNegative(v []float64, n int) bool {
	return check.Vector("", v, n) == nil && !slices.ContainsFunc(v, func(x float64) bool { return x < 0 })
}

// armsFit reports whether the arms' numbers fit each other and the sums over them.
func (s *state) armsFit() bool {
	live, size, free, seen := 0, 0.0, 0.0, state{Rounds: s.Rounds, Count: s.Count}
	for k, active := range s.Active {
		count := s.Count[k]
		switch {
		case (count > 0) != (s.Size[k] > 0) || (count > 0) != (s.Cluster[k] > 0) || s.Rounds[k] > count ||
			s.Rounds[k] > float64(s.T):
			return false
		case s.Rounds[k] == 0 && count != 0 && count != 1:
			return false
		case s.NewRounds[k] > s.Rounds[k] || s.NewLimit[k] < 2*firstBlock ||
			s.NewRounds[k] != math.Trunc(s.NewRounds[k]):
			return false
		case !atMost(s.NewSize[k], s.Size[k]) || !atMost(s.NewCluster[k], s.Cluster[k]) ||
			!atMost(s.LastSize[k], s.Size[k]) || !atMost(s.LastCluster[k], s.Cluster[k]) || s.LastCount[k] > count:
			return false
		case !atMost(s.Cluster[k], float64(s.Size[k]*s.Size[k])) ||
			!atMost(float64(s.Size[k]*s.Size[k]), float64(s.Cluster[k]*max(s.Rounds[k], 1))):
			return false
		}
		size += s.Size[k]
		free += max(count-1, 0)
		if active {
			live++
			seen.count(k, 1)
		}
	}
	// Spread is a running sum, and may be less than 0 by what rounding does to it.
	return live > 0 && s.Live == live && s.Fresh == seen.Fresh && s.Few == seen.Few && check.Finite(s.Spread) &&
		s.Spread >= -float64(1e-6*size) && s.Freedom >= free-0.5
}

// atMost is x ≤ y but for rounding of running sums.
func atMost(x, y float64) bool { return x <= float64(y*(1+1e-6)) }
