package boxes

import (
	"testing"

	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/pasto/box"
)

// At 20,000 units a round the learner deploys at least as much of the gain as the response surface
// with the same caution after 200 rounds, serves more of it meanwhile, and breaks the guardrail in
// few rounds.
func TestSurfaceAgainstPeer(t *testing.T) {
	testsize.NoRace(t)
	runs := testsize.Of(8, 2)
	for d := 1; d <= testsize.Of(3, 1); d++ {
		var deployed, served, broken [2]float64
		n := float64(runs * len(Kinds))
		for kind := range Kinds {
			for seed := range uint64(runs) {
				w, err := New(kind, d, 100+seed)
				if err != nil {
					t.Fatal(err)
				}
				lower, upper := make([]float64, d), make([]float64, d)
				for i := range upper {
					upper[i] = 1
				}
				o := box.DefaultOptions(d)
				l, err := box.New(w.Goals, lower, upper, o)
				if err != nil {
					t.Fatal(err)
				}
				for i, l := range []Learner{l, NewPeer(w.Goals, d, o.HardCaution, seed)} {
					s, err := w.Play(l, 200, 20_000, seed)
					if err != nil {
						t.Fatal(err)
					}
					deployed[i] += s.Deployed / n
					served[i] += s.Served / n
					broken[i] += s.BrokenRounds / n
				}
			}
		}
		t.Logf("dimension %d: deployed %.3f, served %.3f, broken rounds %.3f; peer %.3f, %.3f, %.3f", d, deployed[0],
			served[0], broken[0], deployed[1], served[1], broken[1])
		if deployed[0] < deployed[1]-.01 || deployed[0] < .9 || served[0] < served[1]+.05 || broken[0] > .1 {
			t.Errorf("dimension %d: deployed %.3f, served %.3f, broken rounds %.3f; peer %.3f, %.3f, %.3f", d,
				deployed[0],
				served[0], broken[0], deployed[1], served[1], broken[1])
		}
	}
}
