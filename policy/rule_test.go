package policy

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestRuleShares excludes arms: the others have the shares that they would have without it, and n
// is their number.
func TestRuleShares(t *testing.T) {
	scores, widths := []float64{.1, .9, .3, .2}, []float64{.1, math.NaN(), .3, .2}
	for _, kind := range LinearKinds() {
		r := Rule{Kind: kind, Alpha: 1, Gamma: 10, Floor: 0.3}
		got, err := r.Shares(nil, scores, widths, []bool{true, false, true, true})
		if err != nil {
			t.Fatal(err)
		}
		want, err := r.Shares(nil, []float64{.1, .3, .2}, []float64{.1, .3, .2}, nil)
		if err != nil {
			t.Fatal(err)
		}
		want = []float64{want[0], 0, want[1], want[2]}
		if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-15)); diff != "" {
			t.Errorf("%s: %s", kind, diff)
		}
	}
	got, err := Rule{Kind: SquareCB, Gamma: 10}.Shares(nil, []float64{.5, .3, .4}, nil, nil)
	want := []float64{1 - 1./5 - 1./4, 1. / 5, 1. / 4}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-15)); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
}

func TestRuleErrors(t *testing.T) {
	nan, one := math.NaN(), []float64{1, 1}
	for _, c := range []struct {
		rule           Rule
		scores, widths []float64
		allowed        []bool
		text           string
	}{
		{Rule{Kind: "x"}, one, one, nil, "kind"},
		{Rule{Kind: LinUCB, Alpha: -1}, one, one, nil, "alpha"},
		{Rule{Kind: LinUCB}, one, nil, nil, "equal numbers"},
		{Rule{Kind: LinUCB}, one, one, []bool{true}, "equal numbers"},
		{Rule{Kind: SquareCB}, one, one[:1], nil, "equal numbers"},
		{Rule{Kind: SquareCB}, nil, nil, nil, "no arm"},
		{Rule{Kind: LinUCB}, one, one, []bool{false, false}, "no arm"},
		{Rule{Kind: LinUCB}, []float64{1, nan}, one, nil, "arm 1"},
		{Rule{Kind: LinThompson}, one, []float64{1, -1}, nil, "arm 1"},
		{Rule{Kind: LinThompson}, one, []float64{1, nan}, nil, "arm 1"},
		{Rule{Kind: SquareCB}, []float64{1e151, 1}, nil, nil, "arm 0"},
	} {
		if _, err := c.rule.Shares(nil, c.scores, c.widths, c.allowed); err == nil ||
			!strings.Contains(err.Error(), c.text) {
			t.Errorf("%+v: %v, want %q", c, err, c.text)
		}
	}
}
