package dp

import (
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/portable"
)

// SelectionNoise is the mechanism of a [Selector]. Both take every adjacency and unit.
type SelectionNoise uint8

const (
	// Exponential draws a candidate with probability proportional to exp(−score/temperature),
	// exactly (McSherry and Talwar 2007), at a cost of η²/8 for bounded range. It is the default.
	Exponential SelectionNoise = iota
	// Laplace returns the candidate with the smallest sum of score and discrete Laplace noise, at a
	// cost of η²/2: twice the temperature for the same budget.
	Laplace
)

// SelectorConfig declares a [Selector], with its adjacency and its unit in Protection. Nothing in
// it may depend on the data. The zero value is refused: all fields but the two bools are required.
type SelectorConfig struct {
	// Candidates is the number of candidates.
	Candidates int
	// Lattice is the front end whose increments make up the scores: the score of candidate v is the
	// inner product of v with the sum of all increments, an integer.
	Lattice *Lattice
	// Width is the largest |⟨k, v − w⟩|/‖k‖ over all candidates v and w and integer vectors k, in
	// the norm of the lattice: the diameter of the candidates in the dual norm. It is 2 for the
	// points ±e_j and for the points e_j with LInf.
	Width float64
	// Rounded says that scores are rounded: each is within ½ of the exact inner product.
	Rounded bool
	// Unbounded makes the cost of a selection independent of the horizon, which is then only a
	// limit: it falls with t·ln²t. Otherwise it falls with t, and the horizon of the lattice is the
	// number of selections.
	Unbounded bool
	// Noise is the mechanism.
	Noise SelectionNoise
	// Protection is what the budget protects.
	Protection Protection
	// Budget is the cost of all selections: ZCDPBudget or PureBudget.
	Budget Budget
}

// A Selector chooses, once per step, a candidate with a small score, such that all choices together
// keep the budget, also if later scores depend on earlier choices. The choices may be published;
// the scores are secret. All arithmetic on scores is in exact integers. Adjacency and the unit of
// privacy are those of its [SelectorConfig].Protection. Not safe for concurrent use.
//
// Selection t has the temperature B_t = Γ·√(t·H_n/(8ρ)), where Γ is the largest change of a
// difference of two scores that one unit causes, and costs ρ/(t·H_n), H_n being the n-th harmonic
// number: the costs of n selections add up to ρ. With a pure budget every selection has the cost
// ε/n.
type Selector struct {
	config SelectorConfig
	random *source
	spread float64 // Γ
	t      int64
	charge Charge
	closed bool
}

// NewSelector returns a selector that has not selected yet. The errors are ErrDimension, ErrBound,
// ErrEpsilon, ErrUnitMismatch and ErrLattice.
func NewSelector(c SelectorConfig, opts ...Option) (*Selector, error) {
	if err := checkDim(c.Candidates); err != nil {
		return nil, err
	}
	if err := checkBound("width", c.Width); err != nil {
		return nil, err
	}
	if err := c.Protection.check(); err != nil {
		return nil, err
	}
	if err := c.Budget.check(); err != nil {
		return nil, err
	}
	if c.Budget.accounting == GDP {
		return nil, noregret.BadInputf("budget",
			"a selection has no Gaussian budget, want ZCDPBudget or PureBudget: %w",
			ErrUnitMismatch)
	}
	if c.Lattice == nil {
		return nil, noregret.BadInputf("lattice", "nil, want one made by NewLattice: %w", ErrLattice)
	}
	if c.Noise > Laplace {
		return nil, noregret.BadInputf("noise", "%d, want Exponential or Laplace: %w", c.Noise, ErrNorm)
	}
	s := &Selector{config: c, random: newSource(opts, "selector")}
	s.spread = math.Ceil(float64(c.Protection.steps()) * float64(c.Lattice.Limit()) * c.Width * (1 + margin))
	if c.Rounded {
		s.spread += 2
	}
	limit := 0x1p62
	if c.Noise == Laplace {
		limit = 0x1p53
	}
	if !(s.temperature(c.Lattice.Horizon()) < limit) {
		return nil, noregret.BadInputf("spacing", "temperature %g of scores in units of %g can overflow: "+
			"want a coarser lattice: %w", s.temperature(c.Lattice.Horizon()), c.Lattice.Spacing(), ErrLattice)
	}
	s.charge = Charge{
		Protection: c.Protection, Accounting: c.Budget.accounting, Rho: c.Budget.Rho(), Refundable: true,
		Insecure: s.random.insecure(),
	}
	if c.Budget.accounting == Pure {
		s.charge.PureEps = c.Budget.cost
	}
	return s, nil
}

// NewZeroSelector returns a selector that chooses the smallest score, the lowest index in a tie,
// and protects nobody.
func NewZeroSelector(candidates int) (*Selector, error) {
	if err := checkDim(candidates); err != nil {
		return nil, err
	}
	return &Selector{config: SelectorConfig{Candidates: candidates}, charge: Charge{Insecure: true}}, nil
}

// share is the part of the budget that selection t has: of ρ, or of ε for a pure budget.
func (s *Selector) share(t int64) float64 {
	switch {
	case s.config.Unbounded:
		log := portable.Log(float64(t + 1))
		return 1 / (2.1098 * float64(t+1) * log * log)
	case s.config.Budget.accounting == Pure:
		return 1 / float64(s.config.Lattice.Horizon())
	}
	return 1 / (float64(t) * Harmonic(s.config.Lattice.Horizon()))
}

// loss is η_t, the largest change of the difference of two log-probabilities in selection t.
func (s *Selector) loss(t int64) float64 {
	share := float64(s.config.Budget.cost * s.share(t))
	switch {
	case s.config.Budget.accounting == Pure:
		return share
	case s.config.Noise == Laplace:
		return math.Sqrt(2 * share)
	}
	return math.Sqrt(8 * share)
}

// temperature is B_t in units of the scores, rounded up to an integer.
func (s *Selector) temperature(t int64) float64 {
	return math.Ceil(s.spread / s.loss(t) * (1 + margin))
}

// Temperature returns B_t, or the scale of the Laplace noise, in units of the scores: an integer.
func (s *Selector) Temperature(t int64) float64 {
	if s.random == nil {
		return 0
	}
	return s.temperature(max(1, t))
}

// Rho returns what selection t costs in zCDP.
func (s *Selector) Rho(t int64) float64 {
	if s.random == nil {
		return 0
	}
	eta := s.loss(max(1, t))
	if s.config.Noise == Laplace {
		return eta * eta / 2
	}
	return eta * eta / 8
}

// Choose returns the index of a candidate for one score per candidate, and counts one step. The
// errors are ErrDimension, ErrHorizon after the last step, ErrLattice for a score of 2^61 or more
// in absolute value, and ErrClosed; the state is unchanged. It takes O(candidates) and at most as
// many draws on average.
func (s *Selector) Choose(scores []int64) (int, error) {
	switch {
	case s.closed:
		return 0, noregret.BadInputf("selector", "%w", ErrClosed)
	case len(scores) != s.config.Candidates:
		return 0, noregret.BadInputf("scores", "%d, want %d: %w", len(scores), s.config.Candidates, ErrDimension)
	case s.random != nil && s.t >= s.config.Lattice.Horizon():
		return 0, noregret.BadInputf("selector", "all %d declared steps are done: %w", s.t, ErrHorizon)
	}
	best := 0
	for v, score := range scores {
		if magnitude(score) >= 1<<61 {
			return 0, noregret.BadInputf("scores", "number %d is outside ±2^61: %w", v, ErrLattice)
		}
		if score < scores[best] {
			best = v
		}
	}
	s.t++
	switch {
	case s.random == nil:
		return best, nil
	case s.config.Noise == Laplace:
		return s.chooseLaplace(scores), nil
	}
	temperature := uint64(s.temperature(s.t))
	for {
		v := int(s.random.below(uint64(len(scores))))
		if s.random.expMinus(uint64(scores[v]-scores[best]), temperature) {
			return v, nil
		}
	}
}

func (s *Selector) chooseLaplace(scores []int64) int {
	scale := uint64(s.temperature(s.t))
	best, least := 0, int64(math.MaxInt64)
	for v, score := range scores {
		if noisy := max(-1<<62, min(1<<62, score+s.random.signedLaplace(scale))); noisy < least {
			best, least = v, noisy
		}
	}
	return best
}

// Candidates returns the number of candidates.
func (s *Selector) Candidates() int { return s.config.Candidates }

// Steps returns the number of selections so far.
func (s *Selector) Steps() int64 { return s.t }

// Resume sets the number of selections so far, for a run that continues after a restart. It can
// only move forward. The error is ErrHorizon.
func (s *Selector) Resume(steps int64) error {
	if steps < s.t || s.random != nil && steps > s.config.Lattice.Horizon() {
		return noregret.BadInputf("selector", "cannot resume after %d selections at %d: %w", s.t, steps, ErrHorizon)
	}
	s.t = steps
	return nil
}

// Charge returns the cost of all declared selections.
func (s *Selector) Charge() Charge { return s.charge }

// Spent returns the cost ρ of the selections so far. The rest may be given back when a run stops
// early, if the decision to stop used released values only.
func (s *Selector) Spent() float64 {
	if s.random == nil || s.t == 0 {
		return 0
	}
	if !s.config.Unbounded && s.config.Budget.accounting == ZCDP {
		h := Harmonic(s.t) / Harmonic(s.config.Lattice.Horizon())
		return min(s.charge.Rho, s.config.Budget.cost*h*(1+margin))
	}
	sum := 0.0
	for t := int64(1); t <= s.t; t++ {
		sum += s.Rho(t)
	}
	return min(s.charge.Rho, sum*(1+margin))
}

// Private reports whether the choices are private: with noise, from the system's generator.
func (s *Selector) Private() bool { return !s.charge.Insecure }

// Close erases the buffered randomness. Later choices return ErrClosed.
func (s *Selector) Close() {
	if s.random != nil {
		s.random.wipe()
	}
	s.closed = true
}

// Harmonic returns the n-th harmonic number 1 + 1/2 + … + 1/n, and 0 for n < 1: by summation up to
// 1000 and by the expansion of Euler and Maclaurin above.
func Harmonic(n int64) float64 {
	if n > 1000 {
		x := float64(n)
		const euler = 0.5772156649015329
		return portable.Log(x) + euler + 1/(2*x) - 1/(12*x*x)
	}
	sum := 0.0
	for i := n; i >= 1; i-- {
		sum += 1 / float64(i)
	}
	return sum
}
