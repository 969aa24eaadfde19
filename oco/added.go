package oco

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"
)

// Added plays the sum of the points of several learners, each of which gets the subgradient at the
// sum (Cutkosky 2019; Orabona 2019, Theorem 9.14). For every split u = Σ_k u_k the regret at u is
// the sum of the learners' at u_k. So parameter-free learners, whose regret at 0 is at most ε, give
// together the best of their guarantees:
//
//	Bound(u) = min_k (Bound_k(u) + Σ_{j≠k} Bound_j(0)).
//
// With one learner for each of several norms it adapts to the norm in which u is small (Example
// 9.15). The learners must be unconstrained: a sum leaves a bounded set. Hints, features and sparse
// subgradients go to all learners. The strong convexity of the losses belongs to the sum and not to
// its parts, so that Added is not [Curved].
type Added struct {
	learners []Learner
	point    []float64
	dense    []float64
	rounds   int
	failed   error
}

// NewAdded plays with learners of one dimension at their starts.
func NewAdded(learners ...Learner) (*Added, error) {
	if len(learners) == 0 {
		return nil, noregret.BadInputf("learners", "none: at least one is required")
	}
	for k, p := range learners {
		if p == nil || p.Dim() != learners[0].Dim() {
			return nil, noregret.BadInputf(fmt.Sprintf("learners[%d]", k),
				"want a learner of the first one's dimension")
		}
	}
	d := learners[0].Dim()
	return &Added{learners: learners, point: make([]float64, d), dense: make([]float64, d)}, nil
}

// Dim implements [Learner].
func (l *Added) Dim() int { return len(l.point) }

// Rounds implements [Counter].
func (l *Added) Rounds() int { return l.rounds }

// Predict implements [Learner].
func (l *Added) Predict() []float64 {
	clear(l.point)
	for _, p := range l.learners {
		for i, v := range p.Predict() {
			l.point[i] += v
		}
	}
	return l.point
}

// At implements [SparseLearner].
func (l *Added) At(i int) float64 {
	s := 0.0
	for _, p := range l.learners {
		s += at(p, i)
	}
	return s
}

// Hint implements [Hinted]. If a learner of this package refuses the hint, no learner gets it.
func (l *Added) Hint(h []float64) error { return l.offer(h, checkHint, forwardHint) }

// Features implements [FeatureLearner]. Refusals are as for Hint.
func (l *Added) Features(z []float64) error { return l.offer(z, checkFeatures, forwardFeatures) }

func (l *Added) checkHint(h []float64) error { return l.ask(h, checkHint) }

func (l *Added) checkFeatures(z []float64) error { return l.ask(z, checkFeatures) }

func (l *Added) checkGradient(g []float64) error { return l.ask(g, checkGradient) }

// ask calls a function that changes no learner for each of them until one returns an error.
func (l *Added) ask(v []float64, check func(Learner, []float64) error) error {
	if l.failed != nil {
		return l.failed
	}
	for k, p := range l.learners {
		if err := check(p, v); err != nil {
			return fmt.Errorf("learner %d: %w", k, err)
		}
	}
	return nil
}

// offer passes v to all learners, after all that can tell have agreed. If a learner after the first
// one fails, every later call returns its error.
func (l *Added) offer(v []float64, check, forward func(Learner, []float64) error) error {
	if err := l.ask(v, check); err != nil {
		return err
	}
	for k, p := range l.learners {
		if err := forward(p, v); err != nil {
			err = fmt.Errorf("learner %d: %w", k, err)
			if k > 0 {
				l.failed = err
			}
			return err
		}
	}
	return nil
}

// Update implements [Learner]. A round is refused before anything changes if a learner of this
// package refuses the size of its subgradient. If another refuses it after the first has moved,
// Update returns that error from then on, until a snapshot is restored.
func (l *Added) Update(g []float64) error {
	if err := l.offer(g, checkGradient, Learner.Update); err != nil {
		return err
	}
	l.rounds++
	return nil
}

// UpdateSparse implements [SparseLearner], like Update. It costs O(nnz) if the learners' rounds do
// and none has to check the size of its subgradients.
func (l *Added) UpdateSparse(g Sparse) error {
	if l.failed != nil {
		return l.failed
	}
	if _, err := checkSparse("gradient", g, l.Dim()); err != nil {
		return err
	}
	for _, p := range l.learners {
		if _, ok := p.(gradientChecker); ok {
			scatter(l.dense, g)
			if err := l.checkGradient(l.dense); err != nil {
				return err
			}
			break
		}
	}
	for k, p := range l.learners {
		if err := forwardSparse(p, g, l.dense); err != nil {
			if err = fmt.Errorf("learner %d: %w", k, err); k > 0 {
				l.failed = err
			}
			return err
		}
	}
	l.rounds++
	return nil
}

// Bound implements [Bounder].
func (l *Added) Bound(u []float64) (float64, error) {
	if err := checkFinite("comparator", u, l.Dim()); err != nil {
		return 0, err
	}
	origin := make([]float64, len(u))
	best := math.Inf(1)
	for k := range l.learners {
		var total sum
		for j, p := range l.learners {
			v := origin
			if j == k {
				v = u
			}
			b, err := boundOf(p, v)
			if err != nil {
				return 0, err
			}
			total.add(b)
		}
		best = min(best, orInf(total.value()))
	}
	return best, nil
}

// String describes the learner and its options in one line.
func (l *Added) String() string {
	kinds := make([]string, len(l.learners))
	for k, p := range l.learners {
		kinds[k] = kindOf(p)
	}
	return fmt.Sprintf("added%v", kinds)
}

// MarshalBinary implements [Snapshotter]; the learners inside must be so too.
func (l *Added) MarshalBinary() ([]byte, error) {
	if l.failed != nil {
		return nil, l.failed
	}
	return marshalSeveral(l.String(), l.rounds, l.learners...)
}

// UnmarshalBinary implements [Snapshotter].
func (l *Added) UnmarshalBinary(data []byte) error {
	rounds, err := unmarshalSeveral(data, l.String(), l.learners...)
	if err != nil {
		return err
	}
	l.rounds, l.failed = rounds, nil
	return nil
}
