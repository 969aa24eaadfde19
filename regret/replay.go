package regret

import (
	"context"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/vec"
)

// Replay finds the best fixed point of an oblivious game over its first rounds by accelerated
// projected gradient descent with restarts (Nesterov 1983; O'Donoghue and Candès 2015), each step
// one replay of the game or a few. The set must be bounded. The gap is F(u) − max_k [F(y_k) + min_V
// ⟨∇F(y_k), · − y_k⟩] over the points y_k visited, which bounds F(u) − min F for subgradients too;
// for losses with kinks it may stay large. It stops at a gap of 1e-9 of the loss, after 30
// consecutive steps without progress, or after 3,000 steps. Afterwards the game is in the middle of
// a replay.
func Replay(ctx context.Context, game Game, rounds int) (u []float64, value, gap float64, err error) {
	set := game.Set()
	if math.IsInf(set.Diameter(), 1) {
		return nil, 0, 0, noregret.BadInputf("set",
			"%v is unbounded: the best point of this game is sought on bounded sets only", set)
	}
	if rounds < 1 {
		return nil, 0, 0, noregret.Errorf(noregret.Usage, "rounds", "%d: want at least 1", rounds)
	}
	d := set.Dim()
	u = make([]float64, d)
	p := &replay{game: game, rounds: rounds, g: make([]float64, d), sum: make([]total, d)}
	value, gap, err = minimize(ctx, set, u, p.evaluate)
	if err != nil {
		return nil, 0, 0, err
	}
	return u, value, gap, nil
}

// objective is a convex function; it writes a subgradient to grad unless grad is nil.
type objective func(u, grad []float64) (float64, error)

// minimize minimizes f over a bounded set, starting from the projection of u, and writes the point
// found to u. See [Replay].
func minimize(ctx context.Context, set convex.Set, u []float64, f objective) (value, gap float64, err error) {
	const steps, precision, patience = 3000, 1e-9, 30
	d := set.Dim()
	x, y, grad, next := make([]float64, d), make([]float64, d), make([]float64, d), make([]float64, d)
	lowest := make([]float64, d)
	set.Project(x, u)
	copy(y, x)
	value, lower := math.Inf(1), math.Inf(-1)
	step, momentum := 0.0, 1.0
	lastGap, stalled := math.Inf(1), 0
	for k := range steps {
		if err := ctx.Err(); err != nil {
			return 0, 0, err
		}
		v, err := f(y, grad)
		if err != nil {
			return 0, 0, err
		}
		low, err := set.Minimize(lowest, grad)
		if err != nil {
			return 0, 0, err
		}
		// F ≥ v + ⟨grad, · − y⟩ everywhere: each step gives a lower bound of the minimum.
		lower = max(lower, v-(vec.Dot(grad, y)-low))
		if v < value {
			value = v
			copy(u, y)
		}
		now := value - lower
		if now < float64(0.99*lastGap) {
			lastGap, stalled = now, 0
		} else if stalled++; stalled >= patience && k > 200 {
			break // rounding, or a kink
		}
		if now <= float64(precision*math.Abs(value)) || vec.Norm2(grad) == 0 {
			break
		}
		if k == 0 {
			step = set.Diameter() / vec.Norm2(grad)
		}
		// Backtrack from a little more than the last step until the quadratic model is above F.
		step *= 1.2
		for range 60 {
			for i, g := range grad {
				next[i] = y[i] - float64(step*g)
			}
			set.Project(next, next)
			w, err := f(next, nil)
			if err != nil {
				return 0, 0, err
			}
			inner, square := along(grad, next, y)
			if w <= v+inner+square/(2*step)+float64(1e-13*math.Abs(v)) {
				if w < value {
					value = w
					copy(u, next)
				}
				break
			}
			step /= 2
		}
		momentum = extrapolate(x, y, next, momentum)
		set.Project(y, y)
		x, next = next, x
	}
	return value, max(value-lower, 0), nil
}

// along is ⟨grad, next − y⟩ and ‖next − y‖².
func along(grad, next, y []float64) (inner, square float64) {
	for i := range next {
		m := next[i] - y[i]
		inner += float64(grad[i] * m)
		square += float64(m * m)
	}
	return inner, square
}

// extrapolate sets y beyond next, away from x, and returns the new momentum, which is reset if it
// points uphill.
func extrapolate(x, y, next []float64, momentum float64) float64 {
	var pull float64
	for i := range next {
		pull += float64((y[i] - next[i]) * (next[i] - x[i]))
	}
	if pull > 0 {
		momentum = 1
	}
	after := (1 + math.Sqrt(1+float64(float64(4*momentum)*momentum))) / 2
	beta := (momentum - 1) / after
	for i := range next {
		y[i] = next[i] + float64(beta*(next[i]-x[i]))
	}
	return after
}

// replay evaluates the sum of a game's losses.
type replay struct {
	game   Game
	rounds int
	g      []float64
	sum    []total
}

// evaluate returns F(u) and writes a subgradient to grad unless grad is nil.
func (p *replay) evaluate(u, grad []float64) (float64, error) {
	p.game.Restart()
	clear(p.sum)
	var value total
	for range p.rounds {
		_ = p.game.Features()
		f, err := p.game.Next(u)
		if err != nil {
			return 0, err
		}
		value.add(f.Value(u))
		if grad != nil {
			f.Subgradient(p.g, u)
			for i, v := range p.g {
				p.sum[i].add(v)
			}
		}
	}
	for i := range grad {
		grad[i] = p.sum[i].value()
	}
	return value.value(), nil
}
