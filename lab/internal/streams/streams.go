// Package streams measures the delay and the false alarms of every detector of package changepoint
// on standard streams, and prints the tables of lab/docs/changepoint.md.
package streams

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/changepoint"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/lab/internal/study"
)

// Command returns the command "noregret-lab streams".
func Command() *cobra.Command {
	c := &cobra.Command{
		Use:   "streams",
		Short: "Measure the delay and the false alarms of change detectors on standard streams",
		Long: `Run every detector on streams of numbers in [0, 1] whose law changes once, and print the share of
changes that it finds, its delay and its false alarms; then its alarms on the streams of other
libraries' documentation.`,
		Example: "  noregret-lab streams --runs 200",
	}
	runs := c.Flags().Int("runs", 200, "runs of each stream")
	return study.New(c, "detectors", func(ctx context.Context, r *study.Runner) (*study.Report, error) {
		if *runs < 1 {
			return nil, noregret.Errorf(noregret.Usage, "--runs", "%d: want at least 1", *runs)
		}
		out := &study.Report{}
		r.Expect(len(streams) * len(detectors))
		for i := range streams {
			t, err := standard(ctx, r, &streams[i], *runs)
			if err != nil {
				return out, err
			}
			out.Tables = append(out.Tables, t)
		}
		t, err := compare(*runs)
		if err != nil {
			return out, err
		}
		out.Tables = append(out.Tables, t)
		return out, nil
	})
}

// stream is a kind of sequence of numbers in [0, 1] with a change.
type stream struct {
	name string
	// at returns the number that is after numbers past the change, or before it if after is
	// negative.
	at func(r *random.Source, after int) float64
	// mean and deviation are those before the change, which CUSUM needs.
	mean, deviation float64
}

// ramp is the number of numbers over which gradual changes happen.
const ramp = 1000

// share returns the part of a gradual change that has happened.
func share(after int) float64 { return min(max(float64(after)/ramp, 0), 1) }

func normal(r *random.Source, mean, deviation float64) float64 {
	return min(max(mean+float64(deviation*r.NormFloat64()), 0), 1)
}

func event(r *random.Source, rate float64) float64 {
	if r.Float64() < rate {
		return 1
	}
	return 0
}

// either returns a before a change and b from it on.
func either(after int, a, b float64) float64 {
	if after < 0 {
		return a
	}
	return b
}

var streams = []stream{
	{"abrupt: mean 0.3 to 0.5, deviation 0.1", func(r *random.Source, after int) float64 {
		return normal(r, either(after, .3, .5), .1)
	}, .3, .1},
	{"small: mean 0.3 to 0.35, deviation 0.1", func(r *random.Source, after int) float64 {
		return normal(r, either(after, .3, .35), .1)
	}, .3, .1},
	{"gradual: mean 0.3 to 0.5 over 1,000 numbers", func(r *random.Source, after int) float64 {
		return normal(r, .3+float64(.2*share(after)), .1)
	}, .3, .1},
	{"variance: deviation 0.05 to 0.15, mean 0.5", func(r *random.Source, after int) float64 {
		return normal(r, .5, either(after, .05, .15))
	}, .5, .05},
	{"errors: rate 0.2 to 0.4", func(r *random.Source, after int) float64 {
		return event(r, either(after, .2, .4))
	}, .2, .4},
	{"errors: rate 0.2 to 0.1", func(r *random.Source, after int) float64 {
		return event(r, either(after, .2, .1))
	}, .2, .4},
	{"errors: rate 0.2 to 0.4 over 1,000 numbers", func(r *random.Source, after int) float64 {
		return event(r, .2+float64(.2*share(after)))
	}, .2, .4},
}

// detectors are the rows of the tables, as [changepoint.Parse] reads them. %v are the mean and the
// deviation before the change.
var detectors = []string{
	"cusum:mean=%v,deviation=%v",
	"page-hinkley",
	"page-hinkley:drift=0.005,threshold=50",
	"adwin",
	"adwin:hoeffding=true",
	"kswin",
	"kswin:alpha=0.0001,window=1000,recent=300",
}

// build returns the detector of a row for a stream.
func build(text string, s *stream) (changepoint.Detector, error) {
	if strings.Contains(text, "%") {
		text = fmt.Sprintf(text, s.mean, s.deviation)
	}
	return changepoint.Parse(text)
}

// Of each run, before numbers come before the change and horizon after it.
const before, horizon = 3000, 2000

// result is what a detector did on a stream.
type result struct {
	runs, found   int
	alarms        int     // before the change
	delay, delay2 float64 // sums over the runs with an alarm within the horizon
}

// perMany returns the false alarms per 10,000 numbers.
func (r result) perMany() float64 { return 1e4 * float64(r.alarms) / float64(r.runs*before) }

// meanDelay returns the mean delay of the changes found and its standard error.
func (r result) meanDelay() (mean, se float64) {
	n := float64(r.found)
	mean = r.delay / n
	return mean, math.Sqrt(max(r.delay2/n-float64(mean*mean), 0) / n)
}

// measure runs a detector on a stream. The delay is the number of numbers from the change to the
// first alarm after it, which is 1 at once.
func measure(text string, s *stream, runs int) (out result, err error) {
	out.runs = runs
	for seed := range runs {
		d, err := build(text, s)
		if err != nil {
			return out, err
		}
		r := random.New(uint64(seed), "stream "+s.name)
		for n := range before {
			changed, err := d.Add(s.at(r, n-before))
			if err != nil {
				return out, err
			}
			if changed {
				out.alarms++
			}
		}
		for n := range horizon {
			changed, err := d.Add(s.at(r, n))
			if err != nil {
				return out, err
			}
			if changed {
				out.found++
				out.delay += float64(n + 1)
				out.delay2 += float64(float64(n+1) * float64(n+1))
				break
			}
		}
	}
	return out, nil
}

// rowName is the first column of a row.
func rowName(text string) string {
	name, _, given := strings.Cut(text, ":mean")
	if given {
		return "`" + name + "` (mean and deviation known)"
	}
	return "`" + text + "`"
}

// standard returns the table of a standard stream.
func standard(ctx context.Context, r *study.Runner, s *stream, runs int) (study.Table, error) {
	t := study.Table{
		Title:   strings.ToUpper(s.name[:1]) + s.name[1:],
		Columns: []string{"detector", "found", "delay", "false alarms in 10,000 numbers"},
	}
	results, err := study.Runs(ctx, r, len(detectors), func(i int) (result, error) {
		return measure(detectors[i], s, runs)
	})
	if err != nil {
		return t, err
	}
	for i, x := range results {
		var delay any = "–"
		if mean, se := x.meanDelay(); x.found > 0 {
			delay = study.Estimate{Mean: mean, Error: se}.Cell("%.1f")
		}
		t.Add(rowName(detectors[i]), study.Number("%.0f %%", 100*float64(x.found)/float64(runs)), delay,
			study.Number("%.2f", x.perMany()))
	}
	return t, nil
}

// documented are the alarms that other libraries' documentation prints for one draw of the stream
// of [example], with the detector that has the same options here.
var documented = []struct {
	text, library string
	index         int
}{
	{"kswin:alpha=0.0001", "River, KSWIN(alpha=0.0001)", 1016},
	{"adwin:upper=7", "River, ADWIN()", 1023},
	{"adwin:upper=7,delta=0.001", "CapyMOA, ADWIN(delta=0.001)", 1023},
	{"page-hinkley:drift=0.005,threshold=50", "River, PageHinkley()", 1006},
	{"page-hinkley:drift=0.005,threshold=50", "CapyMOA, PageHinkley()", 1014},
}

// example returns the number at index i of the stream in those documents: 1,000 numbers of 0 or 1,
// then numbers from 4 to 7, all with the same probability.
func example(r *random.Source, i int) float64 {
	if i < 1000 {
		return float64(r.IntN(2))
	}
	return float64(4 + r.IntN(4))
}

// firstAlarms returns the indices of the first alarms at or after index 1000 in runs draws, and the
// number of runs with an alarm before.
func firstAlarms(text string, runs int) (low, high int, mean float64, early int, err error) {
	low = math.MaxInt
	for seed := range runs {
		d, err := changepoint.Parse(text)
		if err != nil {
			return 0, 0, 0, 0, err
		}
		r, alarmed := random.New(uint64(seed), "example"), false
		for i := range 2000 {
			changed, err := d.Add(example(r, i))
			if err != nil {
				return 0, 0, 0, 0, err
			}
			if changed && i < 1000 {
				alarmed = true
			} else if changed {
				low, high = min(low, i), max(high, i)
				mean += float64(i) / float64(runs)
				break
			}
		}
		if alarmed {
			early++
		}
	}
	return low, high, mean, early, nil
}

// compare returns the table of the comparison with the documents.
func compare(runs int) (study.Table, error) {
	t := study.Table{Columns: []string{
		"detector", "first alarm, mean", "range", "runs with an alarm before", "documented",
	}}
	for _, x := range documented {
		low, high, mean, early, err := firstAlarms(x.text, runs)
		if err != nil {
			return t, err
		}
		t.Add("`"+x.text+"`", study.Number("%.0f", mean), fmt.Sprintf("%d to %d", low, high),
			fmt.Sprintf("%d of %d", early, runs), fmt.Sprintf("%s: %d", x.library, x.index))
	}
	return t, nil
}
