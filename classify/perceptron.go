package classify

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/compensated"
	"github.com/noregret/noregret/internal/memory"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/loss"
)

// Perceptron is Rosenblatt's online linear classifier (1958; Orabona 2019, Algorithm 8.2). It
// predicts the sign of ⟨z_t, x_t⟩ for labels y_t = ±1 and moves only after a mistake,
//
//	x_{t+1} = x_t + y_t·z_t if y_t·⟨z_t, x_t⟩ ≤ 0, else x_t,   x_1 = 0.
//
// It has no learning rate: any other step gives the same predictions. It needs no averaging, no
// range of the features and no random order of the rows. A score of 0 is a mistake, because it
// equals no label, unless PerceptronOptions.TieIsPositive is set.
//
// Guarantee: the number of mistakes is within [PerceptronBound] of the hinge losses of every linear
// classifier u, on every sequence (Theorem 8.2); [MistakeBounds] computes it beside a run. On data
// that are linearly separable with margin γ it makes at most (R/γ)² mistakes, however often they
// are shown.
//
// A round costs O(d), or O(nnz) for sparse features; memory is O(d). It is not safe for concurrent
// use.
type Perceptron struct {
	options PerceptronOptions
	state   perceptronState
}

// PerceptronOptions are the options of [NewPerceptron]. The zero value predicts −1 for a score of
// 0.
type PerceptronOptions struct {
	// TieIsPositive makes a score of 0 the prediction +1, which is a mistake only if it is wrong.
	TieIsPositive bool
}

// perceptronState is what a snapshot holds.
type perceptronState struct {
	X        []float64
	Rounds   int
	Mistakes int
}

// NewPerceptron classifies vectors of d ≥ 1 features. For a bias add a feature that is always 1.
func NewPerceptron(d int, o PerceptronOptions) (*Perceptron, error) {
	if err := checkFeatures(d); err != nil {
		return nil, err
	}
	return &Perceptron{options: o, state: perceptronState{X: make([]float64, d)}}, nil
}

// checkFeatures returns an error for a number of features below 1 or beyond memory.
func checkFeatures(d int) error {
	if d < 1 {
		return noregret.BadInputf("features", "%d: want at least 1", d)
	}
	return memory.Check("features", fmt.Sprintf("%d features", d), float64(d))
}

// Dim is the number of features.
func (p *Perceptron) Dim() int { return len(p.state.X) }

// Rounds is the number of examples learned from.
func (p *Perceptron) Rounds() int { return p.state.Rounds }

// Mistakes is the number of mistakes so far.
func (p *Perceptron) Mistakes() int { return p.state.Mistakes }

// Weights is x_t. The slice belongs to the learner: the caller must not modify it.
func (p *Perceptron) Weights() []float64 { return p.state.X }

// Score is ⟨z, x_t⟩, or an error for a z of another length or with a value that is not finite.
func (p *Perceptron) Score(z []float64) (float64, error) {
	if err := checkDense(z, p.Dim()); err != nil {
		return 0, err
	}
	return vec.DotInOrder(z, p.state.X), nil
}

// Predict is the predicted label, 1 or −1, and 1 for a score of 0.
func (p *Perceptron) Predict(z []float64) (int, error) {
	s, err := p.Score(z)
	if err != nil {
		return 0, err
	}
	if s < 0 {
		return -1, nil
	}
	return 1, nil
}

// checkDense returns an error for features of the wrong number or that are not finite.
func checkDense(z []float64, d int) error {
	if len(z) != d {
		return noregret.BadInputf("features", "%d values, want %d", len(z), d)
	}
	for i, v := range z {
		if !vec.IsFinite(v) {
			return noregret.BadInputf(fmt.Sprintf("features[%d]", i), "%v: want a finite number", v)
		}
	}
	return nil
}

// checkLabel returns an error for a label other than 1 and −1.
func checkLabel(y int) error {
	if y != 1 && y != -1 {
		return noregret.BadInputf("label", "%d: want 1 or -1", y)
	}
	return nil
}

// Update learns from an example with label y = 1 or −1 and reports whether the prediction was a
// mistake. An error changes nothing: for malformed features, another label, and a score or weights
// that leave the range of float64.
func (p *Perceptron) Update(z []float64, y int) (mistake bool, err error) {
	if err := checkLabel(y); err != nil {
		return false, err
	}
	s, err := p.Score(z)
	if err != nil {
		return false, err
	}
	mistake, err = p.judge(s, y)
	if err != nil {
		return false, err
	}
	if mistake {
		for i, v := range z {
			if !vec.IsFinite(p.state.X[i] + float64(float64(y)*v)) {
				return false, tooLarge(i)
			}
		}
		vec.AddScaled(p.state.X, float64(y), z)
		p.state.Mistakes++
	}
	p.state.Rounds++
	return mistake, nil
}

// UpdateSparse is Update for sparse features, with the same result.
func (p *Perceptron) UpdateSparse(z loss.Sparse, y int) (mistake bool, err error) {
	if err := checkLabel(y); err != nil {
		return false, err
	}
	if len(z.Index) != len(z.Value) {
		return false, noregret.BadInputf("features", "%d indices and %d values", len(z.Index), len(z.Value))
	}
	var s float64
	for k, i := range z.Index {
		if int64(i) >= int64(p.Dim()) || k > 0 && i <= z.Index[k-1] {
			return false, noregret.BadInputf(fmt.Sprintf("features.Index[%d]", k),
				"%d: want ascending unique indices below %d", i, p.Dim())
		}
		if !vec.IsFinite(z.Value[k]) {
			return false, noregret.BadInputf(fmt.Sprintf("features.Value[%d]", k), "%v: want a finite number",
				z.Value[k])
		}
		s += float64(z.Value[k] * p.state.X[i])
	}
	mistake, err = p.judge(s, y)
	if err != nil {
		return false, err
	}
	if mistake {
		for k, i := range z.Index {
			if !vec.IsFinite(p.state.X[i] + float64(float64(y)*z.Value[k])) {
				return false, tooLarge(int(i))
			}
		}
		for k, i := range z.Index {
			p.state.X[i] += float64(float64(y) * z.Value[k])
		}
		p.state.Mistakes++
	}
	p.state.Rounds++
	return mistake, nil
}

// judge reports whether score s is a mistake for label y.
func (p *Perceptron) judge(s float64, y int) (mistake bool, err error) {
	if !vec.IsFinite(s) {
		return false, noregret.BadInputf("features", "the score leaves the range of float64")
	}
	if s == 0 {
		return !p.options.TieIsPositive || y < 0, nil
	}
	return s > 0 != (y > 0), nil
}

// tooLarge is the error for a weight that overflows.
func tooLarge(i int) error {
	return noregret.BadInputf(fmt.Sprintf("features[%d]", i), "its weight leaves the range of float64")
}

// kind describes the learner and its options.
func (p *Perceptron) kind() string {
	return fmt.Sprintf("perceptron(d=%d, tie-is-positive=%t)", p.Dim(), p.options.TieIsPositive)
}

// MarshalBinary saves the state.
func (p *Perceptron) MarshalBinary() ([]byte, error) { return seal(p.kind(), &p.state) }

// UnmarshalBinary restores a snapshot of a perceptron with the same options. Continuing is
// bit-identical. A snapshot that is refused changes nothing.
func (p *Perceptron) UnmarshalBinary(data []byte) error {
	var s perceptronState
	if err := unseal(data, p.kind(), &s); err != nil {
		return err
	}
	if len(s.X) != p.Dim() || !vec.Finite(s.X) || s.Mistakes < 0 || s.Mistakes > s.Rounds {
		return badSnapshot("damaged: %d weights, %d mistakes in %d rounds", len(s.X), s.Mistakes, s.Rounds)
	}
	p.state = s
	return nil
}

// PerceptronBound is the mistake bound of [Perceptron] (Orabona 2019, Theorem 8.2, with the factor
// R that the book omits): for a classifier u of the given norm ‖u‖₂, features with ‖z_t‖₂ ≤ radius,
// and L = Σ_t max(1 − y_t·⟨z_t, u⟩, 0)^q with q ≥ 1,
//
//	M ≤ L + a²/2 + a·√(a²/4 + L) = ((a + √(a² + 4L))/2)²,   a = q·radius·‖u‖.
//
// It is an error unless q ≥ 1 and the others are at least 0, all finite.
func PerceptronBound(q, radius, norm, hingeLoss float64) (float64, error) {
	if !(q >= 1) || !vec.IsFinite(q) {
		return 0, noregret.BadInputf("q", "%v: want a finite number, at least 1", q)
	}
	a := float64(q * radius * norm)
	if !(radius >= 0) || !(norm >= 0) || !(hingeLoss >= 0) || !vec.IsFinite(a+hingeLoss) {
		return 0, noregret.BadInputf("bound", "radius %v, norm %v, loss %v: want finite numbers, at least 0", radius,
			norm, hingeLoss)
	}
	root := (a + math.Sqrt(float64(a*a)+float64(4*hingeLoss))) / 2
	return float64(root * root), nil
}

// MistakeBounds compares a perceptron with a fixed classifier u: it takes the examples of a run,
// and gives all bounds on the number of mistakes that follow from u. No bound needs u to be known
// in advance; it is fixed here so that the sums take O(1) memory.
type MistakeBounds struct {
	u         []float64
	norm      float64
	radius    float64
	hinge     compensated.Sum // Σ hinge
	squared   compensated.Sum // Σ hinge²
	lost      compensated.Sum // Σ hinge over the mistakes
	magnitude compensated.Sum // Σ ‖z‖² over the mistakes
}

// NewMistakeBounds compares with the classifier of weights u.
func NewMistakeBounds(u []float64) (*MistakeBounds, error) {
	if err := checkFeatures(len(u)); err != nil {
		return nil, err
	}
	if err := checkDense(u, len(u)); err != nil {
		return nil, err
	}
	return &MistakeBounds{u: append([]float64(nil), u...), norm: vec.Norm2(u)}, nil
}

// Add takes an example and whether the perceptron made a mistake on it.
func (b *MistakeBounds) Add(z []float64, y int, mistake bool) error {
	if err := checkLabel(y); err != nil {
		return err
	}
	if err := checkDense(z, len(b.u)); err != nil {
		return err
	}
	n, h := vec.Norm2(z), max(1-float64(float64(y)*vec.DotInOrder(z, b.u)), 0)
	b.radius = max(b.radius, n)
	b.hinge.Add(h)
	b.squared.Add(float64(h * h))
	if mistake {
		b.lost.Add(h)
		b.magnitude.Add(float64(n * n))
	}
	return nil
}

// Hinge is [PerceptronBound] with q = 1.
func (b *MistakeBounds) Hinge() (float64, error) {
	return PerceptronBound(1, b.radius, b.norm, b.hinge.Value())
}

// SquaredHinge is the lesser of [PerceptronBound] with q = 2 and (R‖u‖ + √L)² (Freund and Schapire
// 1999), which is never above it.
func (b *MistakeBounds) SquaredHinge() (float64, error) {
	l := b.squared.Value()
	first, err := PerceptronBound(2, b.radius, b.norm, l)
	root := float64(b.radius*b.norm) + math.Sqrt(l)
	return min(first, float64(root*root)), err
}

// Sharp is ‖u‖·√(Σ‖z_t‖²) + Σ max(1 − y_t·⟨z_t, u⟩, 0), with both sums over the rounds with
// mistakes (Orabona 2019, the inequality from which Theorem 8.2 follows). It is the least of the
// bounds.
func (b *MistakeBounds) Sharp() float64 {
	return float64(b.norm*math.Sqrt(b.magnitude.Value())) + b.lost.Value()
}
