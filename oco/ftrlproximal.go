package oco

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"

	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/internal/vec"
)

// FTRLProximal is FTRL-Proximal with l1 and l2 penalties and one rate for each coordinate, the
// click-prediction algorithm (McMahan et al. 2013; Orabona 2019, section 7.12):
//
//	x_i = 0 for |z_i| ≤ l1, else −(z_i − sgn(z_i)·l1)/((β + √n_i)/A + l2),
//	σ = (√(n_i + g_i²) − √n_i)/A,   z_i ← z_i + g_i − σ·x_i,   n_i ← n_i + g_i².
//
// It plays on ℝ^d from 0. Its l1 weight is l1 in total; that of [CompositeFTRL] grows with the
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

// FTRLProximalOptions are the constants of [FTRLProximal]. The zero value is refused: A and Beta
// are above 0.
type FTRLProximalOptions struct {
	// A is the scale of the rates, above 0. The papers call it alpha.
	A float64
	// Beta smooths the first rates, above 0; the papers use 1.
	Beta float64
	// L1 and L2 are the weights of the penalties, at least 0.
	L1, L2 float64
}

// ftrlProximalState holds n_i as N_i·2^(2·Exp_i). Exp is nil as long as all subgradients are of
// moderate size.
type ftrlProximalState struct {
	T      int
	Z, N   []float64
	Exp    []int32
	Center []float64 // Σ σ·x
	Square sum       // Σ σ·x²
	Spent  sum       // Σ g²/((β+√n)/A+l2)
}

// NewFTRLProximal plays on ℝ^d.
func NewFTRLProximal(d int, options FTRLProximalOptions) (*FTRLProximal, error) {
	if err := checkDim(d, 5*float64(d)); err != nil {
		return nil, err
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
		if !(p.value >= 0) || !vec.IsFinite(p.value) {
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
func (l *FTRLProximal) At(i int) float64 { return l.at(i, l.root(i)) }

// root is √n_i.
func (l *FTRLProximal) root(i int) float64 {
	if l.state.Exp == nil {
		return math.Sqrt(l.state.N[i])
	}
	return l.scaledRoot(i)
}

func (l *FTRLProximal) scaledRoot(i int) float64 {
	return math.Ldexp(math.Sqrt(l.state.N[i]), int(l.state.Exp[i]))
}

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
			l.point[i] = l.at(i, l.root(i))
		}
		l.fresh = true
	}
	return l.point
}

// squareLimit is the largest value whose square is summed without scaling.
const squareLimit = 1e140

// Update implements [Learner].
func (l *FTRLProximal) Update(g []float64) error {
	largest, err := checkVector("gradient", g, l.Dim())
	if err != nil {
		return err
	}
	var square, spent float64
	if l.state.Exp != nil || largest >= squareLimit {
		if square, spent, err = l.extreme(nil, g); err != nil {
			return err
		}
	} else {
		for i, v := range g {
			if v != 0 {
				sq, sp := l.step(i, v)
				square += sq
				spent += sp
			}
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
	var square, spent float64
	if l.state.Exp != nil || largest >= squareLimit {
		if square, spent, err = l.extreme(g.Index, g.Value); err != nil {
			return err
		}
	} else {
		for k, i := range g.Index {
			if v := g.Value[k]; v != 0 {
				sq, sp := l.step(int(i), v)
				square += sq
				spent += sp
			}
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

// extreme makes the steps of a round if squares of its values, or of an earlier round's, overflow
// or underflow. The values belong to the coordinates in index, or to all of them if it is nil. It
// returns an error if z would overflow.
func (l *FTRLProximal) extreme(index []uint32, values []float64) (square, spent float64, err error) {
	st := &l.state
	at := func(k int) int {
		if index == nil {
			return k
		}
		return int(index[k])
	}
	for k, v := range values {
		if s := l.extremeStep(at(k), v); !vec.IsFinite(s.z) || !vec.IsFinite(s.center) {
			return 0, 0, noregret.BadInputf("gradient", "its value %v at %d takes the state out of the range of "+
				"float64", v, at(k))
		}
	}
	if st.Exp == nil {
		st.Exp = make([]int32, len(st.Z))
	}
	for k, v := range values {
		if v != 0 {
			i := at(k)
			s := l.extremeStep(i, v)
			st.Z[i], st.N[i], st.Exp[i], st.Center[i] = s.z, s.n, s.exp, s.center
			square += s.square
			spent += s.spent
		}
	}
	return square, spent, nil
}

// proximalStep is the state of a coordinate after a step, and what the step adds to the sums of the
// bound.
type proximalStep struct {
	z, n, center  float64
	exp           int32
	square, spent float64
}

// extremeStep is step with n_i scaled by a power of two. It changes nothing.
func (l *FTRLProximal) extremeStep(i int, v float64) proximalStep {
	o, st := &l.options, &l.state
	n, e := st.N[i], 0
	if st.Exp != nil {
		e = int(st.Exp[i])
	}
	x := l.At(i)
	if k := math.Ilogb(v); math.Abs(v) >= squareLimit && k > e {
		n, e = math.Ldexp(n, 2*(e-k)), k
	}
	y := math.Ldexp(v, -e)
	s := float64(y * y)
	before, after := math.Sqrt(n), math.Sqrt(n+s)
	var pull float64
	if s > 0 && x != 0 {
		pull = math.Ldexp(s/(after+before)/o.A, e) * x
	}
	next := math.Ldexp(after, e)
	return proximalStep{
		z: st.Z[i] + (v - pull), n: n + s, center: st.Center[i] + pull, exp: int32(e),
		square: float64(pull * x), spent: v / ((o.Beta+next)/o.A + o.L2) * v,
	}
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
		a, b := float64(v*v*l.root(i)/o.A), float64(2*st.Center[i]*v)
		pull.add(a)
		pull.add(-b)
		size.add(a + math.Abs(b))
	}
	// Add what may be lost by cancellation, so that the bound remains valid.
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
		if len(s.Exp) != 0 && len(s.Exp) != l.Dim() {
			return snapshot.Bad("damaged: it has %d exponents for dimension %d", len(s.Exp), l.Dim())
		}
		return checkState(l.Dim(), s.T, s.Z, s.N, s.Center)
	})
}
