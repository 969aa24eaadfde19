package classify

import (
	"context"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify/measure"
)

func TestDataIsChecked(t *testing.T) {
	ctx := context.Background()
	good := asData(t, stream(56, 100))
	m := Linear{Weights: make([]float64, 13)}
	for name, d := range map[string]Data{
		"no set": {}, "no such label": {Set: good.Set, Positive: 7},
		"negative label": {Set: good.Set, Positive: -1},
	} {
		if _, err := Evaluate(ctx, d, m.Classifier()); noregret.CodeOf(err) != noregret.Usage {
			t.Errorf("Evaluate, %s: %v", name, err)
		}
		if _, _, err := Tune(ctx, d, &m, measure.GMean{}); noregret.CodeOf(err) != noregret.Usage {
			t.Errorf("Tune, %s: %v", name, err)
		}
		if _, err := Fit(ctx, d, Options{Measure: measure.GMean{}}); noregret.CodeOf(err) != noregret.Usage {
			t.Errorf("Fit, %s: %v", name, err)
		}
	}
}
