package plan

import (
	"context"
	"strings"
	"testing"

	"github.com/noregret/noregret/internal/testsize"
)

// TestRamp checks that the closed form waits for the gates of a ramp, one by one, and then agrees
// with the simulation on the day of the gain within a factor of two.
func TestRamp(t *testing.T) {
	text := strings.Replace(learned, "round: {length: 2h}", "round: {length: 2h}\nguardrails: [{metric: clicks, "+
		"min_change: -0.1}]\nramp: [{share: 0.01, time: 48h}, {share: 0.1, units: 400000}, {share: 0.25, guardrails: "+
		"held}]", 1)
	o := DefaultOptions()
	o.Runs, o.Horizon = testsize.Of(10, 3), 28
	r, err := Compute(context.Background(), parse(t, text), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Ramp) != 3 || r.Ramp[0] == nil || r.Ramp[1] == nil || r.Ramp[2] == nil {
		t.Fatalf("the stages end at %v", r.Ramp)
	}
	const round = 2.0 / 24
	if a, b := *r.Ramp[0], *r.Ramp[1]; a < 2-1e-9 || a >= 2+round/2 || b-a < 1-1e-9 || b-a >= 1+round/2 {
		t.Errorf("the stages end after %v and %v days, want 2 and 3 for their time and units", a, b)
	}
	without, err := Compute(context.Background(), parse(t, text[:strings.Index(text, "ramp:")]+
		text[strings.Index(text, "attribution_window"):]), Options{})
	if err != nil {
		t.Fatal(err)
	}
	gain := r.Gain.Days
	if gain.ClosedForm == nil || gain.Simulated == nil || *gain.ClosedForm < *r.Ramp[2] {
		t.Fatalf("the gain is served after %v, the ramp ends after %v", gain, *r.Ramp[2])
	}
	if *without.Gain.Days.ClosedForm > *gain.ClosedForm-2.5 || without.Ramp != nil || without.WithoutRamp != nil {
		t.Errorf("%v days without the ramp, %v with it", *without.Gain.Days.ClosedForm, *gain.ClosedForm)
	}
	if ratio := *gain.Simulated / *gain.ClosedForm; ratio < 0.5 || ratio > 2 {
		t.Errorf("%v days in closed form, %v simulated", *gain.ClosedForm, *gain.Simulated)
	}
	if len(r.WithoutRamp) != 1 || r.WithoutRamp[0] != "effects" {
		t.Errorf("without the ramp: %v", r.WithoutRamp)
	}
	t.Logf("stages until %v, %v, %v; gain %v, simulated %v", *r.Ramp[0], *r.Ramp[1], *r.Ramp[2], *gain.ClosedForm,
		*gain.Simulated)
}
