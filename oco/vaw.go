package oco

import (
	"fmt"
	"math"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/snapshot"
)

// VovkAzouryWarmuth is the forecaster of Vovk (2001) and Azoury and Warmuth (2001) for online linear
// regression (Orabona 2019, Algorithm 7.6), losses ½(⟨z_t, x⟩ − y_t)² with z_t shown before the prediction:
//
//	S_t = λI + Σ_{i≤t} z_i·z_iᵀ (the running round included),   x_t = S_t⁻¹·Σ_{i<t} y_i·z_i.
//
// The prediction is ridge regression's divided by 1 + s_t, s_t = z_tᵀS_{t−1}⁻¹z_t. Give the features with
// Features, read Prediction or Predict, and end the round with UpdateLabel, or with Update and the gradient
// (⟨z, x⟩ − y)·z. Labels need no known range, comparators no bound.
//
// Guarantee (Bound): (λ/2)‖u‖² + ½Σ y_t²·s_t/(1 + s_t), at most (λ/2)‖u‖² + (d·Y²/2)·ln(1 + R²T/(λd)) for
// |y_t| ≤ Y and ‖z_t‖ ≤ R (Theorem 7.26). A round costs O(d²) time; memory is O(d²).
type VovkAzouryWarmuth struct {
	lambda float64
	state  ridgeState
	point  []float64
	work   []float64
	text   string
}

type ridgeState struct {
	T      int
	Factor convex.Cholesky // of S_{t−1}, or of S_t once the features of round t are known
	B      []float64
	Z      []float64 // the running round's features
	Ready  bool      // features are known
	Shrink float64   // 1 + s_t
	Spent  sum
}

// NewVovkAzouryWarmuth plays on ℝ^d with regularization lambda > 0.
func NewVovkAzouryWarmuth(d int, lambda float64) (*VovkAzouryWarmuth, error) {
	if d < 1 {
		return nil, badArgument("dimension", "%d: want at least 1", d)
	}
	if err := positive("lambda", lambda); err != nil {
		return nil, err
	}
	l := &VovkAzouryWarmuth{lambda: lambda, point: make([]float64, d), work: make([]float64, d)}
	l.state = ridgeState{Factor: convex.NewCholesky(d, lambda), B: make([]float64, d), Z: make([]float64, d)}
	l.text = fmt.Sprintf("vovk-azoury-warmuth(d=%d, lambda=%v)", d, lambda)
	return l, nil
}

// Dim implements [Learner].
func (l *VovkAzouryWarmuth) Dim() int { return len(l.point) }

// Rounds implements [Counter].
func (l *VovkAzouryWarmuth) Rounds() int { return l.state.T }

// Features implements [FeatureLearner]. Features of a round cannot be changed: a second call before the
// round's end is an error.
func (l *VovkAzouryWarmuth) Features(z []float64) error {
	largest, err := checkVector("features", z, l.Dim())
	if err != nil {
		return err
	}
	if l.state.Ready {
		return badArgument("features", "round %d has its features already; end it first", l.state.T+1)
	}
	st := &l.state
	if largest > 1e150 {
		return badArgument("features", "their largest value is %v: want at most 1e150, as they are squared", largest)
	}
	copy(l.work, z)
	s := st.Factor.InverseSquare(l.work)
	if !finite(s) {
		return badArgument("features", "their size %v in the inverse of S is not finite", s)
	}
	copy(l.work, z)
	st.Factor.Add(l.work)
	copy(st.Z, z)
	st.Ready, st.Shrink = true, 1+s
	l.refresh()
	return nil
}

func (l *VovkAzouryWarmuth) refresh() {
	copy(l.point, l.state.B)
	l.state.Factor.Solve(l.point)
}

// Predict implements [Learner]: x_t once the round's features are known, and the ridge solution of the past
// before.
func (l *VovkAzouryWarmuth) Predict() []float64 { return l.point }

// Prediction is ⟨z_t, x_t⟩, an error before Features.
func (l *VovkAzouryWarmuth) Prediction() (float64, error) {
	if !l.state.Ready {
		return 0, badArgument("features", "round %d has no features yet: they come before the prediction", l.state.T+1)
	}
	return convex.Dot(l.state.Z, l.point), nil
}

// Update implements [Learner], with g = (⟨z, x⟩ − y)·z. A g that is not a multiple of the features is refused.
func (l *VovkAzouryWarmuth) Update(g []float64) error {
	if err := checkFinite("gradient", g, l.Dim()); err != nil {
		return err
	}
	p, err := l.Prediction()
	if err != nil {
		return err
	}
	z := l.state.Z
	n := convex.Norm2(z)
	if n == 0 {
		if maxAbs(g) != 0 {
			return badArgument("gradient", "it is %s, but the features are 0: want the gradient (⟨z, x⟩ − y)·z", brief(g))
		}
		return l.UpdateLabel(0)
	}
	r := convex.Dot(g, z) / n / n
	for i, v := range g {
		l.work[i] = v - float64(r*z[i])
	}
	if convex.Norm2(l.work) > 1e-9*convex.Norm2(g) {
		return badArgument("gradient", "%s is not a multiple of the features %s: want (⟨z, x⟩ − y)·z", brief(g), brief(z))
	}
	return l.UpdateLabel(p - r)
}

// UpdateLabel ends the round with its label y.
func (l *VovkAzouryWarmuth) UpdateLabel(y float64) error {
	if !finite(y) || math.Abs(y) > 1e150 {
		return badArgument("label", "%v: want a finite number of at most 1e150, as it is squared", y)
	}
	st := &l.state
	if !st.Ready {
		return badArgument("features", "round %d has no features yet: they come before the label", st.T+1)
	}
	for i, z := range st.Z {
		if !finite(st.B[i] + float64(y*z)) {
			return badArgument("label", "%v: the sum of y·z leaves the range of float64 at %d", y, i)
		}
	}
	for i, z := range st.Z {
		st.B[i] += float64(y * z)
	}
	st.Spent.add(float64(y*y) * ((st.Shrink - 1) / st.Shrink))
	st.Ready = false
	st.T++
	l.refresh()
	return nil
}

// Bound implements [Bounder], for the regret Σ ½(⟨z_t, x_t⟩ − y_t)² − ½(⟨z_t, u⟩ − y_t)²; not for that of
// the linearized losses.
func (l *VovkAzouryWarmuth) Bound(u []float64) (float64, error) {
	if err := checkFinite("comparator", u, l.Dim()); err != nil {
		return 0, err
	}
	return float64(l.lambda/2*convex.Dot(u, u)) + float64(l.state.Spent.value()/2), nil
}

// String describes the learner and its options in one line.
func (l *VovkAzouryWarmuth) String() string { return l.text }

// MarshalBinary implements [Snapshotter].
func (l *VovkAzouryWarmuth) MarshalBinary() ([]byte, error) {
	return snapshot.Seal(snapshotMagic, l.text, &l.state)
}

// UnmarshalBinary implements [Snapshotter].
func (l *VovkAzouryWarmuth) UnmarshalBinary(data []byte) error {
	err := restore(data, l.text, &l.state, func(s *ridgeState) error {
		if err := checkState(l.Dim(), s.T, s.B, s.Z); err != nil {
			return err
		}
		if !s.Factor.Valid(l.Dim()) {
			return snapshot.Bad("it is damaged: its factor is none of dimension %d", l.Dim())
		}
		return nil
	})
	if err == nil {
		l.refresh()
	}
	return err
}
