package scenario

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/confident"
)

// TestMeasure prints a row for an option string in the environment, for searching: MEASURE="b
// default 1 50 10000 7".
func TestMeasure(t *testing.T) {
	for line := range strings.SplitSeq(os.Getenv("MEASURE"), ";") {
		f := strings.Fields(line)
		if len(f) < 5 {
			continue
		}
		sigma, _ := strconv.ParseFloat(f[2], 64)
		runs, _ := strconv.Atoi(f[3])
		rounds, _ := strconv.Atoi(f[4])
		o := Options{Scenario: f[0], Algorithm: f[1], Noise: &sigma, Runs: runs, Rounds: rounds, Seed: 7}
		for _, c := range []int{
			5, 10, 20, 50, 100, 200, 500, 1000, 3000, 10_000, 15_000, 20_000, 30_000, 100_000,
			300_000,
		} {
			if c <= rounds {
				o.Checkpoints = append(o.Checkpoints, c)
			}
		}
		if len(f) > 5 {
			o.Iterate = f[5]
		}
		if len(f) > 6 {
			o.Start, _ = strconv.ParseFloat(f[6], 64)
		}
		var learners []*confident.Learner
		// optimism:caution:explore:shrink, then alarm:hard caution
		if z, ok := strings.CutPrefix(f[1], "confident:"); ok {
			var c confident.Options
			n, err := fmt.Sscanf(z, "%g:%g:%g:%g:%g:%g", &c.Optimism, &c.Caution, &c.Explore, &c.Shrink,
				&c.ChangeThreshold,
				&c.HardCaution)
			if n < 4 {
				t.Fatal(err)
			}
			o.Hard = n == 6
			d := confident.DefaultOptions()
			for _, v := range [][2]*float64{
				{&c.Optimism, &d.Optimism},
				{&c.Caution, &d.Caution},
				{&c.Explore, &d.Explore},
				{&c.Shrink, &d.Shrink},
				{&c.ChangeThreshold, &d.ChangeThreshold},
				{&c.HardCaution, &d.HardCaution},
			} { // 0 is the default, and a negative number none
				if *v[0] == 0 {
					*v[0] = *v[1]
				}
				*v[0] = max(*v[0], 0)
			}
			var mu sync.Mutex
			o.New = func(f pasto.Objective, arms, _ int, _ []float64) (pasto.Learner, error) {
				l, err := confident.New(f, arms, c)
				mu.Lock()
				defer mu.Unlock()
				learners = append(learners, l)
				return l, err
			}
		}
		begin := time.Now()
		r, err := Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("%s: single %.4f optimum %.4f, %v\n  at   %7d\n  mean %7.3f\n  q25  %7.3f\n  q75  %7.3f\n  R    "+
			"%7.3f\n  med  %7.3f\n  viol %7.3f\n  brok %7.3f\n  dist %7.4f\n", line, r.BestSingle, r.Optimum,
			time.Since(begin).Round(time.Millisecond), r.At, r.Objective.Mean, r.Objective.Q25, r.Objective.Q75,
			r.Gain.Ratio, r.Gain.Median, r.Violation.Mean, r.Violation.Share, r.Distance.Mean)
		changes := 0
		for _, l := range learners {
			changes += l.Changes()
		}
		fmt.Printf("  changes found %d\n", changes)
	}
}
