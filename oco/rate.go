package oco

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/vec"
)

// Rate is a schedule of step sizes η_t for gradient and mirror descent. The step from x_t to
// x_{t+1} uses η_t, which may depend on the subgradient g_t. Make one with [Constant],
// [FixedHorizon], [InverseSqrt], [StronglyConvex], [Adaptive] or [RateFunc].
type Rate struct {
	kind    rateKind
	a       float64
	horizon int
	name    string
	f       func(t int) float64
}

type rateKind int

const (
	constantRate rateKind = iota + 1
	inverseSqrtRate
	stronglyConvexRate
	adaptiveRate
	funcRate
)

// Constant is η_t = eta.
func Constant(eta float64) Rate {
	return Rate{kind: constantRate, a: eta, name: fmt.Sprintf("constant(%v)", eta)}
}

// FixedHorizon is η_t = scale/(lipschitz·√rounds), for subgradients of norm at most lipschitz. With
// scale = D, the set's diameter, it is the rate of Orabona (2019), (2.1), of regret D·L·√T; with V
// = ℝ^d and scale = α it is that of section 5.2.2, ½L(‖u‖²/α + α)√T. An update after the last round
// is an error, because the bound no longer holds.
func FixedHorizon(scale, lipschitz float64, rounds int) Rate {
	return Rate{
		kind: constantRate, a: ratio(scale, lipschitz*math.Sqrt(float64(rounds))), horizon: rounds,
		name: fmt.Sprintf("fixed-horizon(%v,%v,%d)", scale, lipschitz, rounds),
	}
}

// ratio is a/b for positive a and b, and otherwise NaN, which validate rejects.
func ratio(a, b float64) float64 {
	if !(a > 0) || !(b > 0) {
		return math.NaN()
	}
	return a / b
}

// InverseSqrt is η_t = scale/(lipschitz·√t), scale = D for regret (3/2)·D·L·√T at every T (Orabona
// 2019, section 5.1).
func InverseSqrt(scale, lipschitz float64) Rate {
	return Rate{
		kind: inverseSqrtRate, a: ratio(scale, lipschitz),
		name: fmt.Sprintf("inverse-sqrt(%v,%v)", scale, lipschitz),
	}
}

// StronglyConvex is η_t = 1/Σ_{i≤t} μ_i for strongly convex losses, with μ_i = mu or the argument
// of UpdateCurved: regret ½Σ η_t‖g_t‖² (Orabona 2019, Theorem 4.7 and Corollary 4.9). In
// [MirrorDescent] mu is the strong convexity relative to ψ.
func StronglyConvex(mu float64) Rate {
	return Rate{kind: stronglyConvexRate, a: mu, name: fmt.Sprintf("strongly-convex(%v)", mu)}
}

// Adaptive is η_t = scale/√(Σ_{i≤t}‖g_i‖²), no move while the sum is 0: scale-free, and any-time.
// With scale = D·√2/2 the regret is √2·D·√Q_T, at most √2 times the bound of the best constant rate
// in hindsight (Orabona 2019, Theorem 4.14); with D it is (3/2)·D·√Q_T.
func Adaptive(scale float64) Rate {
	return Rate{kind: adaptiveRate, a: scale, name: fmt.Sprintf("adaptive(%v)", scale)}
}

// RateFunc is any schedule η_t = f(t), t = 1, 2, ...; f must be pure. Snapshots contain the name,
// which stands for f.
func RateFunc(name string, f func(t int) float64) Rate {
	return Rate{kind: funcRate, f: f, name: fmt.Sprintf("func(%s)", name)}
}

// String describes the schedule in one line.
func (r Rate) String() string { return r.name }

func (r Rate) validate() error {
	switch {
	case r.kind == 0:
		return noregret.BadInputf("rate", "the zero Rate is not a schedule; make one with Constant, FixedHorizon, ...")
	case r.kind == funcRate:
		if r.f == nil {
			return noregret.BadInputf("rate", "RateFunc without a function")
		}
		return nil
	case r.horizon < 0:
		return noregret.BadInputf("rate", "%v: want at least 1 round", r)
	case r.kind == stronglyConvexRate && r.a == 0:
		return nil // every round brings its own through UpdateCurved
	case !(r.a > 0) || !vec.IsFinite(r.a):
		return noregret.BadInputf("rate", "%v: want a positive finite step size", r)
	}
	return nil
}

// anyClosedSet reports whether the schedule's guarantee holds on unbounded sets.
func (r Rate) anyClosedSet() bool { return r.kind == constantRate || r.kind == stronglyConvexRate }

// rateState is the state of a schedule, with the sums of its bound.
type rateState struct {
	T       int
	Q       squares // Σ‖g‖²
	Curved  sum     // Σμ of the rounds with a μ of their own
	Plain   int     // the number of other rounds
	LastEta float64 // +Inf for one above the largest float64
	Rise    sum     // Σ (1/η_t − 1/η_{t−1})₊
	Spent   sum     // Σ η_t‖g_t‖²
}

// stepSize is a step size Eta·2^Exp. Exp is 0 unless the step size is too large for a float64.
type stepSize struct {
	Eta float64
	Exp int
}

// zero reports whether there is no step, because the rate is adaptive and all subgradients so far
// were 0.
func (s stepSize) zero() bool { return s.Eta == 0 }

// of is the step η·v. An Exp other than 0 scales v first, which is exact for the small v that need
// it.
func (s stepSize) of(v float64) float64 {
	if s.Exp != 0 {
		return s.scaled(v)
	}
	return float64(s.Eta * v)
}

// scaled is of for an Exp other than 0, a call of its own so that of is inlined.
//
//go:noinline
func (s stepSize) scaled(v float64) float64 { return float64(s.Eta * math.Ldexp(v, s.Exp)) }

// inverse is 1/η.
func (s stepSize) inverse() float64 {
	if s.Exp != 0 {
		return math.Ldexp(1/s.Eta, -s.Exp)
	}
	return 1 / s.Eta
}

// String is η, for error messages.
func (s stepSize) String() string { return fmt.Sprint(math.Ldexp(s.Eta, s.Exp)) }

// next returns η_t for a subgradient of squared norm s·2^(2e), and the state after the round. mu <
// 0 means the schedule's own.
func (r Rate) next(st rateState, s float64, e int, mu float64) (stepSize, rateState, error) {
	var none stepSize
	st.T++
	if r.horizon > 0 && st.T > r.horizon {
		return none, st, noregret.BadInputf("round",
			"%d: the rate is tuned for %d rounds, and promises nothing after them", st.T,
			r.horizon)
	}
	st.Q.add(s, e)
	var eta float64
	switch r.kind {
	case constantRate:
		eta = r.a
	case inverseSqrtRate:
		eta = r.a / math.Sqrt(float64(st.T))
	case stronglyConvexRate:
		if mu >= 0 {
			st.Curved.add(mu)
		} else {
			st.Plain++
		}
		m := st.Curved.value() + float64(r.a*float64(st.Plain))
		switch {
		case m > 0:
			eta = 1 / m
		case s == 0:
			eta = 0
		default:
			return none, st, noregret.BadInputf("mu",
				"%v: no loss so far is strongly convex, so the step 1/Σμ is infinite", m)
		}
	case adaptiveRate:
		// One division by the root, not a product with its inverse, and exact under scaling by
		// powers of two.
		if root := st.Q.root(); root > 0 {
			eta = r.a / root
			if !vec.IsFinite(eta) {
				return r.huge(st, s, e)
			}
		}
	case funcRate:
		eta = r.f(st.T)
		if !(eta > 0) || !vec.IsFinite(eta) {
			return none, st, noregret.BadInputf("rate", "%v is %v in round %d: want a positive finite step size", r,
				eta,
				st.T)
		}
	}
	if eta > 0 {
		if st.LastEta == 0 {
			st.Rise.add(1 / eta)
		} else if eta != st.LastEta {
			st.Rise.add(max(1/eta-1/st.LastEta, 0))
		}
		st.LastEta = eta
		st.Spent.add(math.Ldexp(eta*s, 2*e))
	}
	return stepSize{Eta: eta}, st, nil
}

// huge is next for an adaptive rate whose step size is above the largest float64, because all
// subgradients so far are below 1e-300 or so.
func (r Rate) huge(st rateState, s float64, e int) (stepSize, rateState, error) {
	root := math.Sqrt(st.Q.Sum)
	size := stepSize{Eta: r.a / root, Exp: -st.Q.Exp}
	var last float64 // 1/η_{t−1}; that of +Inf counts as 0, which makes the bound larger
	if st.LastEta > 0 {
		last = 1 / st.LastEta
	}
	st.Rise.add(max(size.inverse()-last, 0))
	st.LastEta = math.Inf(1)
	st.Spent.add(math.Ldexp(float64(size.Eta*s), 2*e+size.Exp))
	return size, st, nil
}
