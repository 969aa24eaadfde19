package play

import (
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/drift"
	"github.com/noregret/noregret/internal/random"
)

// CostPlayer lets a learner that observes costs play against the referee of package regret, which
// gives it the value of each loss at its point and no subgradient. It is not safe for concurrent
// use.
type CostPlayer struct {
	learner drift.CostLearner
	r       *random.Source
	x       []float64 // the point of the round that has begun, nil if none has
	failed  error
}

// costStream is the stream of the random numbers of a [CostPlayer].
const costStream = "play/costs"

// NewCostPlayer returns a player for a learner that is between two rounds. Its random numbers come
// from the seed.
func NewCostPlayer(learner drift.CostLearner, seed uint64) (*CostPlayer, error) {
	if learner == nil {
		return nil, noregret.BadInputf("learner", "nil: want a learner")
	}
	return &CostPlayer{learner: learner, r: random.New(seed, costStream)}, nil
}

// Dim implements regret.Player.
func (p *CostPlayer) Dim() int { return p.learner.Dim() }

// Predict implements regret.Player. The first call of a round draws the point.
func (p *CostPlayer) Predict() []float64 {
	if p.x != nil {
		return p.x
	}
	x, err := p.learner.Play(p.r)
	if err != nil {
		p.failed = err
		return make([]float64, p.Dim())
	}
	p.x = x
	return x
}

// UpdateCost ends the round with the cost of the point.
func (p *CostPlayer) UpdateCost(v float64) error {
	if p.failed != nil {
		return p.failed
	}
	if p.x == nil {
		p.Predict()
	}
	if err := p.learner.Observe(v); err != nil {
		return err
	}
	p.x = nil
	return nil
}

// Update returns an error: the learner has no use for subgradients.
func (p *CostPlayer) Update([]float64) error {
	return noregret.BadInputf("gradient", "a subgradient for a learner that observes costs: want its cost")
}

// DynamicBound is the learner's, +Inf if it has none.
func (p *CostPlayer) DynamicBound(variation float64) (float64, error) {
	if b, ok := p.learner.(drift.DynamicBounder); ok {
		return b.DynamicBound(variation)
	}
	return math.Inf(1), nil
}
