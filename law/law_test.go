package law

import (
	"math"
	"testing"

	"github.com/noregret/noregret/internal/random"
)

// TestMoments: groups, and units drawn one by one, have the mean and the variance of their law, and
// the sample variances of groups have it as their mean.
func TestMoments(t *testing.T) {
	for _, c := range []struct {
		law      Law
		mean     float64
		variance float64 // of one unit
	}{
		{Law{Kind: "bernoulli"}, 0.02, 0.02 * 0.98},
		{Law{Kind: "poisson"}, 3, 3},
		{Law{Kind: "normal", SD: 80}, 250, 6400},
		{Law{Kind: "lognormal", Rate: 0.05, Sigma: 1}, 1.2, 1.44 * (math.E/0.05 - 1)},
	} {
		t.Run(c.law.Kind, func(t *testing.T) {
			const draws, units = 4000, 500
			r := random.New(1, c.law.Kind)
			sum, square, spread := 0.0, 0.0, 0.0
			for range draws {
				v, s := c.law.Group(r, units, c.mean)
				sum += v - c.mean
				square += (v - c.mean) * (v - c.mean)
				spread += s
			}
			if got := sum / draws; math.Abs(got) > 5*math.Sqrt(c.variance/units/draws) {
				t.Errorf("the mean is off by %v", got)
			}
			if got := square / draws * units; math.Abs(got/c.variance-1) > 0.12 {
				t.Errorf("variance of a unit %v by the groups' means, want %v", got, c.variance)
			}
			if got := spread / draws; math.Abs(got/c.variance-1) > 0.1 {
				t.Errorf("mean sample variance %v, want %v", got, c.variance)
			}
			sum, square = 0, 0
			for range draws * units {
				v := c.law.Unit(r, c.mean) - c.mean
				sum += v
				square += v * v
			}
			if got := sum / (draws * units); math.Abs(got) > 5*math.Sqrt(c.variance/units/draws) {
				t.Errorf("the mean of units is off by %v", got)
			}
			if got := square / (draws * units); math.Abs(got/c.variance-1) > 0.1 {
				t.Errorf("variance of units %v, want %v", got, c.variance)
			}
		})
	}
	if _, s := (&Law{Kind: "bernoulli"}).Group(random.New(1, "one"), 1, 0.5); !math.IsNaN(s) {
		t.Errorf("the sample variance of one unit is %v, want NaN", s)
	}
}

func TestLevel(t *testing.T) {
	r := random.New(1, "level")
	still := &Level{Seasons: []Season{{Period: 4, Size: 0.5}}, Growth: 0.01}
	if got, want := still.At(1, r), 1.5*1.01; math.Abs(got-want) > 1e-12 {
		t.Errorf("level of round 1: %v, want %v", got, want)
	}
	if still = nil; still.At(1, r) != 1 {
		t.Error("a nil level is not 1")
	}
	sum := 0.0
	for range 20_000 {
		sum += (&Level{Shock: 0.5}).At(3, r) / 20_000
	}
	if math.Abs(sum-1) > 0.02 {
		t.Errorf("shocks have the mean %v, want 1", sum)
	}
}
