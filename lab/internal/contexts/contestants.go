package contexts

import (
	"fmt"
	"math"

	"github.com/noregret/noregret/bandit/contextual"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/oco"
	"github.com/noregret/noregret/policy"
)

// player plays an order and returns the sum of its losses.
type player func(p *problem, r *random.Source) (float64, error)

type contestant struct {
	name string
	play player
}

// contestants are in the order of the table.
var contestants = []contestant{
	{"uniform", func(p *problem, _ *random.Source) (float64, error) {
		return float64(len(p.x)) * (1 - 1/float64(p.classes)), nil
	}},
	{"best constant arm", bestConstant},
	{"LinUCB, α = 1", linUCB(1)},
	{"LinUCB, α = 0.3", linUCB(0.3)},
	{"LinUCB, α = 0.1", linUCB(0.1)},
	{"linear Thompson, α = 1", thompson(1)},
	{"linear Thompson, α = 0.3", thompson(0.3)},
	{"linear Thompson, α = 0.1", thompson(0.1)},
	{"SquareCB over ridge, γ = √(K·n)", squareCB(1, ridge)},
	{"SquareCB over ridge, γ = 10·√(K·n)", squareCB(10, ridge)},
	{"SquareCB over FreeGrad, γ = 10·√(K·n)", squareCB(10, freeGrad)},
	{"service, lin-ucb", batched(policy.LinUCB)},
	{"service, lin-thompson", batched(policy.LinThompson)},
	{"service, squarecb", batched(policy.SquareCB)},
	{"ridge, full information", fullRidge},
	{"SGD, full information", fullSGD},
}

// bestConstant is the loss of the arm that is best in hindsight.
func bestConstant(p *problem, _ *random.Source) (float64, error) {
	count := make([]float64, p.classes)
	for _, c := range p.class {
		count[c]++
	}
	_, most := vec.ArgMax(count)
	return float64(len(p.x)) - most, nil
}

// playAll plays every round with immediate rewards.
func playAll(p *problem, r *random.Source, player contextual.Player) (float64, error) {
	loss := 0.0
	for i, x := range p.x {
		choice, err := player.Draw(r, contextual.Context{X: x})
		if err != nil {
			return 0, err
		}
		reward := 0.0
		if choice.Arm == p.class[i] {
			reward = 1
		}
		loss += 1 - reward
		if err := player.Update(choice.ID, reward); err != nil {
			return 0, err
		}
	}
	return loss, nil
}

func (p *problem) linear(alpha float64) contextual.LinearOptions {
	o := contextual.DefaultLinearOptions(p.classes, len(p.x[0]))
	o.Pending, o.Alpha = 1, alpha
	return o
}

func linUCB(alpha float64) player {
	return func(p *problem, r *random.Source) (float64, error) {
		player, err := contextual.NewLinUCB(p.linear(alpha))
		if err != nil {
			return 0, err
		}
		return playAll(p, r, player)
	}
}

func thompson(alpha float64) player {
	return func(p *problem, r *random.Source) (float64, error) {
		player, err := contextual.NewLinThompson(p.linear(alpha))
		if err != nil {
			return 0, err
		}
		return playAll(p, r, player)
	}
}

func squareCB(rate float64, regressor func(dim int) (contextual.Regressor, error)) player {
	return func(p *problem, r *random.Source) (float64, error) {
		o := contextual.DefaultSquareCBOptions(p.classes, len(p.x[0]))
		o.Pending, o.Gamma = 1, rate*math.Sqrt(float64(p.classes))
		player, err := contextual.NewSquareCB(o, func() (contextual.Regressor, error) { return regressor(len(p.x[0])) })
		if err != nil {
			return 0, err
		}
		return playAll(p, r, player)
	}
}

func ridge(dim int) (contextual.Regressor, error) { return contextual.NewRidge(dim, 1) }

// freeGrad is regression by FreeGrad, a learner without a rate that knows neither the scale of the
// weights nor that of the subgradients.
func freeGrad(dim int) (contextual.Regressor, error) {
	steps, err := oco.NewFreeGrad(dim, 1)
	if err != nil {
		return nil, err
	}
	return contextual.NewDescent(steps, 0, 1)
}

// batched plays rounds of 500 decisions with the learner of the decision service: the policy of a
// round has seen the rewards of all rounds before.
func batched(kind string) player {
	return func(p *problem, r *random.Source) (float64, error) {
		o := contextual.DefaultLearnerOptions(kind, nil, p.classes)
		for i := range p.x[0][1:] { // the vectors are made here: the ranges do not matter
			o.Features = append(o.Features, policy.Feature{
				Name: fmt.Sprint("f", i), Kind: policy.Number, Range: policy.Range{-1, 1},
			})
		}
		l, err := contextual.NewLearner(o)
		if err != nil {
			return 0, err
		}
		loss, shares := 0.0, []float64(nil)
		for from := 0; from < len(p.x); from += 500 {
			to := min(from+500, len(p.x))
			rule, err := l.Seal()
			if err != nil {
				return 0, err
			}
			for i := from; i < to; i++ {
				if shares, err = rule.Distribution(shares, p.x[i]); err != nil {
					return 0, err
				}
				arm, reward := draw(shares, r.Float64()), 0.0
				if arm == p.class[i] {
					reward = 1
				}
				loss += 1 - reward
				if err := l.Observe(arm, p.x[i], reward, 1); err != nil {
					return 0, err
				}
			}
		}
		return loss, nil
	}
}

func draw(p []float64, u float64) int {
	for k, v := range p {
		if u -= v; u < 0 {
			return k
		}
	}
	return len(p) - 1
}

// fullRidge sees the class after each round: ridge regression of each class's indicator.
func fullRidge(p *problem, _ *random.Source) (float64, error) {
	models, scores, loss := make([]*contextual.Ridge, p.classes), make([]float64, p.classes), 0.0
	for k := range models {
		var err error
		if models[k], err = contextual.NewRidge(len(p.x[0]), 1); err != nil {
			return 0, err
		}
	}
	for i, x := range p.x {
		for k, m := range models {
			var err error
			if scores[k], err = m.Predict(x); err != nil {
				return 0, err
			}
		}
		if k, _ := vec.ArgMax(scores); k != p.class[i] {
			loss++
		}
		for k, m := range models {
			y := 0.0
			if k == p.class[i] {
				y = 1
			}
			if err := m.Update(x, y, 1); err != nil {
				return 0, err
			}
		}
	}
	return loss, nil
}

// fullSGD sees the class after each round: multinomial logistic regression by stochastic gradient
// descent with the steps c/√t, for the best c of 1, 3, 10, 30 and 100 in hindsight.
func fullSGD(p *problem, _ *random.Source) (float64, error) {
	best := math.Inf(1)
	for _, rate := range []float64{1, 3, 10, 30, 100} {
		best = min(best, p.sgd(rate))
	}
	return best, nil
}

func (p *problem) sgd(rate float64) float64 {
	w, scores, loss := make([][]float64, p.classes), make([]float64, p.classes), 0.0
	for k := range w {
		w[k] = make([]float64, len(p.x[0]))
	}
	for i, x := range p.x {
		for k := range w {
			scores[k] = vec.Dot(x, w[k])
		}
		arm, top := vec.ArgMax(scores)
		if arm != p.class[i] {
			loss++
		}
		total := 0.0
		for k, s := range scores {
			scores[k] = portable.Exp(s - top)
			total += scores[k]
		}
		for k := range w {
			g := scores[k] / total
			if k == p.class[i] {
				g--
			}
			vec.AddScaled(w[k], -rate*g/math.Sqrt(float64(i+1)), x)
		}
	}
	return loss
}
