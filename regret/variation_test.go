package regret_test

import (
	"cmp"
	"math"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/loss"
	"github.com/noregret/noregret/regret"
)

// TestEstimateVariation: jumps are found exactly without noise, and nearly with noise; noise alone
// is no variation.
func TestEstimateVariation(t *testing.T) {
	level := []float64{0, 1, 1, 0.5, 0.5, 0.5, 2, 2}
	stream := func(noise float64, still bool) []float64 {
		r := random.New(5, "stream")
		var costs []float64
		for _, v := range level {
			if still {
				v = 1
			}
			for range 100 {
				costs = append(costs, v+noise*stat.Normal(r))
			}
		}
		return append(costs, 7) // beyond the last batch
	}
	near(t, "without noise", must(regret.EstimateVariation(stream(0, false), 100)), 3)
	if v := must(regret.EstimateVariation(stream(1, true), 100)); !(v < 0.4) {
		t.Errorf("noise alone has variation %v", v)
	}
	raw := 7 * 2 / math.Sqrt(math.Pi*100) // what noise alone would add
	if v := must(regret.EstimateVariation(stream(1, false), 100)); !(math.Abs(v-3) < 0.8*raw) {
		t.Errorf("with noise %v, want about 3", v)
	}
	for name, c := range map[string]struct {
		costs []float64
		batch int
	}{
		"batch of 1": {make([]float64, 10), 1}, "one batch": {make([]float64, 10), 6},
		"NaN": {[]float64{0, 0, 0, math.NaN()}, 2},
	} {
		if _, err := regret.EstimateVariation(c.costs, c.batch); noregret.CodeOf(err) != noregret.BadInput {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// corner is 2|x|, on [−2, 2] the largest convex function that is at most x² at 0 and at both ends.
type corner struct{}

func (corner) Dim() int                     { return 1 }
func (corner) Value(x []float64) float64    { return 2 * math.Abs(x[0]) }
func (corner) Subgradient(dst, x []float64) { dst[0] = 2 * float64(cmp.Compare(x[0], 0)) }
func (corner) Clone() loss.Function         { return corner{} }

// TestVariationBetweenMinimizers: 2|x| − x² is 0 at both minimizers and at both ends of [−2, 2],
// where the search looks, and 1 at the minimizer of the third loss.
func TestVariationBetweenMinimizers(t *testing.T) {
	set := must(convex.NewCube(1, -2, 2))
	v := must(regret.VariationOf(set, []loss.Function{
		must(loss.NewSquaredDistance([]float64{0})), corner{}, must(loss.NewSquaredDistance([]float64{1})),
	}))
	// (x − 1)² − 2|x| is 5 at −2; on the hull [0, 1] it is 1 at 0 and −2 at 1.
	near(t, "total", v.Total, 1+5)
	near(t, "hull", v.Hull, 1+2)
	if v.Exact {
		t.Error("an estimate is called exact")
	}
}
