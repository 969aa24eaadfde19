package regret_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/noregret/noregret/regret"
)

func TestExamplesAreUsed(t *testing.T) {
	rows := []regret.Example{{[]float64{3, 4}, 1}, {[]float64{0, 1}, -1}}
	e := must(regret.FindGame("classification"))
	g, f, err := e.New(regret.GameParams{Examples: rows})
	if err != nil {
		t.Fatal(err)
	}
	if g.Set().Dim() != 2 || f.Lipschitz != 1 {
		t.Errorf("dimension %d, Lipschitz %v", g.Set().Dim(), f.Lipschitz)
	}
	x := []float64{1, 1}
	for round, want := range []float64{1.4, -.2, 1.4} {
		near(t, fmt.Sprintf("loss of round %d", round+1), must(g.Next(x)).Value(x), math.Log1p(math.Exp(-want)))
	}
	if rows[0].Z[0] != 3 {
		t.Error("the examples were scaled in place")
	}
	if _, _, err := e.New(regret.GameParams{Examples: rows, Dim: 3}); err == nil {
		t.Error("examples of another dimension were accepted")
	}
	g, f, err = must(regret.FindGame("regression")).New(regret.GameParams{Examples: rows})
	if err != nil || !f.Features || !slices.Equal(g.Features(), []float64{3, 4}) {
		t.Errorf("features %v, %v", g.Features(), err)
	}
}
