package oco

import (
	"testing"
)

// TestMiniBatchIsTheMean: the learner inside sees the means of the batches, and its point stays for
// each of them.
func TestMiniBatchIsTheMean(t *testing.T) {
	inner, plain := descent(space(3), nil, Constant(.5)), descent(space(3), nil, Constant(.5))
	l := must(NewMiniBatch(inner, 2))
	for k, g := range g4 {
		nearVector(t, "x", l.Predict(), plain.Predict())
		if err := l.Update(g); err != nil {
			t.Fatal(err)
		}
		if k%2 == 1 {
			mean := make([]float64, 3)
			for i := range mean {
				mean[i] = (g4[k-1][i] + g[i]) / 2
			}
			if err := plain.Update(mean); err != nil {
				t.Fatal(err)
			}
		}
	}
	if l.Rounds() != 4 || inner.Rounds() != 2 {
		t.Errorf("%d rounds, of the learner %d", l.Rounds(), inner.Rounds())
	}
	u := []float64{1, -1, 0}
	near(t, "bound", bound(t, l, u), 2*bound(t, plain, u))
	if err := l.UpdateSparse(Sparse{Index: []uint32{1}, Value: []float64{3}}); err != nil {
		t.Fatal(err)
	}
	near(t, "bound in a batch", bound(t, l, u), 2*bound(t, plain, u)+3*(l.Predict()[1]+1))
	if _, err := NewMiniBatch(inner, 0); err == nil {
		t.Error("batches of no rounds were taken")
	}
}
