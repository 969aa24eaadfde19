package convex

import (
	"fmt"
	"math"

	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/vec"
)

// LogBarrier is ψ(x) = −Σ ln x_i on x > 0: gradient −1/x_i, inverse −1/θ_i and conjugate −d − Σ
// ln(−θ_i) for θ < 0 (+Inf elsewhere), divergence Σ x_i/y_i − ln(x_i/y_i) − 1 (Itakura–Saito). On
// the simplex {Σx = s} it is 1/s²-strongly convex in L1, on the orthant not at all. Each operation
// is O(d).
type LogBarrier struct{ d int }

// NewLogBarrier makes −Σ ln x on the positive orthant of ℝ^d.
func NewLogBarrier(d int) (*LogBarrier, error) {
	if err := checkDim("log barrier", d); err != nil {
		return nil, err
	}
	return &LogBarrier{d}, nil
}

// Dim implements [MirrorMap].
func (m *LogBarrier) Dim() int { return m.d }

// Value implements [MirrorMap].
func (m *LogBarrier) Value(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		if !(v > 0) {
			return math.Inf(1)
		}
		sum -= portable.Log(v)
	}
	return sum
}

// Gradient writes −1/x_i.
func (m *LogBarrier) Gradient(dst, x []float64) {
	for i, v := range x {
		dst[i] = -1 / v
	}
}

// Inverse writes −1/θ_i, +Inf where θ_i ≥ 0.
func (m *LogBarrier) Inverse(dst, theta []float64) {
	for i, t := range theta {
		dst[i] = barrierInverse(t)
	}
}

func barrierInverse(t float64) float64 {
	if t >= 0 {
		return math.Inf(1)
	}
	return -1 / t
}

// Conjugate implements [MirrorMap].
func (m *LogBarrier) Conjugate(theta []float64) float64 {
	sum := 0.0
	for _, t := range theta {
		if t >= 0 {
			return math.Inf(1)
		}
		sum -= 1 + portable.Log(-t)
	}
	return sum
}

// Divergence implements [MirrorMap]. With s = (x−y)/(x+y) a term is 2s²/(1−s) − 2s(s²/3 + s⁴/5 +
// ...), used for x near y.
func (m *LogBarrier) Divergence(x, y []float64) float64 {
	sum := 0.0
	for i, v := range x {
		w := y[i]
		if !(v > 0 && w > 0) {
			return math.Inf(1)
		}
		s := (v - w) / (v + w)
		if math.Abs(s) > 0.2 {
			sum += (v-w)/w - (portable.Log(v) - portable.Log(w))
			continue
		}
		z := float64(s * s)
		tail := 0.0
		for k := 25; k >= 3; k -= 2 {
			tail = float64(z * (1/float64(k) + tail))
		}
		sum += 2 * (z/(1-s) - float64(s*tail))
	}
	return sum
}

// StrongConvexity is 0: there is none on the whole orthant.
func (m *LogBarrier) StrongConvexity() (float64, Norm) { return 0, L1 }

// Interior reports whether x is positive and finite.
func (m *LogBarrier) Interior(x []float64) bool { return allPositive(x) }

// String describes it in one line, all parameters included.
func (m *LogBarrier) String() string { return fmt.Sprintf("log-barrier(%d)", m.d) }

func (m *LogBarrier) pairs() string {
	return "Simplex, Box with finite upper sides above 0, Product of these"
}

func (m *LogBarrier) part(from, to int) restrictable { return &LogBarrier{to - from} }

func (m *LogBarrier) restrict(s Set) (pair, error) {
	switch s := s.(type) {
	case *Simplex:
		return pair{
			argmax: func(dst, theta []float64) { barrierSimplexArgmax(dst, theta, s.s) },
			lambda: 1 / float64(s.s*s.s), norm: L1,
		}, nil
	case *Box:
		top, err := barrierBox(s)
		return pair{
			argmax: func(dst, theta []float64) {
				for i, t := range theta {
					dst[i] = clip(barrierInverse(t), s.lower[i], s.upper[i])
				}
			},
			lambda: 1 / float64(top*top), norm: L2,
		}, err
	}
	return pair{}, errPair
}

// barrierSimplexArgmax solves Σ 1/(w+δ_i) = s, δ_i = max θ − θ_i, for w in [1/s, d/s] by Newton's
// method on 1/Σ(·), which is concave in w: from 1/s it rises without overshooting.
func barrierSimplexArgmax(dst, theta []float64, s float64) {
	_, top := vec.ArgMax(theta)
	w, most := 1/s, float64(len(theta))/s
	for range 60 {
		total, square := 0.0, 0.0
		for _, t := range theta {
			x := 1 / (w + (top - t))
			total += x
			square += float64(x * x)
		}
		if total-s <= float64(max(1e-15, float64(float64(len(theta))*1e-16))*s) {
			break
		}
		next := min(most, w+float64(total/square*(total/s-1)))
		if next == w {
			break
		}
		w = next
	}
	total := 0.0
	for i, t := range theta {
		x := 1 / (w + (top - t))
		dst[i] = x
		total += x
	}
	for i := range dst {
		dst[i] = float64(dst[i]/total) * s
	}
}
