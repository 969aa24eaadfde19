package oco

import (
	"fmt"
	"reflect"

	"github.com/noregret/noregret"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/loss"
)

// Oracle writes a point x_t ∈ argmin_{x∈V} ψ_t(x) + Σ_{i<t} l_i(x) + h_t(x) to dst, for round t =
// 1, 2, ..., the t−1 losses so far and a hint, nil for none. It uses nothing else. The objective at
// dst is at most gap above its minimum.
type Oracle func(dst []float64, t int, losses []loss.Function, hint loss.Function) (gap float64, err error)

// ListMinimizer is the [Minimizer] for losses of any kind: it keeps them all and asks an [Oracle].
// Memory is O(t), allocated a block at a time. Losses of package loss are copied; those of other
// types are kept, and must not change. It serves one learner.
type ListMinimizer struct {
	name   string
	set    convex.Set
	psi    func(t int, x []float64) (value, strongConvexity float64)
	oracle Oracle
	store  lossStore
	losses []loss.Function
}

// NewListMinimizer minimizes over set with an oracle; psi is ψ_t as in [Minimizer], nil for ψ = 0.
// The name goes into snapshots, in place of the functions.
func NewListMinimizer(name string, set convex.Set, psi func(t int, x []float64) (value, strongConvexity float64),
	oracle Oracle,
) (*ListMinimizer, error) {
	if set == nil {
		return nil, noregret.BadInputf("set", "nil: want a set")
	}
	if oracle == nil {
		return nil, noregret.BadInputf("oracle", "nil: want a function")
	}
	if psi == nil {
		psi = func(int, []float64) (float64, float64) { return 0, 0 }
	}
	return &ListMinimizer{name: name, set: set, psi: psi, oracle: oracle}, nil
}

// Set implements [Minimizer].
func (m *ListMinimizer) Set() convex.Set { return m.set }

// Regularizer implements [Minimizer].
func (m *ListMinimizer) Regularizer(t int, x []float64) (value, strongConvexity float64) {
	return m.psi(t, x)
}

// Takes implements [Minimizer].
func (m *ListMinimizer) Takes(int, loss.Function) error { return nil }

// Add implements [Minimizer].
func (m *ListMinimizer) Add(f loss.Function) { m.losses = append(m.losses, m.store.keep(f)) }

// Minimize implements [Minimizer].
func (m *ListMinimizer) Minimize(dst []float64, t int, hint loss.Function) (gap float64, err error) {
	return m.oracle(dst, t, m.losses, hint)
}

// String implements [Minimizer].
func (m *ListMinimizer) String() string { return fmt.Sprintf("list(%s, %v)", m.name, m.set) }

// MarshalBinary implements [Minimizer]. It returns an error for a loss whose type is neither of
// package loss nor registered with [RegisterLoss].
func (m *ListMinimizer) MarshalBinary() ([]byte, error) {
	data, err := snapshot.Seal(snapshotMagic, m.String(), &m.losses)
	if err != nil {
		return nil, noregret.BadInputf("losses", "one cannot be saved: %w", err)
	}
	return data, nil
}

// UnmarshalBinary implements [Minimizer].
func (m *ListMinimizer) UnmarshalBinary(data []byte) error {
	return restore(data, m.String(), &m.losses, func(losses *[]loss.Function) error {
		return remakeAll(*losses, m.set.Dim())
	})
}

// remakeAll rebuilds decoded losses by their constructors, in place.
func remakeAll(losses []loss.Function, d int) error {
	for i, f := range losses {
		f, err := remade(f)
		if err != nil || f == nil || f.Dim() != d {
			return snapshot.Bad("damaged: loss %d is not a loss of dimension %d (%v)", i, d, err)
		}
		losses[i] = f
	}
	return nil
}

// RegisterLoss names the type of f, which is not of package loss, so that [ListMinimizer] and
// [ExactFTRL] can save losses of that type in snapshots. Call it from an init function, with the
// value or pointer that is given to the learner and a name that no other package uses, such as the
// import path and the type's name.
//
// A type that implements [encoding.BinaryMarshaler] and [encoding.BinaryUnmarshaler] writes itself.
// Of any other, the exported fields are saved: numbers, text, vectors and structs of these, and
// losses whose types are registered too. RegisterLoss returns an error if the name or the type is
// registered otherwise.
func RegisterLoss(name string, f loss.Function) error {
	if f == nil {
		return noregret.BadInputf("loss", "nil: a loss is required")
	}
	if err := snapshot.Register(name, f); err != nil {
		return noregret.BadInputf("loss", "cannot be registered: %w", err)
	}
	return nil
}

func init() {
	// Losses in snapshots carry their type's name.
	for _, f := range []any{
		&loss.Linear{}, &loss.Example{}, &loss.SquaredDistance{}, &loss.Ridge{}, &loss.Max{}, &loss.Composite{},
		loss.Squared{},
		loss.Absolute{},
		loss.HingeLoss{},
		loss.SquaredHingeLoss{},
		loss.LogisticLoss{},
		loss.Huber{},
		loss.Quantile{},
		loss.LogLoss{},
	} {
		name := reflect.Indirect(reflect.ValueOf(f)).Type().Name()
		if err := snapshot.Register("loss."+name, f); err != nil {
			panic(err) // no other package uses these names
		}
	}
}

// lossStore copies losses into memory that it allocates a block at a time. Blocks double from one
// loss to 256, so that most rounds allocate nothing and a short run allocates little.
type lossStore struct {
	count     int
	linears   []loss.Linear
	distances []loss.SquaredDistance
	examples  []loss.Example
	values    []float64
}

// largestBlock is the largest number of losses that are allocated at once.
const largestBlock = 256

func carve[T any](block *[]T, n, of int) []T {
	if len(*block) < n {
		*block = make([]T, n*of)
	}
	out := (*block)[:n:n]
	*block = (*block)[n:]
	return out
}

func (k *lossStore) vector(v []float64) []float64 {
	out := carve(&k.values, len(v), k.block())
	copy(out, v)
	return out
}

func (k *lossStore) block() int { return min(k.count+1, largestBlock) }

// keep returns a copy of a loss of package loss that shares nothing with it, and any other loss as
// it is.
func (k *lossStore) keep(f loss.Function) loss.Function {
	k.count++
	switch f := f.(type) {
	case *loss.Linear:
		out := &carve(&k.linears, 1, k.block())[0]
		out.C = k.vector(f.C)
		return out
	case *loss.SquaredDistance:
		out := &carve(&k.distances, 1, k.block())[0]
		out.C = k.vector(f.C)
		return out
	case *loss.Example:
		out := &carve(&k.examples, 1, k.block())[0]
		*out = *f
		out.Z = k.vector(f.Z)
		return out
	case *loss.Ridge:
		return &loss.Ridge{F: k.keep(f.F), Lambda: f.Lambda}
	case *loss.Max:
		out := &loss.Max{F: make([]loss.Function, len(f.F))}
		for i, part := range f.F {
			out.F[i] = k.keep(part)
		}
		return out
	case *loss.Composite:
		return &loss.Composite{F: k.keep(f.F), Lambda: f.Lambda}
	}
	return f
}

// remade rebuilds a decoded loss by its constructor.
func remade(f loss.Function) (loss.Function, error) {
	switch f := f.(type) {
	case *loss.Linear:
		return loss.NewLinear(f.C)
	case *loss.Example:
		return loss.NewExample(f.Z, f.Y, f.Loss)
	case *loss.SquaredDistance:
		return loss.NewSquaredDistance(f.C)
	case *loss.Ridge:
		inner, err := remade(f.F)
		if err != nil {
			return nil, err
		}
		return loss.NewRidge(inner, f.Lambda)
	case *loss.Max:
		parts := make([]loss.Function, len(f.F))
		for i, p := range f.F {
			var err error
			if parts[i], err = remade(p); err != nil {
				return nil, err
			}
		}
		return loss.NewMax(parts...)
	case *loss.Composite:
		inner, err := remade(f.F)
		if err != nil {
			return nil, err
		}
		return loss.NewComposite(inner, f.Lambda)
	}
	return f, nil
}
