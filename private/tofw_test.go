package private

import (
	"errors"
	"testing"

	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/internal/vec"
)

// testNoise is tree noise for (1, 1e-4) from a seed.
func testNoise(seed uint64) Noise {
	return Noise{
		Kind: dp.Tree, Protection: dp.PerRecord(), Budget: must(dp.GDPBudget(1, 1e-4)),
		Options: []dp.Option{dp.WithInsecureDeterministicNoiseForTesting(seed)},
	}
}

// TestSumAfterRestoring: a learner that goes back to a snapshot does not show the sum of a step
// that the snapshot does not know.
func TestSumAfterRestoring(t *testing.T) {
	l := must(NewTOFW(NewProblem(must(NewBall(2, 2, 1)), Squared(), 1, 1, 5), testNoise(1)))
	start := must(l.MarshalBinary())
	if err := errors.Join(l.Step([]float64{1, 0}, 1), l.UnmarshalBinary(start)); err != nil {
		t.Fatal(err)
	}
	if !vec.IsZero(l.Sum()) || l.Steps() != 0 {
		t.Errorf("the sum is %v after %d steps", l.Sum(), l.Steps())
	}
}
