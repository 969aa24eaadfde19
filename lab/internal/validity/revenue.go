package validity

import (
	"context"
	"fmt"
	"math"

	"github.com/noregret/noregret/confseq"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/lab/internal/study"
)

// shop is a world of revenue: 2 % of the units buy, for lognormal amounts with median 1 and σ =
// 1.8, of which those above the cap count as the cap.
type shop struct {
	name string
	cap  float64 // +Inf for none
	// units is their number, batch the number between two looks.
	units, batch int
	// contrast compares a control of a fifth of the units of each batch with the others, which are
	// equal, under a limit of 5 % below the control, instead of estimating the mean.
	contrast bool
}

const (
	buyers      = 0.02
	amountSigma = 1.8
	shopLimit   = -0.05
)

var shops = []shop{
	{name: "mean, no cap", cap: math.Inf(1), units: 200_000, batch: 100},
	{name: "mean, no cap", cap: math.Inf(1), units: 4_000_000, batch: 500},
	{name: "mean, cap 500", cap: 500, units: 200_000, batch: 100},
	{name: "mean, cap 100", cap: 100, units: 200_000, batch: 100},
	{name: "mean, cap 25", cap: 25, units: 200_000, batch: 100},
	{name: "change, no cap", cap: math.Inf(1), units: 200_000, batch: 2000, contrast: true},
	{name: "change, no cap", cap: math.Inf(1), units: 4_000_000, batch: 2000, contrast: true},
	{name: "change, cap 100", cap: 100, units: 200_000, batch: 2000, contrast: true},
}

// sales draws the revenue of n units.
func (w *shop) sales(r *random.Source, n int) (s confseq.Sequence) {
	buying := binomial(r, n, buyers)
	s = confseq.Repeated(int64(n-buying), 0)
	for range buying {
		s.Merge(confseq.Repeated(1, min(math.Exp(amountSigma*stat.Normal(r)), w.cap)))
	}
	return s
}

// visit is the result of a run: whether the 95 % sequence ever missed the truth, and its half width
// at the end relative to the mean, +Inf if it was trivial.
type visit struct {
	missed bool
	half   float64
}

// play looks after each batch.
func (w *shop) play(seed uint64) (v visit) {
	r := random.New(seed, "revenue/"+w.name)
	mean := buyers * cappedMean(amountSigma, w.cap)
	low, high := math.Inf(-1), math.Inf(1)
	look := w.looks(mean)
	for range w.units / w.batch {
		var truth float64
		low, high, truth = look(r)
		v.missed = v.missed || truth < low || truth > high
	}
	v.half = (high - low) / 2 / mean
	return v
}

// looks returns a function that draws a batch and returns the interval after it, and the truth.
func (w *shop) looks(mean float64) func(r *random.Source) (low, high, truth float64) {
	if !w.contrast {
		var s confseq.Sequence
		from := math.Inf(-1)
		if !math.IsInf(w.cap, 1) {
			from = 0
		}
		return func(r *random.Source) (low, high, truth float64) {
			s.Merge(w.sales(r, w.batch))
			low, high = s.Interval(0.05, from, w.cap)
			return low, high, mean
		}
	}
	var c confseq.Contrast
	o := confseq.ContrastOptions{Width: w.cap, Inflation: 1}
	group := func(s confseq.Sequence) confseq.Group {
		if math.IsInf(w.cap, 1) {
			return s.Group()
		}
		return s.GroupAround(mean)
	}
	return func(r *random.Source) (low, high, truth float64) {
		c.AddServed(group(w.sales(r, w.batch-w.batch/5)), group(w.sales(r, w.batch/5)))
		if o.Tight == 0 {
			o.Tight = c.Tight(shopLimit)
		}
		low, high = c.Interval(shopLimit, 0.025, o)
		return low, high, -shopLimit * mean
	}
}

// visits returns the results of the runs.
func (w *shop) visits(ctx context.Context, r *study.Runner, runs int) ([]visit, error) {
	return study.Runs(ctx, r, runs, func(run int) (visit, error) { return w.play(uint64(run)), nil })
}

// revenue measures how often the sequence of revenue misses the truth, and how wide it is at the
// end.
func revenue(ctx context.Context, r *study.Runner, out *study.Report, runs int) error {
	t := study.Table{
		Title: fmt.Sprintf("Revenue: %v of the units buy, lognormal with sigma %v, %d runs", buyers, amountSigma,
			runs),
		Columns: []string{"sequence", "units", "misses", "speaks", "half width"},
	}
	for _, w := range shops {
		missed, spoke, width := 0, 0, 0.0
		visits, err := w.visits(ctx, r, runs)
		if err != nil {
			return err
		}
		for _, v := range visits {
			if v.missed {
				missed++
			}
			if !math.IsInf(v.half, 1) {
				spoke++
				width += v.half
			}
		}
		t.Add(w.name, w.units, study.Number("%.1f %%", 100*float64(missed)/float64(runs)),
			study.Number("%.1f %%", 100*float64(spoke)/float64(runs)),
			study.Number("%.1f %%", 100*width/float64(max(spoke, 1))))
	}
	out.Tables = append(out.Tables, t)
	return nil
}

// cappedMean is the mean of a lognormal number with median 1, capped.
func cappedMean(sigma, limit float64) float64 {
	if math.IsInf(limit, 1) {
		return math.Exp(sigma * sigma / 2)
	}
	phi := func(z float64) float64 { return 0.5 * math.Erfc(-z/math.Sqrt2) }
	l := math.Log(limit) / sigma
	return math.Exp(sigma*sigma/2)*phi(l-sigma) + limit*phi(-l)
}
