package dashboard

import (
	"math"
	"testing"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment/definition"
)

// TestBounds checks that a picture shows what is known at the end, whatever the first versions
// were: also if a narrow interval comes before a wide one.
func TestBounds(t *testing.T) {
	t.Parallel()
	of := func(values ...float64) (out []*float64) {
		for _, v := range values {
			if math.IsNaN(v) {
				out = append(out, nil)
				continue
			}
			out = append(out, &v)
		}
		return out
	}
	zero, none := 0.0, math.NaN()
	for _, test := range []struct {
		name      string
		chart     chart
		low, high float64
	}{
		{
			"bands reach as far as once the range of the end",
			chart{Lines: []chartLine{
				{Values: of(none, 1, 1, 1), Low: of(none, 0.5, -3000, 0.9), High: of(none, 1.5, 50, 1.1)},
				{Level: &zero},
			}},
			-1.1, 2.2,
		},
		{"lines reach four times", chart{Lines: []chartLine{{Values: of(-900, 0.5, 2)}, {Level: &zero}}}, -8, 2},
		{"a constant", chart{Lines: []chartLine{{Values: of(0, 500, 500, none)}}}, 498, 500},
		{
			"a line that ends at a level",
			chart{Lines: []chartLine{
				{Values: of(-900, 0.5, 2, 3, 2.5, 2, 1, 0)}, {Level: &zero},
			}},
			-4, 3,
		},
		{
			"an interval of now",
			chart{Now: []chartInterval{{Low: 1, High: 2}}, Lines: []chartLine{{Level: &zero}}},
			0, 2,
		},
	} {
		low, high, ok := test.chart.bounds()
		if !ok || math.Abs(low-test.low) > 1e-9 || math.Abs(high-test.high) > 1e-9 {
			t.Errorf("%s: [%v, %v], %v, want [%v, %v]", test.name, low, high, ok, test.low, test.high)
		}
	}
	if _, _, ok := (&chart{Lines: []chartLine{{Values: of(none)}}}).bounds(); ok {
		t.Error("bounds of nothing")
	}
}

// TestPicturesThereAre checks that a page has a picture only if there is a chart for it: a
// contextual experiment has an objective and a control arm, and neither a lift nor a value of the
// mixture.
func TestPicturesThereAre(t *testing.T) {
	t.Parallel()
	d := &Dashboard{}
	def := &definition.Definition{Objective: &definition.Objective{}, Control: &definition.Control{Arm: "old"}}
	without := liftHistory(5)
	without.Lift.Control = ""
	for _, r := range []*api.Report{liftHistory(5), without} {
		for _, p := range picturesOf("/experiments/x", axisTime, def, r) {
			if c, err := d.chartOf(p.Name, def, r, mostArms); err != nil || c.Title == "Lift against " {
				t.Errorf("the picture %s: %+v, %v", p.Name, c, err)
			}
		}
	}
}
