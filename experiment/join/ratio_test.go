package join

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
)

// ratioCase is a Joiner whose ratio test is fed versions with given mixtures.
type ratioCase struct {
	*Joiner
	d       *definition.Definition
	version uint64
}

func newRatioCase(t testing.TB, stickiness string) *ratioCase {
	d, err := definition.Parse("x", []byte("name: x\nmetrics: [{name: m}]\n"+
		"arms: [{name: a, value: 1}, {name: b, value: 1}, {name: c, value: 1}]\n"+
		"policy: {kind: fixed, split: {a: 1}}\nstickiness: "+stickiness))
	if err != nil {
		t.Fatal(err)
	}
	return ratioCaseOf(d)
}

func ratioCaseOf(d *definition.Definition) *ratioCase {
	x := &ratioCase{Joiner: New(nil, d), d: d}
	for range 3 {
		x.AddArm(d)
	}
	return x
}

// begin begins a version in a stream. The two versions before it stay open.
func (x *ratioCase) begin(mixture []float64, stream uint64) *Version {
	x.version++
	x.Begin(x.d, Start{Version: x.version, Round: 1, Stream: stream, Mixture: mixture, Control: -1}, 0)
	if len(x.Versions) > 2 {
		x.Ratio.mature(x.d.Stickiness, x.Versions, x.Versions[0])
		x.Versions = x.Versions[1:]
	}
	return x.Running()
}

func (x *ratioCase) add(c *Version, arm int, n int64) {
	x.Ratio.add(c, arm, n)
	c.Stats[arm].Units += n
}

// pick draws an arm with probability proportional to its share times its tilt.
func pick(rng *random.Source, p, tilt []float64) int {
	total := 0.0
	for k := range p {
		total += p[k] * tilt[k]
	}
	u, k := rng.Float64()*total, 0
	for ; k < len(p)-1 && u >= p[k]*tilt[k]; k++ {
		u -= p[k] * tilt[k]
	}
	return k
}

// ratioRun counts n units whose true shares are tilted while the policy claims the shares of
// mixtures, one after the other, each with its own stream.
func ratioRun(t testing.TB, seed uint64, n int, mixtures [][]float64, tilt []float64) *Ratio {
	x, rng := newRatioCase(t, "round"), random.New(seed, "ratio")
	var c *Version
	for i := range n {
		if i%(n/len(mixtures)) == 0 && i/(n/len(mixtures)) < len(mixtures) {
			c = x.begin(mixtures[i/(n/len(mixtures))], x.version+1)
		}
		x.add(c, pick(rng, c.Mixture, tilt), 1)
		x.EndEvent(x.d)
	}
	return &x.Ratio
}

// TestRatioTest checks that the test, evaluated after every unit while the mixture changes, raises
// no alarm in 400 runs of 5,000 units under the null hypothesis, and that it raises one when an arm
// loses a tenth of its units.
func TestRatioTest(t *testing.T) {
	testsize.NoRace(t)
	mixtures := [][]float64{{.5, .3, .2}, {.1, .1, .8}, {.4, .4, .2}, {.98, .01, .01}}
	low := 0
	for seed := range uint64(400) {
		r := ratioRun(t, seed, 5000, mixtures, []float64{1, 1, 1})
		if alarm, p := r.Mismatch(); alarm {
			t.Errorf("seed %d: alarm, p = %v", seed, p)
		} else if p <= .1 {
			low++
		}
	}
	if low > 60 { // at most 40 in expectation
		t.Errorf("p was at most 0.1 at some time in %d of 400 runs", low)
	}
	for seed := range uint64(20) {
		r := ratioRun(t, seed, 40_000, mixtures[:3], []float64{1, .9, 1})
		if alarm, p := r.Mismatch(); !alarm {
			t.Errorf("seed %d: no alarm though an arm lost a tenth of its units, p = %v", seed, p)
		}
	}
}

// TestRatioTestSums checks that the order of the arms' sums within one report is no evidence,
// however large the sums, and that a lopsided split in equal reports is detected.
func TestRatioTestSums(t *testing.T) {
	x := newRatioCase(t, "round")
	c := x.begin([]float64{.5, .5, 0}, 1)
	for _, arm := range []int{0, 0, 1, 1} {
		x.add(c, arm, 500)
	}
	x.EndEvent(x.d)
	if alarm, p := x.Ratio.Mismatch(); alarm || p < .5 {
		t.Errorf("500 and 500 twice: p = %v", p)
	}
	x = newRatioCase(t, "round")
	c = x.begin([]float64{.5, .5, 0}, 1)
	for range 20 {
		x.add(c, 0, 5500)
		x.add(c, 1, 4500)
		x.EndEvent(x.d)
	}
	if alarm, p := x.Ratio.Mismatch(); !alarm {
		t.Errorf("5500 to 4500, twenty times: p = %v", p)
	}
	// Versions pool their evidence, including parts too small to be significant alone.
	x = newRatioCase(t, "round")
	for v := range uint64(400) {
		c := x.begin([]float64{.5, .5, 0}, v+1)
		x.add(c, 0, 55)
		x.add(c, 1, 45)
		x.EndEvent(x.d)
	}
	if alarm, p := x.Ratio.Mismatch(); !alarm {
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
			x := ratioCaseOf(&definition.Definition{
				Stickiness: "round", Metrics: []definition.Metric{{Name: "m", Kind: "mean"}},
			})
			c := x.begin([]float64{.2, .5, .3}, 1)
			for k := range n {
				if !single {
					k = len(n) - 1 - k
					x.add(c, k, n[k])
					continue
				}
				for range n[k] {
					x.add(c, k, 1)
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
			x, rng, p := newRatioCase(t, stickiness), random.New(seed, "again"), []float64{.5, .3, .2}
			arms := make([]int, 400)
			for i := range arms {
				arms[i] = pick(rng, p, []float64{1, 1, 1})
			}
			for range 30 {
				c := x.begin(p, 1)
				for _, k := range arms {
					x.add(c, k, 1)
					x.EndEvent(x.d)
				}
			}
			if alarm, p := x.Ratio.Mismatch(); alarm {
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
