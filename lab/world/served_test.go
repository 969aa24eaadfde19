package world

import (
	"math"
	"slices"
	"testing"
)

// TestRepeats: the means of persons who count as four units scatter four times as much as their
// units would.
func TestRepeats(t *testing.T) {
	for _, x := range []struct {
		family string
		want   float64
	}{{"returning", 4}, {"delay3", 1}} {
		w := worldOf(t, x.family, 0)
		g := NewGroup(1, 4000, 2)
		s, rate, sum := NewSampler(w, 1), w.Phases[0].Means.Arm(1)[0], 0.0
		for round := range w.Rounds() {
			s.Draw(round, &g)
			d := g.Means[0] - rate
			sum += d * d / (rate * (1 - rate) / 4000) / float64(w.Rounds())
		}
		if math.Abs(sum-x.want) > 0.4*x.want {
			t.Errorf("%s: the variance is %v times that of units, want %v", x.family, sum, x.want)
		}
	}
}

// TestGiants: a huge unit is in the mean and in the variance of its group alone.
func TestGiants(t *testing.T) {
	w := worldOf(t, "giants", 0)
	plain := *w
	plain.Giants = nil
	x := w.Giants[0]
	if len(w.Giants) != 15 || x.Value != 1e6 {
		t.Fatalf("giants %+v", w.Giants)
	}
	draw := func(w *World, arm int) Group {
		g := NewGroup(arm, 1000, 2)
		NewSampler(w, 1).Draw(x.Round, &g)
		return g
	}
	with, without := draw(w, x.Arm), draw(&plain, x.Arm)
	if math.Abs(with.Means[1]-without.Means[1]-1000) > 1e-6 || with.Variances[1] < 0.99e9 {
		t.Errorf("means %v and %v, variance %v", with.Means, without.Means, with.Variances)
	}
	other := (x.Arm + 1) % 5
	if got, want := draw(w, other), draw(&plain, other); !slices.Equal(got.Means, want.Means) {
		t.Errorf("another arm has means %v, want %v", got.Means, want.Means)
	}
}

// TestTilts: weekdays that suit arms leave their means over a week as they are.
func TestTilts(t *testing.T) {
	w := worldOf(t, "weekday", 0)
	for k := range w.Arms() {
		sum, apart := 0.0, 0.0
		for round := range 7 {
			sum += w.tilted(round, k) / 7
			apart = max(apart, math.Abs(w.tilted(round, k)-1))
		}
		if math.Abs(sum-1) > 1e-12 || apart < 0.01 {
			t.Errorf("arm %d: a mean of %v, at most %v apart", k, sum, apart)
		}
	}
}
