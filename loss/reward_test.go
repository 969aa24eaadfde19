package loss_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/loss"
	"pgregory.net/rapid"
)

func rewards(t testing.TB) []loss.Reward {
	t.Helper()
	var out []loss.Reward
	for _, name := range []string{
		"hinge", "logistic", "squared-hinge", "smoothed-hinge", "smoothed-hinge:0.1",
		"smoothed-hinge:1",
	} {
		r, err := loss.ParseReward(name)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

// TestLogisticValues compares with values computed independently.
func TestLogisticValues(t *testing.T) {
	for _, tc := range []struct{ m, r, d float64 }{
		{0.5, .3160514859, .5446760506},
		{-2, -2.0685084939, 1.2707215764},
		{2, .8168815879, .1719734645},
		{-40, -56.7078016356, 1 / math.Ln2},
	} {
		if got := (loss.Logistic{}).Value(tc.m); math.Abs(got-tc.r) > 5e-11*max(1, math.Abs(tc.r)) {
			t.Errorf("r(%v) = %.10f, want %.10f", tc.m, got, tc.r)
		}
		if got := (loss.Logistic{}).Derivative(tc.m); math.Abs(got-tc.d) > 5e-11 {
			t.Errorf("r'(%v) = %.10f, want %.10f", tc.m, got, tc.d)
		}
	}
	if v := (loss.Logistic{}).Value(-1e6); math.IsInf(v, 0) || math.IsNaN(v) {
		t.Errorf("r(-1e6) = %v", v)
	}
}

// Every reward is concave, non-decreasing, at most 1, and its derivative is a supergradient.
func TestRewardProperties(t *testing.T) {
	for _, r := range rewards(t) {
		rapid.Check(t, func(t *rapid.T) {
			a := rapid.Float64Range(-50, 50).Draw(t, "a")
			b := rapid.Float64Range(-50, 50).Draw(t, "b")
			const eps = 1e-9
			if r.Value(b) > r.Value(a)+r.Derivative(a)*(b-a)+eps {
				t.Fatalf("%s: r(%v) lies above the tangent at %v", r.Name(), b, a)
			}
			if a < b && r.Value(a) > r.Value(b)+eps {
				t.Fatalf("%s decreases from %v to %v", r.Name(), a, b)
			}
			if r.Value(a) > 1 {
				t.Fatalf("%s: r(%v) = %v > 1", r.Name(), a, r.Value(a))
			}
		})
	}
}

// Hinge, logistic and squared hinge are lower bounds of 1{m > 0}; the smoothed hinge is not, and
// a natural-log logistic reward would not be.
func TestLowerBounds(t *testing.T) {
	for _, r := range []loss.Reward{loss.Hinge{}, loss.Logistic{}, loss.SquaredHinge{}} {
		for m := -5.0; m <= 5; m += 0.001 {
			if r.Value(m) > (loss.ZeroOne{}).Value(m)+1e-12 {
				t.Errorf("%s: r(%v) = %v exceeds the 0/1 reward", r.Name(), m, r.Value(m))
				break
			}
		}
	}
	if r := (loss.SmoothedHinge{H: 1}); r.Value(-0.1) <= 0 {
		t.Error("the smoothed hinge of width 1 should exceed the 0/1 reward just below 0")
	}
}

func TestParseReward(t *testing.T) {
	for _, r := range rewards(t) {
		got, err := loss.ParseReward(r.Name())
		if err != nil || got != r {
			t.Errorf("ParseReward(%q) = %v, %v", r.Name(), got, err)
		}
	}
	for _, bad := range []string{
		"", "zero-one", "smoothed-hinge:0", "smoothed-hinge:2", "smoothed-hinge:x",
		"smoothed-hinge:NaN",
	} {
		if _, err := loss.ParseReward(bad); noregret.CodeOf(err) != noregret.Usage {
			t.Errorf("ParseReward(%q): got error %v, want one of code usage", bad, err)
		}
	}
}

func ExampleParseReward() {
	r, err := loss.ParseReward("logistic")
	if err != nil {
		panic(err)
	}
	fmt.Printf("%.4f %.4f %.4f\n", r.Value(-1), r.Value(0), r.Value(3))
	// Output: -0.8946 0.0000 0.9299
}
