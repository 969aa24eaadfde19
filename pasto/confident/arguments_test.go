package confident

import (
	"math"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/pasto/internal/pastotest"
	"github.com/noregret/noregret/pasto/optimum"
)

// An option of 0 is its default, and a negative one none.
func TestZeroAndNegativeOptions(t *testing.T) {
	f := pastotest.Goals(t, 5, false, 0)
	learn := func(o Options) *Learner {
		l, err := New(f, 2, o)
		if err != nil {
			t.Fatal(err)
		}
		pastotest.Play(t, l, pastotest.Toy(t), 2, 200, 1, random.New(1, "zero"))
		return l
	}
	zero := learn(Options{})
	said := learn(Options{Optimism: 2, Caution: .5, HardCaution: 2, Explore: 5, Shrink: 2, ChangeThreshold: 6})
	if zero.String() != said.String() || zero.Deployed()[0] != said.Deployed()[0] {
		t.Errorf("%s is not %s", zero, said)
	}
	none := learn(Options{Caution: -1, Shrink: -1})
	means, _ := none.Estimate()
	best, err := optimum.Maximize(f, means, optimum.Options{})
	if err != nil {
		t.Fatal(err)
	}
	theta := make([]float64, 2)
	means.Mean(theta, none.Deployed())
	if v := f.Value(theta); math.Abs(v-best.Value) > .02 {
		t.Errorf("without caution %v is deployed, the plug-in optimum is %v", v, best.Value)
	}
}
