package experiment

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
)

// TestRatioTestSums checks that the order of the arms' sums within one report is no evidence,
// however large the sums, and that a lopsided split in equal reports is detected.
func TestRatioTestSums(t *testing.T) {
	x := ratioLive(t, "round")
	c := x.beginRatio([]float64{.5, .5, 0}, 1)
	for _, arm := range []int{0, 0, 1, 1} {
		x.addRatio(c, arm, 500)
	}
	x.Ratio.evaluate(x.roster.def.Stickiness, x.joiner.cohorts)
	if alarm, p := x.Ratio.mismatch(); alarm || p < .5 {
		t.Errorf("500 and 500 twice: p = %v", p)
	}
	x = ratioLive(t, "round")
	c = x.beginRatio([]float64{.5, .5, 0}, 1)
	for range 20 {
		x.addRatio(c, 0, 5500)
		x.addRatio(c, 1, 4500)
		x.Ratio.evaluate(x.roster.def.Stickiness, x.joiner.cohorts)
	}
	if alarm, p := x.Ratio.mismatch(); !alarm {
		t.Errorf("5500 to 4500, twenty times: p = %v", p)
	}
	// Versions pool their evidence, including parts too small to be significant alone.
	x = ratioLive(t, "round")
	for v := range uint64(400) {
		c := x.beginRatio([]float64{.5, .5, 0}, v+1)
		x.addRatio(c, 0, 55)
		x.addRatio(c, 1, 45)
		x.Ratio.evaluate(x.roster.def.Stickiness, x.joiner.cohorts)
	}
	if alarm, p := x.Ratio.mismatch(); !alarm {
		t.Errorf("55 to 45 in 400 versions: p = %v", p)
	}
}

// TestRatioTestOrder checks that units sent one by one or as sums, in any order, give the same
// evidence.
func TestRatioTestOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := []int64{
			int64(rapid.IntRange(1, 400).Draw(t, "a")), int64(rapid.IntRange(1, 400).Draw(t, "b")),
			int64(rapid.IntRange(1, 400).Draw(t, "c")),
		}
		var logs []float64
		for _, single := range []bool{true, false} {
			x := &experimentState{roster: roster{def: &definition.Definition{
				Stickiness: "round",
				Metrics:    []definition.Metric{{Name: "m", Kind: "mean"}},
			}}}
			c := x.beginRatio([]float64{.2, .5, .3}, 1)
			for k := range n {
				if !single {
					k = len(n) - 1 - k
					x.addRatio(c, k, n[k])
					continue
				}
				for range n[k] {
					x.addRatio(c, k, 1)
				}
			}
			logs = append(logs, c.Test.LogE)
		}
		if math.Abs(logs[0]-logs[1]) > 1e-8*(1+math.Abs(logs[0])) {
			t.Fatalf("%v one by one, %v as sums", logs[0], logs[1])
		}
	})
}

// TestRatioTestSameUnits repeats the same units with the same arms in the next versions of a
// stream. They are no new evidence: there is no alarm, and p is below 0.1 in at most a tenth of the
// runs.
func TestRatioTestSameUnits(t *testing.T) {
	testsize.NoRace(t)
	for _, stickiness := range []string{"round", "unit"} {
		low, runs := 0, uint64(300)
		if testsize.Short() {
			runs = 60
		}
		for seed := range runs {
			x, rng, p := ratioLive(t, stickiness), random.New(seed, "again"), []float64{.5, .3, .2}
			arms := make([]int, 400)
			for i := range arms {
				arms[i] = pick(rng, p, []float64{1, 1, 1})
			}
			for range 30 {
				c := x.beginRatio(p, 1)
				for _, k := range arms {
					x.addRatio(c, k, 1)
					x.Ratio.evaluate(x.roster.def.Stickiness, x.joiner.cohorts)
				}
			}
			if alarm, p := x.Ratio.mismatch(); alarm {
				t.Errorf("%s, seed %d: alarm, p = %v", stickiness, seed, p)
			} else if p <= .1 {
				low++
			}
		}
		if low > int(runs)*15/100+5 {
			t.Errorf("%s: p was at most 0.1 in %d of %d runs", stickiness, low, runs)
		}
	}
}
