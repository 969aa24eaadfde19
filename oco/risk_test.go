package oco

import (
	"math"
	"testing"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/loss"
)

func TestSlackFormulas(t *testing.T) {
	near(t, "the slack of high probability", must(HighProbabilitySlack(1000, .05)), .1717877633)
	near(t, "the slack of validation", must(ValidationSlack(500, 500, .05)), .3980650711)
	n := must(SampleComplexity(func(t int) float64 { return math.Sqrt(float64(t)) }, .05, .1))
	good := func(t int) bool { return 1/math.Sqrt(float64(t))+must(HighProbabilitySlack(t, .05)) <= .1 }
	if !good(n) || good(n-1) {
		t.Errorf("SampleComplexity = %d is not the least", n)
	}
}

// TestAzuma: bets on fair coins that depend on the past are a martingale (Example 3.11): their
// mean is 0 and P[Z_T ≥ ε] ≤ exp(−ε²/(2B²T)); seeds 1, 2, ....
func TestAzuma(t *testing.T) {
	const rounds, runs = 40, 20000
	for name, bet := range map[string]func(z, last float64, k int) float64{
		"constant": func(float64, float64, int) float64 { return 1 },
		"follow":   func(_, last float64, _ int) float64 { return last },
		"chase":    func(z, _ float64, k int) float64 { return math.Tanh(float64(rounds-k) / (1 + math.Abs(z))) },
		"stop":     func(z, _ float64, _ int) float64 { return math.Max(0, math.Min(1, 4-z)) },
	} {
		var mean, square float64
		count := map[float64]int{4: 0, 8: 0, 12: 0, 16: 0}
		for seed := range uint64(runs) {
			r := random.New(seed+1, "azuma/"+name)
			z, last := 0., 1.
			for k := range rounds {
				c := float64(1 - 2*r.IntN(2))
				x := bet(z, last, k)
				z += c * x
				last = c
			}
			mean += z / runs
			square += z * z / runs
			for e := range count {
				if z >= e {
					count[e]++
				}
			}
		}
		if se := math.Sqrt((square - mean*mean) / runs); math.Abs(mean) > 4*se {
			t.Errorf("%s: mean %v, 4 standard errors are %v", name, mean, 4*se)
		}
		for e, n := range count {
			limit := math.Exp(-e * e / (2 * rounds))
			if p := float64(n) / runs; p > limit+4*math.Sqrt(limit*(1-limit)/runs) {
				t.Errorf("%s: P[Z ≥ %v] = %v is above %v", name, e, p, limit)
			}
			if name == "constant" && e == 8 && float64(n) < limit*runs/10 {
				t.Errorf("P[Z ≥ 8] = %v is far below %v: the coins are not fair", float64(n)/runs, limit)
			}
		}
	}
}

// TestTrainValidate: the point chosen is the best of those played on the validation half, found
// by hand.
func TestTrainValidate(t *testing.T) {
	r := random.New(5, "validate")
	sample := func() loss.Function {
		return must(loss.NewExample([]float64{1}, r.Float64(), loss.Squared{}))
	}
	var train, validate []loss.Function
	for range 40 {
		train, validate = append(train, sample()), append(validate, sample())
	}
	box := must(convex.NewCube(1, 0, 1))
	x, risk, err := TrainValidate(descent(box, nil, InverseSqrt(1, 1)), train, validate)
	if err != nil {
		t.Fatal(err)
	}
	again := must(NewLinearized(descent(box, nil, InverseSqrt(1, 1))))
	best, at := math.Inf(1), 0.0
	for _, f := range train {
		p := again.Predict()[0]
		var s float64
		for _, v := range validate {
			s += v.Value([]float64{p}) / 40
		}
		if s < best {
			best, at = s, p
		}
		if err := again.UpdateLoss(f); err != nil {
			t.Fatal(err)
		}
	}
	near(t, "point", x[0], at)
	near(t, "risk", risk, best)
	if _, _, err := TrainValidate(descent(box, nil, Constant(1)), train, nil); err == nil {
		t.Error("no samples to validate on were accepted")
	}
	if _, _, err := TrainValidate(descent(box, nil, Constant(1)), nil, validate); err == nil {
		t.Error("no samples to train on were accepted")
	}
}
