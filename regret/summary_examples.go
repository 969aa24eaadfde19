package regret

import (
	"context"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/loss"
)

// ExampleSummary is the summary of an [ExampleGame] with losses that have no moments: the number of
// rounds. The game plays its examples in order, over and over, so this number determines how often
// each was played. The best point is sought by the method of [Replay] over the distinct examples,
// starting from the last best point, to a certified gap; the set must be bounded.
type ExampleSummary struct {
	losses []*loss.Example
	n      int
	start  []float64
	g      []float64
	sum    []total
}

func newExampleSummary(losses []*loss.Example) *ExampleSummary {
	d := losses[0].Dim()
	return &ExampleSummary{losses: losses, start: make([]float64, d), g: make([]float64, d), sum: make([]total, d)}
}

// Add implements [Summary], for the game's own losses in their order.
func (s *ExampleSummary) Add(f loss.Function) error {
	if e, ok := f.(*loss.Example); !ok || e != s.losses[s.n%len(s.losses)] {
		return wrongLoss("its game's examples in their order", f)
	}
	s.n++
	return nil
}

// evaluate returns Σ l_t(u) and writes the subgradient to grad unless grad is nil.
func (s *ExampleSummary) evaluate(u, grad []float64) (float64, error) {
	var value total
	if grad != nil {
		clear(s.sum)
	}
	times, more := s.n/len(s.losses), s.n%len(s.losses)
	for i, f := range s.losses {
		w := float64(times)
		if i < more {
			w++
		}
		if w == 0 {
			break // the examples after it were not played either
		}
		value.addProduct(w, f.Value(u))
		if grad != nil {
			f.Subgradient(s.g, u)
			for j, v := range s.g {
				s.sum[j].addProduct(w, v)
			}
		}
	}
	for j := range grad {
		grad[j] = s.sum[j].value()
	}
	return value.value(), nil
}

// Loss implements [Summary].
func (s *ExampleSummary) Loss(u []float64) float64 {
	v, _ := s.evaluate(u, nil) // it never fails
	return v
}

// Best implements [Summary].
func (s *ExampleSummary) Best(dst []float64, set convex.Set) (least, gap float64, err error) {
	if math.IsInf(set.Diameter(), 1) {
		return 0, math.Inf(1), noregret.BadInputf("set",
			"%v is unbounded: the best point of these losses is sought on bounded sets only", set)
	}
	copy(dst, s.start)
	if least, gap, err = minimize(context.Background(), set, dst, s.evaluate); err != nil {
		return 0, math.Inf(1), err
	}
	copy(s.start, dst)
	return least, gap, nil
}

// Reset implements [Summary].
func (s *ExampleSummary) Reset() {
	s.n = 0
	clear(s.start)
}
