package private

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/internal/snapshot"
)

// NewPOFW returns the learner DP-POFW, private online Frank–Wolfe with private choices of vertices
// (Han et al., Algorithm 2), on the l1 ball, the simplex and polytopes. The exact sums of
// increments are secret. Step t chooses a vertex of the domain with the exponential mechanism,
//
//	P(v) ∝ exp(−⟨S_t, v⟩/B_t), B_t = Γ·√(t·H_n/(8ρ)), Γ = Δ·D,
//
// at a cost of ρ/(t·H_n), exactly and in integers; dp.Laplace adds noise to the scores instead,
// with twice the scale. Its error grows with ln d where that of [NewTOFW] grows with √(d·ln d), but
// shrinks as 1/√t and not as 1/t: it is for very many features and few records. [MakePlan]
// compares.
//
// The paper's scale is 4D(βD+L)√(ln n·ln(1/δ))/(ε√t), which is no noise for n = 1. The budget is a
// zCDP or a pure budget. Increments are clipped in the dual norm, which must be l1, l2 or l∞. A
// step costs O(N·d) for a polytope of N vertices and O(d) otherwise.
//
// The errors are those of [Problem], ErrLoss, and those of [dp.NewLattice] and [dp.NewSelector].
func NewPOFW(p Problem, noise Noise) (*Learner, error) {
	lattice, p, err := pofwLattice(p)
	if err != nil {
		return nil, err
	}
	scores := newScores(p.Domain)
	selector, err := dp.NewSelector(dp.SelectorConfig{
		Candidates: p.Domain.Vertices(), Lattice: lattice, Width: scores.width, Rounded: scores.fixed != nil,
		Unbounded: noise.Unbounded, Noise: noise.Selection, Protection: noise.Protection, Budget: noise.Budget,
	}, noise.Options...)
	if err != nil {
		return nil, err
	}
	text := fmt.Sprintf("selection %d, unbounded %t, %s, %s", noise.Selection, noise.Unbounded, noise.Protection,
		noise.Budget)
	return newPOFW(p, lattice, selector, scores, text), nil
}

// NewNonPrivatePOFW returns the same learner without noise, which protects nobody: each step takes
// the best vertex, the first of the list in a tie. It is [NewNonPrivateTOFW] on the same domain
// except where the sum is 0, for which the latter takes the center of a ball.
func NewNonPrivatePOFW(p Problem) (*Learner, error) {
	lattice, p, err := pofwLattice(p)
	if err != nil {
		return nil, err
	}
	selector, err := dp.NewZeroSelector(p.Domain.Vertices())
	if err != nil {
		return nil, err
	}
	return newPOFW(p, lattice, selector, newScores(p.Domain), "no noise"), nil
}

func newPOFW(p Problem, lattice *dp.Lattice, selector *dp.Selector, scores *scores, text string) *Learner {
	d := p.Domain.Dim()
	return newLearner(p, &choiceMechanism{
		domain: p.Domain, lattice: lattice, selector: selector, scores: scores,
		sum: make([]int64, d), k: make([]int64, d),
	}, describe("pofw", p, text))
}

// pofwLattice returns the lattice of clips in the dual norm, and the problem with its clip.
func pofwLattice(p Problem) (*dp.Lattice, Problem, error) {
	constants, err := p.Constants()
	if err != nil {
		return nil, p, err
	}
	if p.Domain.Vertices() == 0 {
		return nil, p, noregret.BadInputf("domain",
			"%v has no list of vertices: want an l1 ball, a simplex or a polytope: %w",
			p.Domain, dp.ErrNorm)
	}
	var norm dp.Norm
	switch q := p.Domain.dual.P(); {
	case p.Domain.Dim() == 1, math.IsInf(q, 1): // in dimension 1 all norms are equal
		norm = dp.LInf
	case q == 2:
		norm = dp.L2
	case q == 1:
		norm = dp.L1
	default:
		return nil, p, noregret.BadInputf("norm", "exponent %v of a polytope, want 1, 2 or +Inf: %w", p.Domain.p,
			dp.ErrNorm)
	}
	if p.Clip == 0 {
		p.Clip = constants.Increment
	}
	return newLattice(p, norm)
}

// choiceMechanism chooses a vertex by its score, the inner product with the exact sum.
type choiceMechanism struct {
	domain   *Domain
	lattice  *dp.Lattice
	selector *dp.Selector
	scores   *scores
	sum, k   []int64 // secret
}

func (m *choiceMechanism) include(g []float64) error {
	m.lattice.Quantize(g, m.k)
	for j, v := range m.k {
		m.sum[j] += v
	}
	clear(m.k)
	return nil
}

func (m *choiceMechanism) choose(vertex []float64) error {
	k, err := m.selector.Choose(m.scores.of(m.sum))
	if err != nil {
		return err
	}
	m.domain.writeVertex(vertex, k)
	return nil
}

// choiceState is the persisted state, which is secret.
type choiceState struct {
	Sum   []int64
	Steps int64
}

func (m *choiceMechanism) kind() string {
	l := m.lattice
	return fmt.Sprintf("choice(%d, %s, %v, %v)", l.Dim(), l.Norm(), l.Clip(), l.Spacing())
}

func (m *choiceMechanism) save() ([]byte, error) {
	return snapshot.Seal(magic, m.kind(), choiceState{m.sum, m.selector.Steps()})
}

func (m *choiceMechanism) load(state []byte) error {
	var s choiceState
	if err := snapshot.Open(state, magic, m.kind(), &s); err != nil {
		return err
	}
	if len(s.Sum) != len(m.sum) {
		return snapshot.Bad("damaged: the sum has %d coordinates, want %d", len(s.Sum), len(m.sum))
	}
	for _, v := range s.Sum {
		if v <= -1<<61 || v >= 1<<61 {
			return snapshot.Bad("damaged: the sum is out of range")
		}
	}
	if err := m.selector.Resume(s.Steps); err != nil {
		return err
	}
	copy(m.sum, s.Sum)
	return nil
}

func (m *choiceMechanism) charge() dp.Charge { return m.selector.Charge() }

func (m *choiceMechanism) close() {
	m.selector.Close()
	clear(m.sum)
	clear(m.k)
	clear(m.scores.values)
}

// Spent is the cost ρ of the steps so far. Of [NewTOFW] it is the whole charge from the start; the
// choices of [NewPOFW] spend theirs step by step, and the rest may be refunded when a run stops
// early for a reason that depends on public values only.
func (l *Learner) Spent() float64 {
	if m, ok := l.mechanism.(*choiceMechanism); ok {
		return m.selector.Spent()
	}
	return l.Charge().Rho
}

// fixedBits is the number of binary digits after the point of the vertices of a polytope.
const fixedBits = 30

// scores computes the inner products of a sum with the vertices of a domain, in units of the
// lattice times the scale of the domain. For balls and simplices they are coordinates of the sum.
// For polytopes the vertices are rounded to multiples of 2^−30 of the scale; the exact
// products with the rounded vertices are then rounded to integers.
type scores struct {
	values []int64 // secret
	fixed  [][]int64
	signed bool
	width  float64 // the diameter of the scaled vertices
	scale  float64
}

func newScores(d *Domain) *scores {
	s := &scores{values: make([]int64, d.Vertices()), signed: d.kind == isBall, width: 2, scale: d.scale}
	if d.kind != isPolytope {
		return s
	}
	// The scaled vertices have norms of at most 0.8, so that no score can reach the limit of the
	// selector, whose error would depend on the data.
	scale := 1.25 * d.radius
	if scale == 0 {
		scale = 1
	}
	s.scale = scale
	for _, v := range d.vertices {
		u := make([]int64, len(v))
		for j, x := range v {
			u[j] = int64(math.RoundToEven(x / scale * (1 << fixedBits)))
		}
		s.fixed = append(s.fixed, u)
	}
	// Rounding moves a vertex by at most 2^−31 in each coordinate, at most d times that in any
	// norm.
	s.width = (d.diameter/scale + math.Ldexp(float64(d.Dim()), -fixedBits)) * (1 + 1e-12)
	return s
}

// of returns the scores of a sum. They are valid until the next call.
func (s *scores) of(sum []int64) []int64 {
	switch {
	case s.fixed != nil:
		for i, u := range s.fixed {
			s.values[i] = fixedDot(sum, u)
		}
	case s.signed:
		for j, v := range sum {
			s.values[2*j], s.values[2*j+1] = v, -v
		}
	default:
		copy(s.values, sum)
	}
	return s.values
}

// fixedDot is Σ a_j·b_j/2^30 rounded to the nearest integer, exactly, in 128 bits: |b_j| ≤ 2^30.
// Results outside 63 bits are capped, which a selector refuses.
func fixedDot(a, b []int64) int64 {
	high, low := int64(0), uint64(1<<(fixedBits-1))
	for j, v := range a {
		h, l := mulSigned(v, b[j])
		var carry uint64
		low, carry = bits.Add64(low, l, 0)
		high += h + int64(carry)
	}
	top := high >> (fixedBits - 1) // with the sign of the result
	if top != 0 && top != -1 {
		return math.MaxInt64
	}
	return high<<(64-fixedBits) | int64(low>>fixedBits)
}

// mulSigned is the product of two signed integers in 128 bits, in two's complement.
func mulSigned(a, b int64) (high int64, low uint64) {
	h, low := bits.Mul64(uint64(a), uint64(b))
	high = int64(h)
	if a < 0 {
		high -= b
	}
	if b < 0 {
		high -= a
	}
	return high, low
}
