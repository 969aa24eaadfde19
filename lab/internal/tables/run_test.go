package tables

import (
	"os"
	"testing"

	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/scenario"
)

func full() bool { return os.Getenv("NOREGRET_FULL") != "" }

func run(t testing.TB, o scenario.Options) *scenario.Result {
	t.Helper()
	r, err := scenario.Run(t.Context(), own(t, o))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// own fills in the algorithm, the numbers of runs and rounds and the iterate that o leaves out with
// those of the scenario, "a" if there is none.
func own(t testing.TB, o scenario.Options) scenario.Options {
	t.Helper()
	if o.Scenario == "" {
		o.Scenario = "a"
	}
	d, err := scenario.DefaultOptions(o.Scenario)
	if err != nil {
		t.Fatal(err)
	}
	if o.Algorithm == "" {
		o.Algorithm = d.Algorithm
	}
	if o.Runs == 0 {
		o.Runs = d.Runs
	}
	if o.Rounds == 0 {
		o.Rounds = d.Rounds
	}
	if o.Iterate == "" {
		o.Iterate = d.Iterate
	}
	return o
}

func sigma(v float64) *float64 { return &v }

func table(rows ...[]float64) *pasto.Table {
	t, err := pasto.TableOf(rows...)
	if err != nil {
		panic(err) // constants of this package
	}
	return t
}
