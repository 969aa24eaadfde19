package oco

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"

	"github.com/noregret/noregret/internal/linalg"
	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/internal/vec"
)

// VovkAzouryWarmuth is the forecaster of Vovk (2001) and Azoury and Warmuth (2001) for online
// linear regression (Orabona 2019, Algorithm 7.6), losses ½(⟨z_t, x⟩ − y_t)² with z_t shown before
// the prediction:
//
//	S_t = λI + Σ_{i≤t} z_i·z_iᵀ (the running round included),   x_t = S_t⁻¹·Σ_{i<t} y_i·z_i.
//
// The prediction is ridge regression's divided by 1 + s_t, s_t = z_tᵀS_{t−1}⁻¹z_t. Give the
// features with Features, read Prediction or Predict, and end the round with UpdateLabel, or with
// Update and the gradient (⟨z, x⟩ − y)·z. Labels need no known range, comparators no bound.
//
// Guarantee (Bound): (λ/2)‖u‖² + ½Σ y_t²·s_t/(1 + s_t), at most (λ/2)‖u‖² + (d·Y²/2)·ln(1
// + R²T/(λd)) for
// |y_t| ≤ Y and ‖z_t‖ ≤ R (Theorem 7.26). A round costs O(d²) time; memory is O(d²). For d above 1,024, d² is
// not held: with r ≤ min(d, T) the dimension of the span of the features, a round costs O(d·r +
// r²), and memory is O(d·r), which grows when r does.
type VovkAzouryWarmuth struct {
	d      int
	lambda float64
	state  ridgeState
	point  []float64
	solved []float64 // the coordinates of point: point itself without a span
	work   []float64
	scaled []float64 // the coordinates of Z: Z itself without a span
	text   string
}

// ridgeState holds the matrix and B in the coordinates of Span, where there is one.
type ridgeState struct {
	T      int
	Span   *span
	Factor linalg.Cholesky // of S_{t−1}, or of S_t once the features of round t are known
	B      []float64
	Z      []float64 // the current round's features
	Ready  bool      // features are known
	Shrink float64   // 1 + s_t
	Spent  sum
	Left   float64 // norm of the current round's features outside the span
	Out    outside
}

// NewVovkAzouryWarmuth plays on ℝ^d with regularization lambda > 0.
func NewVovkAzouryWarmuth(d int, lambda float64) (*VovkAzouryWarmuth, error) {
	if err := checkDim(d, vawNumbers(d)); err != nil {
		return nil, err
	}
	if err := positive("lambda", lambda); err != nil {
		return nil, err
	}
	return newVovkAzouryWarmuth(d, lambda, d > denseUpTo), nil
}

// vawNumbers is the number of float64s that the learner allocates at first: a matrix up to
// dimension 1,024.
func vawNumbers(d int) float64 {
	n := float64(min(d, denseUpTo))
	return float64(n*n) + float64(4*float64(d))
}

func newVovkAzouryWarmuth(d int, lambda float64, spanned bool) *VovkAzouryWarmuth {
	l := &VovkAzouryWarmuth{d: d, lambda: lambda, point: make([]float64, d)}
	l.text = fmt.Sprintf("vovk-azoury-warmuth(d=%d, lambda=%v)", d, lambda)
	l.state.Z = make([]float64, d)
	if spanned {
		l.state.Span, l.state.Factor = newSpan(d), linalg.NewCholesky(0, lambda)
		l.grow()
		return l
	}
	l.state.Factor, l.state.B = linalg.NewCholesky(d, lambda), make([]float64, d)
	l.work, l.solved, l.scaled = make([]float64, d), l.point, l.state.Z
	return l
}

// grow gives the matrix and the vectors the capacity that the span needs.
func (l *VovkAzouryWarmuth) grow() {
	st := &l.state
	n, c := len(st.B), st.Span.capacity(st.Span.Rank)
	if c != n {
		st.Factor = linalg.Cholesky{D: c, R: extended(st.Factor.R, n, c, math.Sqrt(l.lambda))}
		st.B = lengthened(st.B, c)
	}
	if len(l.work) != c {
		l.work, l.solved, l.scaled = make([]float64, c), make([]float64, c), make([]float64, c)
	}
}

// Dim implements [Learner].
func (l *VovkAzouryWarmuth) Dim() int { return l.d }

// Rounds implements [Counter].
func (l *VovkAzouryWarmuth) Rounds() int { return l.state.T }

// Features implements [FeatureLearner]. A second call before the end of the round is an error.
func (l *VovkAzouryWarmuth) Features(z []float64) error {
	if err := l.checkFeatures(z); err != nil {
		return err
	}
	st := &l.state
	if st.Span != nil {
		st.Left = st.Span.include(z)
		l.grow()
		st.Span.coordinates(l.scaled, z)
	}
	v := z // in the coordinates
	if st.Span != nil {
		v = l.scaled
	}
	copy(l.work, v)
	s := st.Factor.InverseSquare(l.work)
	copy(l.work, v)
	st.Factor.Add(l.work)
	copy(st.Z, z)
	st.Ready, st.Shrink = true, 1+s
	l.refresh()
	return nil
}

func (l *VovkAzouryWarmuth) checkFeatures(z []float64) error {
	largest, err := checkVector("features", z, l.Dim())
	if err != nil {
		return err
	}
	if l.state.Ready {
		return noregret.BadInputf("features", "round %d has its features already; end it first", l.state.T+1)
	}
	if largest > 1e150 {
		return noregret.BadInputf("features", "the largest value is %v: want at most 1e150, as they are squared",
			largest)
	}
	size := vec.Dot(z, z)
	if !vec.IsFinite(size/l.lambda) || !(l.largestSquare()+size < 1e306) {
		return noregret.BadInputf("features", "their norm is %v, beside λ = %v and the features before: their "+
			"squares leave the range of float64", math.Sqrt(size), l.lambda)
	}
	return nil
}

// largestSquare is the largest diagonal value of the factor's square, at least λ.
func (l *VovkAzouryWarmuth) largestSquare() float64 {
	f := &l.state.Factor
	largest := l.lambda
	for i := range f.D {
		r := f.R[i*f.D+i]
		largest = max(largest, r*r)
	}
	return largest
}

func (l *VovkAzouryWarmuth) refresh() {
	copy(l.solved, l.state.B)
	l.state.Factor.Solve(l.solved)
	if l.state.Span != nil {
		l.state.Span.point(l.point, l.solved)
	}
}

// Predict implements [Learner]: x_t once the round's features are known, and the ridge solution of
// the past before.
func (l *VovkAzouryWarmuth) Predict() []float64 { return l.point }

// Prediction is ⟨z_t, x_t⟩. It returns an error if the round has no features yet.
func (l *VovkAzouryWarmuth) Prediction() (float64, error) {
	if !l.state.Ready {
		return 0, noregret.BadInputf("features", "round %d has no features yet: they come before the prediction",
			l.state.T+1)
	}
	return vec.Dot(l.state.Z, l.point), nil
}

// Update implements [Learner], with g = (⟨z, x⟩ − y)·z. A g that is not a multiple of the features
// is refused.
func (l *VovkAzouryWarmuth) Update(g []float64) error {
	if err := checkFinite("gradient", g, l.Dim()); err != nil {
		return err
	}
	p, err := l.Prediction()
	if err != nil {
		return err
	}
	z := l.state.Z
	n := vec.Norm2(z)
	if n == 0 {
		if vec.MaxAbs(g) != 0 {
			return noregret.BadInputf("gradient", "%s, but the features are 0: want the gradient (⟨z, x⟩ − y)·z",
				brief(g))
		}
		return l.UpdateLabel(0)
	}
	r := vec.Dot(g, z) / n / n
	if n < 1e-140 || n > 1e140 { // the products leave the range of float64
		r = 0
		for i, v := range g {
			r += float64(v * (z[i] / n))
		}
		r /= n
	}
	var off, size float64
	for i, v := range g {
		off, size = max(off, math.Abs(v-float64(r*z[i]))), max(size, math.Abs(v))
	}
	if off > 1e-9*size {
		return noregret.BadInputf("gradient", "%s is not a multiple of the features %s: want (⟨z, x⟩ − y)·z", brief(g),
			brief(z))
	}
	return l.UpdateLabel(p - r)
}

// UpdateLabel ends the round with its label y.
func (l *VovkAzouryWarmuth) UpdateLabel(y float64) error {
	if !vec.IsFinite(y) || math.Abs(y) > 1e150 {
		return noregret.BadInputf("label", "%v: want a finite number of at most 1e150, as it is squared", y)
	}
	st := &l.state
	if !st.Ready {
		return noregret.BadInputf("features", "round %d has no features yet: they come before the label", st.T+1)
	}
	for i, z := range l.scaled {
		if !vec.IsFinite(st.B[i] + float64(y*z)) {
			return noregret.BadInputf("label", "%v: the sum of y·z leaves the range of float64 at %d", y, i)
		}
	}
	for i, z := range l.scaled {
		st.B[i] += float64(y * z)
	}
	if st.Left > 0 {
		st.Out.Linear.add(st.Left * math.Abs(y))
		st.Out.Quadratic.add(st.Left * vec.Norm2(st.Z))
		st.Left = 0
	}
	st.Spent.add(float64(y*y) * ((st.Shrink - 1) / st.Shrink))
	st.Ready = false
	st.T++
	l.refresh()
	return nil
}

// Bound implements [Bounder], for the regret Σ ½(⟨z_t, x_t⟩ − y_t)² − ½(⟨z_t, u⟩ − y_t)²;
// not for that of the linearized losses.
func (l *VovkAzouryWarmuth) Bound(u []float64) (float64, error) {
	if err := checkFinite("comparator", u, l.Dim()); err != nil {
		return 0, err
	}
	return orInf(float64(l.lambda/2*vec.Dot(u, u)) + float64(l.state.Spent.value()/2) +
		l.state.Out.cost(vec.Norm2(u))), nil
}

// String describes the learner and its options in one line.
func (l *VovkAzouryWarmuth) String() string { return l.text }

// MarshalBinary implements [Snapshotter].
func (l *VovkAzouryWarmuth) MarshalBinary() ([]byte, error) {
	return snapshot.Seal(snapshotMagic, l.text, &l.state)
}

// UnmarshalBinary implements [Snapshotter].
func (l *VovkAzouryWarmuth) UnmarshalBinary(data []byte) error {
	spanned := l.state.Span != nil
	err := restore(data, l.text, &l.state, func(s *ridgeState) error {
		c := len(s.B)
		if !spanned && (s.Span != nil || c != l.d) {
			return snapshot.Bad("damaged: it has %d coordinates for dimension %d", c, l.d)
		}
		if spanned {
			if err := s.Span.check(l.d, c); err != nil {
				return err
			}
		}
		if err := checkState(c, s.T, s.B); err != nil {
			return err
		}
		if err := checkState(l.d, s.T, s.Z); err != nil {
			return err
		}
		if s.Ready && !(s.Shrink >= 1 && vec.IsFinite(s.Shrink)) || !(s.Spent.value() >= 0) || !(s.Left >= 0) ||
			!s.Out.valid() {
			return snapshot.Bad("damaged: shrinkage %v, sums out of range", s.Shrink)
		}
		if !s.Factor.Valid(c) {
			return snapshot.Bad("damaged: its factor does not fit dimension %d", c)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if spanned {
		l.grow()
		l.state.Span.coordinates(l.scaled, l.state.Z)
	} else {
		l.scaled = l.state.Z
	}
	l.refresh()
	return nil
}
