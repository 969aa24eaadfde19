package confident_test

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/confident"
	"github.com/noregret/noregret/pasto/released"
	"github.com/noregret/noregret/private/aggregate"
)

// noisyWorld is an experiment whose learner sees released sums only: one rate to raise and one
// under a hard guardrail, by arm, for 20,000 units in a round.
type noisyWorld struct {
	rates   [][2]float64
	limit   float64
	rounds  int
	epsilon float64
}

func (w *noisyWorld) goals(t *testing.T) *pasto.Goals {
	g, err := pasto.NewGoals([]pasto.Metric{
		{Name: "sales", Upper: 1},
		{Name: "returns", Role: pasto.Guardrail, Direction: pasto.Down, Threshold: w.limit, Hard: true, Upper: 1},
	}, 0)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// play plays a run and calls watch after every round.
func (w *noisyWorld) play(t *testing.T, seed uint64, watch func(l *confident.Learner)) *confident.Learner {
	t.Helper()
	arms, r := len(w.rates), random.New(seed, "noisy")
	c := aggregate.DefaultConfig(arms, []aggregate.Range{{Low: 0, High: 1}, {Low: 0, High: 1}}, int64(w.rounds))
	c.Contribution, c.Batch, c.Epsilon, c.Delta = 1, 20_000, w.epsilon, 1e-9
	sums, err := aggregate.New(c, dp.WithInsecureFastNoiseForTesting(seed))
	if err != nil {
		t.Fatal(err)
	}
	o := confident.DefaultOptions()
	o.Control = 0
	l, err := confident.New(w.goals(t), arms, o)
	if err != nil {
		t.Fatal(err)
	}
	reader, err := released.New(sums, arms, 2)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]float64, 2*arms)
	for range w.rounds {
		units, exact := make([]int64, arms), make([]int64, 2*arms)
		for k, p := range l.Serving() {
			units[k] = int64(20_000 * p)
			for i, rate := range w.rates[k] {
				events := int64(stat.BinomialQuantile(stat.Normal(r), units[k], rate))
				exact[2*k+i] = (2*events - units[k]) * sums.Limit()
			}
		}
		if err := sums.Step(exact, out); err != nil {
			t.Fatal(err)
		}
		obs, err := reader.Round(units, out)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Observe(obs); err != nil {
			t.Fatal(err)
		}
		watch(l)
	}
	return l
}

// TestReleasedErrors compares the errors that the learner states with what its estimates miss the
// truth by, in many runs whose noise is far above the sampling error: the root mean square of the
// ratio is near 1. A learner that adds the noise of all rounds up would state five times as much.
func TestReleasedErrors(t *testing.T) {
	w := noisyWorld{rates: [][2]float64{{0.3, 0.2}, {0.3, 0.2}, {0.3, 0.2}}, limit: 0.9, rounds: 40, epsilon: 0.05}
	square, n := 0.0, 0.0
	for run := range testsize.Of(60, 25) {
		l := w.play(t, uint64(run), func(*confident.Learner) {})
		means, errors := l.Estimate()
		for k, rates := range w.rates {
			for i, rate := range rates {
				z := (means.Arm(k)[i] - rate) / errors.Arm(k)[i]
				square += z * z
				n++
			}
		}
	}
	if rms := math.Sqrt(square / n); rms < 0.8 || rms > 1.2 {
		t.Errorf("errors are %v of what is stated", rms)
	}
}

// TestReleasedPromise counts the runs in which some served mixture breaks the hard guardrail: the
// control is just within it and all other arms are beyond it and sell better. At most 5 % may.
func TestReleasedPromise(t *testing.T) {
	w := noisyWorld{
		rates: [][2]float64{{0.05, 0.02}, {0.06, 0.028}, {0.06, 0.028}, {0.06, 0.028}}, limit: 0.025, rounds: 40,
		epsilon: 0.2,
	}
	runs, broken := testsize.Of(200, 40), 0
	for run := range runs {
		worst := 0.0
		w.play(t, uint64(run), func(l *confident.Learner) {
			sum := 0.0
			for k, p := range l.Serving() {
				sum += p * w.rates[k][1]
			}
			worst = max(worst, sum)
		})
		if worst > w.limit {
			broken++
		}
	}
	if float64(broken) > 0.05*float64(runs) {
		t.Errorf("%d of %d runs break the guardrail", broken, runs)
	}
}

// TestReleasedChanges: noise is no change of an arm, in arms that are all alike, and a change is
// found that is far above the noise, of an arm that is served nearly alone.
func TestReleasedChanges(t *testing.T) {
	w := noisyWorld{
		rates: [][2]float64{{0.05, 0.02}, {0.05, 0.02}, {0.05, 0.02}}, limit: 0.5, rounds: 100, epsilon: 0.3,
	}
	found := 0
	for run := range testsize.Of(40, 10) {
		found += w.play(t, uint64(run), func(*confident.Learner) {}).Changes()
	}
	if found > 0 {
		t.Errorf("%d changes of arms that never change", found)
	}
	w.rounds, w.epsilon = 60, 3
	w.rates[1] = [2]float64{0.25, 0.02}
	l := w.play(t, 1, func(l *confident.Learner) {
		if l.Rounds() == 30 {
			w.rates[1] = [2]float64{0.05, 0.02}
		}
	})
	if l.Changes() == 0 {
		t.Error("a change from 25 % to 5 % is not found")
	}
	means, errors := l.Estimate()
	if d := math.Abs(means.Arm(1)[0] - 0.05); d > 4*errors.Arm(1)[0] {
		t.Errorf("after the change the estimate is %v ± %v", means.Arm(1)[0], errors.Arm(1)[0])
	}
}

// TestReleasedSnapshot restores a learner with noise: it serves the same, also after more rounds.
func TestReleasedSnapshot(t *testing.T) {
	w := noisyWorld{rates: [][2]float64{{0.05, 0.02}, {0.06, 0.02}}, limit: 0.03, rounds: 20, epsilon: 1}
	w.play(t, 1, func(l *confident.Learner) {
		data, err := l.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		again, err := confident.New(w.goals(t), 2, func() confident.Options {
			o := confident.DefaultOptions()
			o.Control = 0
			return o
		}())
		if err != nil {
			t.Fatal(err)
		}
		if err := again.UnmarshalBinary(data); err != nil {
			t.Fatal(err)
		}
		if data2, err := again.MarshalBinary(); err != nil || !bytes.Equal(data, data2) {
			t.Fatalf("round %d: another snapshot after restoring, %v", l.Rounds(), err)
		}
	})
}

// TestNoiseRefused has the rules of observations with noise; a refused round changes nothing.
func TestNoiseRefused(t *testing.T) {
	w := noisyWorld{limit: 0.1}
	l, err := confident.New(w.goals(t), 2, confident.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	noisy := func(arm int) pasto.Observation {
		return pasto.Observation{
			Arm: arm, Metrics: []float64{-0.1, 1.2}, Size: 10,
			Noise: &pasto.Noise{Step: []float64{1, 1}, Total: []float64{1, 1}},
		}
	}
	plain := pasto.Observation{Arm: 1, Metrics: []float64{0.1, 0.2}, Size: 10}
	with := func(change func(o *pasto.Observation)) []pasto.Observation {
		o := noisy(0)
		change(&o)
		return []pasto.Observation{o}
	}
	for want, obs := range map[string][]pasto.Observation{
		"no noise beside":      {noisy(0), plain},
		"a second group":       {noisy(0), noisy(0)},
		"no size":              with(func(o *pasto.Observation) { o.Size = 0 }),
		"1 variances of noise": with(func(o *pasto.Observation) { o.Noise.Step = []float64{1} }),
		"0 variances of noise": with(func(o *pasto.Observation) { o.Noise.Total = nil }),
		"-1 releases":          with(func(o *pasto.Observation) { o.Noise.Releases = -1 }),
		"variance 1 of noise":  with(func(o *pasto.Observation) { o.Noise.Total[1] = math.NaN() }),
		"variance 0 of noise":  with(func(o *pasto.Observation) { o.Noise.Step[0] = -1 }),
	} {
		if err := l.Observe(obs); err == nil || !strings.Contains(err.Error(), want) || l.Rounds() != 0 {
			t.Errorf("%v after %d rounds, want %q", err, l.Rounds(), want)
		}
	}
	if err := l.Observe([]pasto.Observation{noisy(0), noisy(1)}); err != nil {
		t.Errorf("values outside the range, with noise: %v", err)
	}
	plain.Metrics[1] = 1.2
	if err := l.Observe([]pasto.Observation{plain}); err == nil || !strings.Contains(err.Error(), "in its range") {
		t.Errorf("a value outside the range without noise: %v", err)
	}
	open, err := pasto.NewGoals([]pasto.Metric{{Name: "a", Upper: 1}, {Name: "b", Role: pasto.Report}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if l, err = confident.New(open, 2, confident.DefaultOptions()); err != nil {
		t.Fatal(err)
	}
	if err := l.Observe([]pasto.Observation{noisy(0)}); err == nil || !strings.Contains(err.Error(), "has no range") {
		t.Errorf("noise without a range: %v", err)
	}
}
