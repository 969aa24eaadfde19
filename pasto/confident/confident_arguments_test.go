package confident

import (
	"math"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/pasto/internal/pastotest"
	"github.com/noregret/noregret/pasto/optimum"
)

// The zero options are refused: DefaultOptions are those to start from.
func TestZeroOptions(t *testing.T) {
	f := pastotest.Goals(t, 5, false, 0)
	learn := func(o Options) *Learner {
		l, err := New(f, 2, o)
		if err != nil {
			t.Fatal(err)
		}
		pastotest.Play(t, l, pastotest.Toy(t), 2, 200, 1, random.New(1, "zero"))
		return l
	}
	if _, err := New(f, 2, Options{}); noregret.CodeOf(err) != noregret.BadInput {
		t.Errorf("the zero options are taken: %v", err)
	}
	o := DefaultOptions()
	o.Caution = 0
	none := learn(o)
	means, _ := none.Estimate()
	best, err := optimum.Maximize(f, means, optimum.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	theta := make([]float64, 2)
	means.Mean(theta, none.Deployed())
	if v := f.Value(theta); math.Abs(v-best.Value) > .02 {
		t.Errorf("without caution %v is deployed, the plug-in optimum is %v", v, best.Value)
	}
}
