package regret

import (
	"context"
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/convex"
)

// Replay finds the best fixed point of an oblivious game over its first rounds by accelerated projected
// gradient descent with restarts (Nesterov 1983; O'Donoghue and Candès 2015), each step one replay of the game
// or a few. The set must be bounded. The gap is F(u) − max_k [F(y_k) + min_V ⟨∇F(y_k), · − y_k⟩]
// over the points y_k visited, which bounds F(u) − min F for subgradients too; for losses with kinks it may
// stay large. It stops at a gap of 1e-9 of the loss, where 30 steps on end bring nothing, or after 3,000 steps.
// The game is left in the middle of a replay.
func Replay(ctx context.Context, game Game, rounds int) (u []float64, value, gap float64, err error) {
	const steps, precision, patience = 3000, 1e-9, 30
	set := game.Set()
	diameter := set.Diameter()
	if math.IsInf(diameter, 1) {
		return nil, 0, 0, noregret.Errorf(noregret.BadInput, "set",
			"%v is unbounded: the best point of this game is sought on bounded sets only", set)
	}
	if rounds < 1 {
		return nil, 0, 0, noregret.Errorf(noregret.Usage, "rounds", "%d: want at least 1", rounds)
	}
	d := set.Dim()
	p := &replay{game: game, rounds: rounds, g: make([]float64, d), sum: make([]total, d)}
	x, y, grad, next := make([]float64, d), make([]float64, d), make([]float64, d), make([]float64, d)
	lowest := make([]float64, d)
	set.Project(x, x)
	copy(y, x)
	best, bestValue, lower := slices.Clone(x), math.Inf(1), math.Inf(-1)
	step, momentum := 0.0, 1.0
	lastGap, stalled := math.Inf(1), 0
	for k := range steps {
		if err := ctx.Err(); err != nil {
			return nil, 0, 0, err
		}
		v, err := p.evaluate(y, grad)
		if err != nil {
			return nil, 0, 0, err
		}
		low, err := set.Minimize(lowest, grad)
		if err != nil {
			return nil, 0, 0, err
		}
		// F ≥ v + ⟨grad, · − y⟩ everywhere: each replay gives a lower bound of the minimum.
		lower = max(lower, v-(convex.Dot(grad, y)-low))
		if v < bestValue {
			bestValue = v
			copy(best, y)
		}
		now := bestValue - lower
		if now < float64(0.99*lastGap) {
			lastGap, stalled = now, 0
		} else if stalled++; stalled >= patience && k > 200 {
			break // rounding, or a kink
		}
		if now <= float64(precision*math.Abs(bestValue)) || convex.Norm2(grad) == 0 {
			break
		}
		if k == 0 {
			step = diameter / convex.Norm2(grad)
		}
		// Backtrack from a little more than the last step until the quadratic model is above F.
		step *= 1.2
		for range 60 {
			w, err := p.advance(set, next, y, grad, step)
			if err != nil {
				return nil, 0, 0, err
			}
			inner, square := along(grad, next, y)
			if w <= v+inner+square/(2*step)+float64(1e-13*math.Abs(v)) {
				if w < bestValue {
					bestValue = w
					copy(best, next)
				}
				break
			}
			step /= 2
		}
		momentum = p.extrapolate(x, y, next, momentum)
		set.Project(y, y)
		x, next = next, x
	}
	return best, bestValue, max(bestValue-lower, 0), nil
}

// advance makes a projected step from y and returns F there.
func (p *replay) advance(set convex.Set, next, y, grad []float64, step float64) (float64, error) {
	for i, g := range grad {
		next[i] = y[i] - float64(step*g)
	}
	set.Project(next, next)
	return p.evaluate(next, nil)
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

// extrapolate sets y beyond next, away from x, and returns the new momentum, which begins again where it points
// uphill.
func (p *replay) extrapolate(x, y, next []float64, momentum float64) float64 {
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

// evaluate is F(u); grad, if not nil, takes a subgradient.
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
