package confident

import (
	"math"
	"slices"

	"github.com/noregret/noregret/pasto/internal/check"

	"github.com/noregret/noregret/internal/vec"
)

// state is the state of a [Learner]. An active arm with Rounds 0 has not been served since the
// start or the last change. It has Count 0 if it was never served; else it has Count 1 and its
// earlier mean and size.
//
// Tags keep the names that fields have in snapshots.
type state struct {
	T             int
	Clock         int  // rounds since the start or the last change
	Next          int  // the value of Clock at which to solve again
	Mixed         int  // the value of Clock when Serving was last computed
	AllObserved   bool `snapshot:"Warm"`  // every arm has been served at some time
	Unobserved    int  `snapshot:"Fresh"` // active arms with Rounds 0
	Underobserved int  `snapshot:"Few"`   // other active arms of fewer than fewGroups groups
	HoldsPrevious bool `snapshot:"Kept"`  // p⁻ is the mixture from before a change
	Changes       int
	Live          int
	Active        []bool
	Size          []float64 // K: Σ size
	Count         []float64 // K: groups
	Rounds        []float64 // K: rounds that served the arm
	Cluster       []float64 // K: Σ over rounds of the square of the arm's size in the round
	Mean          []float64 // K·M
	Squares       []float64 // K·M: Σ size·(û − mean)²
	Third         []float64 // K·M: Σ size²·|û − mean|³, approximately
	Solved        []float64 // K: Count at the last solution
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
	// Sums over arms of Squares, Third, Count − 1, and Size − Cluster/Size.
	Pool    []float64 // M
	Bulge   []float64 // M
	Freedom float64
	Spread  float64
	// The sums of Squares, Count − 1 and Size − Cluster/Size within the segments before Past.
	CommittedPool    []float64 `snapshot:"CalmPool"` // M
	CommittedFreedom float64   `snapshot:"CalmFreedom"`
	CommittedSpread  float64   `snapshot:"CalmSpread"`
	// The sums of the test for a change of all arms: see cusum.
	CusumUp   []float64 `snapshot:"Rise"` // M
	CusumDown []float64 `snapshot:"Fall"` // M
	Steady    []float64 // M: τ² when these were last 0
	// What the groups of a round have in common.
	Shared       []float64    // M: Σ over rounds of products of two groups' deviations
	Pairs        float64      // Σ of the weights of these
	SingleGroups singleGroups `snapshot:"Lone"`
	// M: Σ of the squared differences between a group and the group before it of the same arm and
	// round
	Inner    []float64
	Inners   float64   // the number of these
	Between  float64   // rounds that served an arm for at least the second time
	Up, Down []float64 // p⁺ and p⁻
}

// newState is the state at the start.
func newState(arms, m int) state {
	s := state{
		Pool: make([]float64, m), Bulge: make([]float64, m), CommittedPool: make([]float64, m),
		Shared:  make([]float64, m),
		CusumUp: make([]float64, m), CusumDown: make([]float64, m), Steady: make([]float64, m),
		Inner:        make([]float64, m),
		SingleGroups: singleGroups{Square: make([]float64, m), Product: make([]float64, m)},
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
	s.Unobserved++
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

// count adds n to the number that arm k, which is or was active, belongs to: Unobserved,
// Underobserved or none.
func (s *state) count(k, n int) {
	switch {
	case s.Rounds[k] == 0:
		s.Unobserved += n
	case s.Count[k] < fewGroups:
		s.Underobserved += n
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
		&s.Pool, &s.Bulge, &s.CommittedPool, &s.Shared, &s.CusumUp, &s.CusumDown, &s.Steady, &s.Inner,
		&s.SingleGroups.Square, &s.SingleGroups.Product,
	}
}

// singleGroups are sums over rounds of one group of an arm seen before. Let d be the deviation of
// the group from the arm's mean and q = d²·S/(S + size), for the arm's earlier size S. The mean of
// q is σ²/size + τ²·part, where part = (S + C/S)/(S + size) for the C = Σ size² of the arm.
type singleGroups struct {
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
		!nonNegative([]float64{s.Freedom, s.Pairs, s.CommittedFreedom, s.CommittedSpread, s.Inners, s.Between}, 6) {
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
	a := &s.SingleGroups
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
	return live > 0 && s.Live == live && s.Unobserved == seen.Unobserved && s.Underobserved == seen.Underobserved &&
		vec.IsFinite(s.Spread) &&
		s.Spread >= -float64(1e-6*size) && s.Freedom >= free-0.5
}

// atMost is x ≤ y but for rounding of running sums.
func atMost(x, y float64) bool { return x <= float64(y*(1+1e-6)) }
