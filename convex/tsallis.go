package convex

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/vec"
)

// Tsallis is ψ(x) = (1 − Σx_i^q)/(1−q) on x ≥ 0, 0 < q < 1 (Tsallis 1988):
// gradient −q·x_i^{q−1}/(1−q), inverse (−(1−q)θ_i/q)^{−1/(1−q)} for θ < 0, conjugate Σx_i^q −
// 1/(1−q) at that x and +Inf where a θ_i > 0. For q → 1 it tends to the negative entropy on the
// probability simplex. The Hessian is diag(q·x^{q−2}): on the simplex {Σx = s} it is
// q·s^{q−2}-strongly convex in L1, on the orthant not at all. Each operation is O(d).
type Tsallis struct {
	d int
	q float64
}

// NewTsallis makes the Tsallis entropy of exponent q in (0, 1); ½ is the usual one.
func NewTsallis(d int, q float64) (*Tsallis, error) {
	if err := checkDim("tsallis", d); err != nil {
		return nil, err
	}
	if !(q > 0 && q < 1) {
		return nil, noregret.BadInputf("tsallis",
			"the exponent is %v, want above 0 and below 1 (at 1 it is the negative entropy)", q)
	}
	return &Tsallis{d, q}, nil
}

// Dim implements [MirrorMap].
func (m *Tsallis) Dim() int { return m.d }

// Q is the exponent.
func (m *Tsallis) Q() float64 { return m.q }

// Value implements [MirrorMap]: (1−Σx)/(1−q) − Σx·expm1(−(1−q)ln x)/(1−q), which keeps its digits
// for q near 1.
func (m *Tsallis) Value(x []float64) float64 {
	r := 1 - m.q
	mass, sum := 1.0, 0.0
	for _, v := range x {
		if v < 0 {
			return math.Inf(1)
		}
		mass -= v
		if v > 0 {
			sum -= float64(v * portable.Expm1(float64(-r*portable.Log(v))))
		}
	}
	return (mass + sum) / r
}

// Gradient implements [MirrorMap].
func (m *Tsallis) Gradient(dst, x []float64) {
	f := -m.q / (1 - m.q)
	for i, v := range x {
		dst[i] = float64(f * portable.Pow(v, m.q-1))
	}
}

// Inverse implements [MirrorMap]; it is +Inf where θ_i ≥ 0.
func (m *Tsallis) Inverse(dst, theta []float64) {
	for i, t := range theta {
		dst[i] = m.inverse(t)
	}
}

func (m *Tsallis) inverse(t float64) float64 {
	if t >= 0 {
		return math.Inf(1)
	}
	return portable.Pow(float64(-t*(1-m.q))/m.q, -1/(1-m.q))
}

// Conjugate implements [MirrorMap].
func (m *Tsallis) Conjugate(theta []float64) float64 {
	sum := 0.0
	for _, t := range theta {
		if t >= 0 {
			return math.Inf(1)
		}
		sum += portable.Pow(float64(-t*(1-m.q))/m.q, -m.q/(1-m.q))
	}
	return sum - 1/(1-m.q)
}

// Divergence is Σ y^q/(1−q)·(1 − t^q + q(t−1)) with t = x/y, by the binomial series for t near 1.
func (m *Tsallis) Divergence(x, y []float64) float64 {
	q := m.q
	sum := 0.0
	for i, v := range x {
		w := y[i]
		if v < 0 || w < 0 {
			return math.Inf(1)
		}
		if v == w {
			continue
		}
		if w == 0 {
			return math.Inf(1)
		}
		if s := (v - w) / w; math.Abs(s) < 0.25 {
			sum -= float64(float64(portable.Pow(w, q)*(q/(1-q))) * binomialGap(s, q))
		} else {
			sum += ((portable.Pow(w, q) - portable.Pow(v, q)) + float64(q*float64(portable.Pow(w, q-1)*(v-w)))) /
				(1 - q)
		}
	}
	return sum
}

// StrongConvexity is 0: there is none on the whole orthant.
func (m *Tsallis) StrongConvexity() (float64, Norm) { return 0, L1 }

// Interior reports whether x is positive and finite.
func (m *Tsallis) Interior(x []float64) bool { return allPositive(x) }

// String describes it in one line, all parameters included.
func (m *Tsallis) String() string { return fmt.Sprintf("tsallis(%d, %s)", m.d, formatFloat(m.q)) }

func (m *Tsallis) pairs() string {
	return "Simplex, Box with finite upper sides above 0, Product of these"
}

func (m *Tsallis) part(from, to int) restrictable { return &Tsallis{to - from, m.q} }

func (m *Tsallis) restrict(s Set) (pair, error) {
	switch s := s.(type) {
	case *Simplex:
		return pair{
			argmax: func(dst, theta []float64) { m.simplexArgmax(dst, theta, s.s) },
			lambda: float64(m.q * portable.Pow(s.s, m.q-2)), norm: L1,
		}, nil
	case *Box:
		top, err := barrierBox(s)
		return pair{
			argmax: func(dst, theta []float64) {
				for i, t := range theta {
					dst[i] = clip(m.inverse(t), s.lower[i], s.upper[i])
				}
			},
			lambda: float64(m.q * portable.Pow(top, m.q-2)), norm: L2,
		}, err
	}
	return pair{}, errPair
}

// barrierBox returns the largest upper side of a box on which a decreasing map has a minimum.
func barrierBox(b *Box) (float64, error) {
	top := 0.0
	for _, u := range b.upper {
		if !(u > 0) || math.IsInf(u, 1) {
			return 0, errPair
		}
		top = max(top, u)
	}
	return top, nil
}

// simplexArgmax solves Σ(1+v+δ_i)^{−1/r} = 1, r = 1−q, δ_i = s^r·(r/q)·(max θ − θ_i), for v in [0,
// d^r − 1] by Newton's method on (Σ(·)^{−1/r})^{−r}, which is concave in v: from 0 it rises without
// overshooting, in fewer than 10 steps. O(d) each.
func (m *Tsallis) simplexArgmax(dst, theta []float64, s float64) {
	r := 1 - m.q
	_, top := vec.ArgMax(theta)
	f := float64(portable.Pow(s, r) * (r / m.q))
	most := portable.Expm1(float64(r * portable.Log(float64(len(theta)))))
	stop := max(1e-15, float64(float64(len(theta))*1e-16))
	v := 0.0
	for range 60 {
		total, weighted := 0.0, 0.0
		for _, t := range theta {
			u := v + float64(f*(top-t))
			x := portable.Exp(-portable.Log1p(u) / r)
			total += x
			weighted += x / (1 + u)
		}
		if total-1 <= stop {
			break
		}
		next := min(most, v+float64(total/weighted*portable.Expm1(float64(r*portable.Log(total)))))
		if next == v {
			break
		}
		v = next
	}
	total := 0.0
	for i, t := range theta {
		x := portable.Exp(-portable.Log1p(v+float64(f*(top-t))) / r)
		dst[i] = x
		total += x
	}
	for i := range dst {
		dst[i] = float64(dst[i]/total) * s
	}
}
