package rates

import (
	"slices"
	"testing"

	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/confident"
	"github.com/noregret/noregret/pasto/scenario"
)

// TestRatesDrift: where the best arm and the worst exchange their means slowly, the default deploys
// a mixture that is within a tenth of the optimum on average over the run. A learner that looks for
// no changes does not.
func TestRatesDrift(t *testing.T) {
	for _, name := range []string{"default", "no changes"} {
		spec := find(t, "rates-gradual")
		o := spec.Options()
		if o.Algorithm, o.Runs, o.Seed = name, 40, 3; name == "no changes" {
			o.Algorithm = ""
			o.New = func(f pasto.Objective, arms, _ int, _ []float64) (pasto.Learner, error) {
				c := confident.DefaultOptions()
				c.ChangeThreshold = 0
				return confident.New(f, arms, c)
			}
		}
		r, err := scenario.Play(t.Context(), o, spec)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.At) != 20 || r.Optimum <= r.BestSingle-1e-12 {
			t.Errorf("%s: rounds %v, optimum %v, best arm %v", name, r.At, r.Optimum, r.BestSingle)
		}
		loss := 0.0
		for i, v := range r.Distance.Mean {
			loss += v / float64(r.Best.Mean[i]) / float64(len(r.At))
		}
		t.Logf("%s: mean loss beside the optimum of the round %v", name, loss)
		if good := loss < .1; good == (name == "no changes") {
			t.Errorf("%s loses %v of the optimum", name, loss)
		}
	}
}

func find(t *testing.T, name string) scenario.Spec {
	t.Helper()
	i := slices.IndexFunc(Specs(), func(s scenario.Spec) bool { return s.Name == name })
	if i < 0 {
		t.Fatalf("no scenario %q", name)
	}
	return Specs()[i]
}

// worldOf returns the world of the first run.
func worldOf(t *testing.T, name string, o *scenario.Options) scenario.World {
	t.Helper()
	spec := find(t, name)
	build, _, _, err := spec.Prepare(o)
	if err != nil {
		t.Fatal(err)
	}
	w, err := build(0)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestRatesPhases: means change in the rounds of the family's phases, stretched to the run.
func TestRatesPhases(t *testing.T) {
	sigma := 1.0
	o := scenario.Options{Rounds: 600, Noise: &sigma}
	w := worldOf(t, "rates-reversal", &o)
	var begins []int
	for n := 1; n <= o.Rounds; n++ {
		if w.(scenario.Phased).Begins(n) {
			begins = append(begins, n)
		}
	}
	if len(begins) != 3 || begins[0] != 151 || begins[1] != 301 || begins[2] != 451 {
		t.Errorf("means change in the rounds %v", begins)
	}
	if a, b := w.Means(1).Arm(1)[0], w.Means(200).Arm(4)[0]; a != b || w.Means(400).Arm(1)[0] != a {
		t.Errorf("arm 1 has %v, and arm 4 %v after the exchange", a, b)
	}
}
