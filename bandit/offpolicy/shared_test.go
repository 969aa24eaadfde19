package offpolicy

import (
	"compress/gzip"
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
)

// banditLog reads a log of the Open Bandit data (Saito, Aihara, Matsutani and Narita 2021), or
// skips the test. Slots are the positions 0 to 2 of the rows.
func banditLog(t *testing.T, name string) (rows []Row, slots []int) {
	t.Helper()
	path := filepath.Join("..", "..", "..", "shared", "data", "obd", name+".csv.gz")
	f, err := os.Open(path)
	if err != nil {
		t.Skipf("the shared data set obd/%s.csv.gz is missing", name)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	records, err := csv.NewReader(z).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	number := func(s string) float64 {
		x, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	for _, r := range records[1:] {
		rows = append(rows, Row{Arm: int(number(r[2])), Reward: number(r[4]), Propensity: number(r[5])})
		slots = append(slots, int(number(r[3]))-1)
	}
	return rows, slots
}

// TestOpenBandit estimates the value of each policy of the Open Bandit data from the other's log.
// Its clicks in its own log are the truth, up to their own error. The probabilities of Thompson
// sampling are known for the chosen items only, so the target from the uniform log is its share of
// items by position.
func TestOpenBandit(t *testing.T) {
	testsize.NoRace(t)
	for _, c := range []struct {
		campaign string
		arms     int
	}{{"men", 34}, {"women", 46}} {
		uniformRows, uniformSlots := banditLog(t, "random-"+c.campaign)
		thompsonRows, thompsonSlots := banditLog(t, "bts-"+c.campaign)
		flat := make([]float64, c.arms)
		for a := range flat {
			flat[a] = 1 / float64(c.arms)
		}
		o := DefaultEvaluatorOptions(c.arms)
		compare(t, c.campaign+", uniform from Thompson's log", o, thompsonRows, uniformRows,
			func(int) []float64 { return flat })

		shares := make([][]float64, 3)
		for s := range shares {
			shares[s] = make([]float64, c.arms)
		}
		n := [3]float64{}
		for i, r := range thompsonRows {
			shares[thompsonSlots[i]][r.Arm]++
			n[thompsonSlots[i]]++
		}
		for s := range shares {
			for a := range shares[s] {
				shares[s][a] /= n[s]
			}
		}
		o.MaxWeight = float64(c.arms)
		compare(t, c.campaign+", Thompson from the uniform log", o, uniformRows, thompsonRows,
			func(i int) []float64 { return shares[uniformSlots[i]] })
	}
}

// compare logs a table of the estimates and checks that they agree with the mean reward of the
// target's own rows: with all rows, and the intervals also with rows drawn again from the log.
func compare(t *testing.T, name string, o EvaluatorOptions, rows, own []Row, target func(i int) []float64) {
	t.Helper()
	truth := 0.0
	for _, r := range own {
		truth += r.Reward / float64(len(own))
	}
	truthError := math.Sqrt(truth * (1 - truth) / float64(len(own)))
	evaluate := func(pick func(i int) int) *Evaluator {
		e := newEvaluator(t, o)
		for i := range rows {
			k := pick(i)
			if err := e.Add(&rows[k], target(k), nil); err != nil {
				t.Fatal(err)
			}
		}
		return e
	}
	e := evaluate(func(i int) int { return i })
	resamples, src := testsize.Of(100, 10), random.New(1, "offpolicy resamples")
	covered := map[Method][2]int{}
	for range resamples {
		again := evaluate(func(int) int { return int(src.Uint64() % uint64(len(rows))) })
		for _, m := range Methods() {
			got, c := estimate(t, again, m, 0.05), covered[m]
			covered[m] = [2]int{c[0] + count(got.OneLook.Contains(truth)), c[1] + count(got.Sequence.Contains(truth))}
		}
	}
	w := e.Weights()
	least := resamples * 95 / 100
	// Resamples that repeat the heaviest rows have another value than the log.
	if w.Effective < 100 {
		least = resamples * 70 / 100
	}
	t.Logf("%s: own mean %.5f ± %.5f; mean weight %.3f, largest %.0f, effective rows %.0f of %d",
		name, truth, truthError, w.Mean, w.Largest, w.Effective, w.Rows)
	for _, m := range Methods() {
		got, c := estimate(t, e, m, 0.05), covered[m]
		t.Logf("  %-15s %.5f ± %.5f  one look [%.5f, %.5f]  sequence [%.5f, %.5f]  cover %d and %d of %d", m,
			got.Value, got.StandardError, got.OneLook.Low, got.OneLook.High, got.Sequence.Low, got.Sequence.High,
			c[0], c[1], resamples)
		if !got.Sequence.Contains(truth) || !got.OneLook.Contains(truth) || min(c[0], c[1]) < least {
			t.Errorf("%s: the intervals of %s miss %v: %+v, in the resamples %v", name, m, truth, got, c)
		}
		if far := math.Abs(got.Value - truth); far > 4*math.Hypot(got.StandardError, truthError) {
			t.Errorf("%s: %s is %v and %v in the policy's own log", name, m, got.Value, truth)
		}
	}
}

// TestOpenBanditDoctor looks at the four logs. Only that of Thompson sampling for
// women has a finding: the effective sample size under the uniform policy is 2.
func TestOpenBanditDoctor(t *testing.T) {
	for _, c := range []struct {
		log     string
		arms    int
		uniform bool
		want    []Kind
	}{
		{"random-men", 34, true, nil},
		{"random-women", 46, true, nil},
		{"bts-men", 34, false, nil},
		{"bts-women", 46, false, []Kind{FewEffective}},
	} {
		rows, _ := banditLog(t, c.log)
		o := DefaultDoctorOptions(c.arms)
		for range c.arms {
			if c.uniform {
				o.Shares = append(o.Shares, 1/float64(c.arms))
			}
		}
		d := newDoctor(t, o)
		for i := range rows {
			d.Add(&rows[i])
		}
		got := d.Report()
		var kinds []Kind
		for _, f := range got.Findings {
			kinds = append(kinds, f.Kind)
		}
		if !slices.Equal(kinds, c.want) || got.Rows != 10000 || c.uniform && got.RatioRows != 10000 {
			t.Errorf("%s: %+v", c.log, got)
		}
	}
}
