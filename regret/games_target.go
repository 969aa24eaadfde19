package regret

import (
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/portable"
)

// Target is b_t, the minimizer of round t of T, for a change that begins in round start: 1 before
// it. t and start count from 1.
func (p Pattern) Target(t, start, rounds int) float64 {
	switch {
	case t < start:
		return 1
	case p == Decay:
		return portable.Exp(-10 * float64(t-start) / float64(rounds))
	case p == Ramp:
		return float64(rounds-t) / float64(max(rounds-start, 1))
	}
	return 0
}

// DefaultStart is the round in which a pattern begins if none is given: ⌊1.75Δ⌋, or ⌊1.5Δ⌋ for a
// jump, with Δ = ⌈√(T·ln T)⌉, the batch length for strongly convex losses of variation 1. The
// published tables correspond to these rounds; see lab/docs/drift-tables.md.
func (p Pattern) DefaultStart(rounds int) int {
	n := float64(rounds)
	batch := math.Ceil(float64(math.Sqrt(float64(n*portable.Log(n))) * (1 - 1e-12)))
	if p == Jump {
		return max(int(1.5*batch), 1)
	}
	return max(int(1.75*batch), 1)
}

// target is the sequence of tilts of [NewTarget].
type target struct {
	pattern       Pattern
	start, rounds int
}

func (p *target) next(t int) (slope, offset float64) {
	return -p.pattern.Target(t, p.start, p.rounds), 1
}

func (p *target) restart() {}

// NewTarget plays on [−2, 2] for losses f_t(x) = ½x² − b_t·x + 1, whose minimizer b_t moves from 1
// to 0 in the given pattern, beginning in round start; 0 is [Pattern.DefaultStart]. noise is the
// standard deviation of the noise in the feedback, from 0 to 10⁶. The variation over the hull of
// the minimizers is at most 1 (Besbes, Gur and Zeevi 2015, Appendix D).
func NewTarget(pattern Pattern, rounds, start int, noise float64, seed uint64) (*Varying, error) {
	if pattern < Jump || pattern > Ramp {
		return nil, noregret.BadInputf("pattern", "%d: want 1 (jump), 2 (decay) or 3 (ramp)", pattern)
	}
	if rounds < 1 {
		return nil, noregret.BadInputf("rounds", "%d: want at least 1", rounds)
	}
	if start < 0 {
		return nil, noregret.BadInputf("start", "%d: want a round from 1 on, or 0 for the default", start)
	}
	if start == 0 {
		start = pattern.DefaultStart(rounds)
	}
	return newVarying(-2, 2, Shape{Curvature: 1}, &target{pattern, start, rounds}, noise, seed)
}

// alternating is the sequence of tilts of [NewAlternating].
type alternating struct {
	block, first int
	offset       float64
}

func (p *alternating) next(t int) (slope, offset float64) {
	if ((t-1)/p.block+p.first)%2 == 0 {
		return 0, 0 // x²
	}
	return -2, 1 + p.offset // (x − 1)² + offset
}

func (p *alternating) restart() {}

// NewAlternating plays on [−1, 2] for blocks of rounds with the loss x² and blocks with (x − 1)² +
// offset in turn; first is 0 or 1, the minimizer of the first block. No noise. These are two
// examples of Besbes, Gur and Zeevi (2015). With an offset of −1 and blocks of T/2 rounds the best
// fixed point loses T/4 against the best sequence (Example 2). Gradient descent with steps that
// only decrease has linear dynamic regret in blocks of T/2, and with steps of order 1/√T in blocks
// of order √T (Example 3).
func NewAlternating(block, first int, offset float64) (*Varying, error) {
	if block < 1 {
		return nil, noregret.BadInputf("block", "%d: want at least 1 round", block)
	}
	if first != 0 && first != 1 {
		return nil, noregret.BadInputf("first", "%d: want 0 or 1", first)
	}
	if err := within("offset", offset, -1e6, 1e6); err != nil {
		return nil, err
	}
	return newVarying(-1, 2, Shape{Curvature: 2}, &alternating{block, first, offset}, 0, 0)
}
