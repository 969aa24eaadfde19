package oco

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"

	"github.com/noregret/noregret/internal/snapshot"
)

// FTRLProximal is FTRL-Proximal with l1 and l2 penalties and one rate for each coordinate, the
// click-prediction algorithm (McMahan et al. 2013; Orabona 2019, section 7.12):
//
//	x_i = 0 for |z_i| ≤ l1, else −(z_i − sgn(z_i)·l1)/((β + √n_i)/A + l2),
//	σ = (√(n_i + g_i²) − √n_i)/A,   z_i ← z_i + g_i − σ·x_i,   n_i ← n_i + g_i².
//
// It plays on ℝ^d from 0. Its l1 weight is l1 in total, that of [CompositeFTRL] grows with the
// rounds.
//
// Guarantee (Bound), from Lemma 7.15 applied to each coordinate: l1·‖u‖₁ + ½(β/A + l2)·‖u‖² +
// ½Σ_t Σ_i σ_{t,i}(u_i − x_{t,i})² + ½Σ_t Σ_i g_{t,i}²/((β + √n_{t,i})/A + l2), n_t with g_t
// included. A round costs O(nnz), At O(1), Predict O(d); memory is O(d).
type FTRLProximal struct {
	options FTRLProximalOptions
	state   ftrlProximalState
	point   []float64
	fresh   bool
	text    string
}

// FTRLProximalOptions are the constants of [FTRLProximal].
type FTRLProximalOptions struct {
	// A is the scale of the rates, above 0. The papers call it alpha.
	A float64
	// Beta smooths the first rates, above 0; the papers use 1.
	Beta float64
	// L1 and L2 are the weights of the penalties, at least 0.
	L1, L2 float64
}

type ftrlProximalState struct {
	T      int
	Z, N   []float64
	Center []float64 // Σ σ·x
	Square sum       // Σ σ·x²
	Spent  sum       // Σ g²/((β+√n)/A+l2)
}

// NewFTRLProximal plays on ℝ^d.
func NewFTRLProximal(d int, options FTRLProximalOptions) (*FTRLProximal, error) {
	if d < 1 {
		return nil, noregret.BadInputf("dimension", "%d: want at least 1", d)
	}
	if err := positive("A", options.A); err != nil {
		return nil, err
	}
	if err := positive("Beta", options.Beta); err != nil {
		return nil, err
	}
	for _, p := range []struct {
		name  string
		value float64
	}{{"L1", options.L1}, {"L2", options.L2}} {
		if !(p.value >= 0) || !finite(p.value) {
			return nil, noregret.BadInputf(p.name, "%v: want a finite number, at least 0", p.value)
		}
	}
	l := &FTRLProximal{options: options, point: make([]float64, d)}
	l.state = ftrlProximalState{Z: make([]float64, d), N: make([]float64, d), Center: make([]float64, d)}
	l.text = fmt.Sprintf("ftrl-proximal(d=%d, %+v)", d, options)
	return l, nil
}

// Dim implements [Learner].
func (l *FTRLProximal) Dim() int { return len(l.point) }

// Rounds implements [Counter].
func (l *FTRLProximal) Rounds() int { return l.state.T }

// At implements [SparseLearner].
func (l *FTRLProximal) At(i int) float64 { return l.at(i, math.Sqrt(l.state.N[i])) }

func (l *FTRLProximal) at(i int, root float64) float64 {
	o := &l.options
	if s := soft(-l.state.Z[i], o.L1); s != 0 {
		return s / ((o.Beta+root)/o.A + o.L2)
	}
	return 0
}

// Predict implements [Learner].
func (l *FTRLProximal) Predict() []float64 {
	if !l.fresh {
		for i := range l.point {
			l.point[i] = l.At(i)
		}
		l.fresh = true
	}
	return l.point
}

// squareLimit bounds the subgradients of FTRLProximal: the squares are summed as they are, for
// speed.
const squareLimit = 1e140

// Update implements [Learner]. Values of 1e140 and above are refused, as squares are summed without
// a scale.
func (l *FTRLProximal) Update(g []float64) error {
	largest, err := checkVector("gradient", g, l.Dim())
	if err != nil {
		return err
	}
	if largest >= squareLimit {
		return noregret.BadInputf("gradient", "its largest value is %v: want below %v", largest, squareLimit)
	}
	var square, spent float64
	for i, v := range g {
		if v != 0 {
			sq, sp := l.step(i, v)
			square += sq
			spent += sp
		}
	}
	l.end(square, spent)
	return nil
}

// UpdateSparse implements [SparseLearner].
func (l *FTRLProximal) UpdateSparse(g Sparse) error {
	largest, err := checkSparse("gradient", g, l.Dim())
	if err != nil {
		return err
	}
	if largest >= squareLimit {
		return noregret.BadInputf("gradient", "its largest value is %v: want below %v", largest, squareLimit)
	}
	var square, spent float64
	for k, i := range g.Index {
		if v := g.Value[k]; v != 0 {
			sq, sp := l.step(int(i), v)
			square += sq
			spent += sp
		}
	}
	l.end(square, spent)
	return nil
}

func (l *FTRLProximal) end(square, spent float64) {
	l.state.Square.add(square)
	l.state.Spent.add(spent)
	l.state.T++
	l.fresh = false
}

// step updates one coordinate and returns what it adds to the sums of the bound.
func (l *FTRLProximal) step(i int, v float64) (square, spent float64) {
	o, st := &l.options, &l.state
	root := math.Sqrt(st.N[i])
	x := l.at(i, root)
	n := st.N[i] + float64(v*v)
	next := math.Sqrt(n)
	// The difference of roots in the form that does not cancel; a square that underflows moves
	// nothing but z.
	sigma := 0.0
	if square := float64(v * v); square > 0 {
		sigma = square / (next + root) / o.A
	}
	pull := float64(sigma * x)
	st.Z[i] += v - pull
	st.N[i] = n
	st.Center[i] += pull
	return float64(pull * x), v * v / ((o.Beta+next)/o.A + o.L2)
}

// Bound implements [Bounder].
func (l *FTRLProximal) Bound(u []float64) (float64, error) {
	if err := checkFinite("comparator", u, l.Dim()); err != nil {
		return 0, err
	}
	o, st := &l.options, &l.state
	var norm1, norm2, pull, size sum
	for i, v := range u {
		norm1.add(math.Abs(v))
		norm2.add(v * v)
		a, b := float64(v*v*math.Sqrt(st.N[i])/o.A), float64(2*st.Center[i]*v)
		pull.add(a)
		pull.add(-b)
		size.add(a + math.Abs(b))
	}
	// What may cancel is given back, so that the bound stays one.
	quadratic := max(pull.value()+st.Square.value(), 0) + float64(0x1p-48*(size.value()+st.Square.value()))
	b := float64((o.Beta/o.A+o.L2)*norm2.value()/2) + float64(quadratic/2) + float64(st.Spent.value()/2)
	if o.L1 > 0 { // ‖u‖₁ may be +Inf
		b += float64(o.L1 * norm1.value())
	}
	return orInf(b), nil
}

// String describes the learner and its options in one line.
func (l *FTRLProximal) String() string { return l.text }

// MarshalBinary implements [Snapshotter].
func (l *FTRLProximal) MarshalBinary() ([]byte, error) {
	return snapshot.Seal(snapshotMagic, l.text, &l.state)
}

// UnmarshalBinary implements [Snapshotter].
func (l *FTRLProximal) UnmarshalBinary(data []byte) error {
	l.fresh = false
	return restore(data, l.text, &l.state, func(s *ftrlProximalState) error {
		return checkState(l.Dim(), s.T, s.Z, s.N, s.Center)
	})
}
