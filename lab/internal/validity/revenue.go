package validity

import (
	"context"
	"fmt"
	"math"

	"github.com/noregret/noregret/confseq"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/lab/internal/study"
	"github.com/noregret/noregret/lab/world"
)

// shop is a world of revenue: 2 % of the units buy, for lognormal amounts with median 1 and σ =
// 1.8, of which those above the cap count as the cap.
type shop struct {
	name string
	cap  float64 // 0 for none
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

// meanAmount is the mean of an amount without a cap.
var meanAmount = math.Exp(amountSigma * amountSigma / 2)

var shops = []shop{
	{name: "mean, no cap", units: 200_000, batch: 100},
	{name: "mean, no cap", units: 4_000_000, batch: 500},
	{name: "mean, cap 500", cap: 500, units: 200_000, batch: 100},
	{name: "mean, cap 100", cap: 100, units: 200_000, batch: 100},
	{name: "mean, cap 25", cap: 25, units: 200_000, batch: 100},
	{name: "change, no cap", units: 200_000, batch: 2000, contrast: true},
	{name: "change, no cap", units: 4_000_000, batch: 2000, contrast: true},
	{name: "change, cap 100", cap: 100, units: 200_000, batch: 2000, contrast: true},
}

// visit is the result of a run: whether the 95 % sequence ever missed the truth, and its half width
// at the end relative to the mean, +Inf if it was trivial.
type visit struct {
	missed bool
	half   float64
}

// play looks after each batch. Units spend 1 in the mean.
func (w *shop) play(seed uint64) (v visit, err error) {
	sales := world.Outcome{Kind: world.Revenue, Sigma: amountSigma, Cap: w.cap / meanAmount}
	law, err := world.New(w.units/w.batch, w.batch, []world.Outcome{{}, sales},
		[]float64{buyers, buyers}, []float64{1, 1})
	if err != nil {
		return v, err
	}
	s := world.NewSampler(law, random.New(seed, "revenue/"+w.name).Uint64())
	low, high := math.Inf(-1), math.Inf(1)
	look := w.looks(s, sales.Most()/buyers)
	for t := range law.Rounds() {
		var truth float64
		low, high, truth = look(t)
		v.missed = v.missed || truth < low || truth > high
	}
	v.half = (high - low) / 2
	return v, nil
}

// looks returns a function that draws a batch and returns the interval after it, and the truth.
func (w *shop) looks(s *world.Sampler, most float64) func(t int) (low, high, truth float64) {
	if !w.contrast {
		var all confseq.Sequence
		from := math.Inf(-1)
		if w.cap > 0 {
			from = 0
		}
		return func(t int) (low, high, truth float64) {
			all.Merge(sequence(&s.Round(t, []float64{1, 0})[0], 1))
			low, high = all.Interval(0.05, from, most)
			return low, high, 1
		}
	}
	var c confseq.Contrast
	o := confseq.ContrastOptions{Width: most, Inflation: 1}
	group := func(g *world.Group) confseq.Group {
		x := sequence(g, 1)
		if w.cap > 0 {
			return x.GroupAround(1)
		}
		return x.Group()
	}
	return func(t int) (low, high, truth float64) {
		groups := s.Round(t, []float64{0.2, 0.8}) // the control is the first
		c.AddServed(group(&groups[1]), group(&groups[0]))
		if o.Tight == 0 {
			o.Tight = c.Tight(shopLimit)
		}
		low, high = c.Interval(shopLimit, 0.025, o)
		return low, high, -shopLimit
	}
}

// visits returns the results of the runs.
func (w *shop) visits(ctx context.Context, r *study.Runner, runs int) ([]visit, error) {
	return study.Runs(ctx, r, runs, func(run int) (visit, error) { return w.play(uint64(run)) })
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
