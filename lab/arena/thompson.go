package arena

import (
	"math"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/pasto"
)

// thompsonDraws is the number of draws by which the probabilities of being best are estimated in
// each round.
const thompsonDraws = 100

// thompson is Thompson sampling of single arms with normal posteriors (Agrawal and Goyal, "Further
// optimal regret bounds for Thompson sampling", 2013): an arm's share is the probability that its
// priced value is the largest. A standard deviation, over the arms, of the values in a hard
// guardrail has the price of two standard deviations of the arms' rewards.
type thompson struct {
	goals  *pasto.Goals
	source *random.Source
	theta  []float64
}

func newThompson(task *Task) (estimator, policy) {
	return newTally(task), &thompson{
		goals: task.Goals, source: random.New(task.Seed, "arena: thompson"), theta: make([]float64, task.Goals.Dim()),
	}
}

// plan implements policy. It serves arms without data alike until there are none.
func (h *thompson) plan(_ int, e *estimates, serving, deployed []float64) error {
	if !e.all() {
		uniform(serving)
		return nil
	}
	prices := h.prices(e)
	clear(serving)
	for range thompsonDraws {
		best, value := 0, math.Inf(-1)
		for k := range serving {
			if v := h.value(e, k, prices, true); v > value {
				best, value = k, v
			}
		}
		serving[best] += 1.0 / thompsonDraws
	}
	best, value := 0, math.Inf(-1)
	for k := range deployed {
		if v := h.value(e, k, prices, false); v > value {
			best, value = k, v
		}
	}
	only(deployed, best)
	return nil
}

// prices returns the price of a unit of violation by metric, 0 for others than hard guardrails.
func (h *thompson) prices(e *estimates) []float64 {
	prices, rewards, column := make([]float64, h.goals.Dim()), make([]float64, len(e.seen)),
		make([]float64, len(e.seen))
	for k := range rewards {
		rewards[k] = h.goals.Reward(e.mean.Arm(k))
	}
	for m := range prices {
		if !h.goals.Metrics()[m].Hard {
			continue
		}
		for k := range column {
			column[k] = e.mean.Arm(k)[m]
		}
		if d := deviation(column); d > 0 {
			prices[m] = 2 * deviation(rewards) / d
		}
	}
	return prices
}

// value returns arm k's reward less the price of its violations, drawn from the posterior or at its
// mean.
func (h *thompson) value(e *estimates, k int, prices []float64, draw bool) float64 {
	for m := range h.theta {
		h.theta[m] = e.mean.Arm(k)[m]
		if draw {
			h.theta[m] += float64(e.error.Arm(k)[m] * stat.Normal(h.source))
		}
	}
	v := h.goals.Reward(h.theta)
	for m, price := range prices {
		if price > 0 {
			v -= float64(price * h.goals.Metrics()[m].Violation(h.theta[m]))
		}
	}
	return v
}

// deviation is the standard deviation of the values.
func deviation(x []float64) float64 {
	mean, square := 0.0, 0.0
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		square += float64((v-mean)*(v-mean)) / float64(len(x))
	}
	return math.Sqrt(square)
}
