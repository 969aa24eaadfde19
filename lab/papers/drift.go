package papers

import (
	"context"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/drift"
	"github.com/noregret/noregret/forget"
	"github.com/noregret/noregret/internal/cli/show"
	"github.com/noregret/noregret/internal/compensated"
	"github.com/noregret/noregret/internal/parallel"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/lab/internal/study"
	"github.com/noregret/noregret/oco"
	"github.com/noregret/noregret/play"
	"github.com/noregret/noregret/regret"
)

// DriftCell is one cell of the tables of Besbes, Gur and Zeevi, "Non-stationary Stochastic
// Optimization" (2015), Appendix D: a learner in the game regret.NewTarget.
type DriftCell struct {
	// Setting is "gradient", for noisy gradients and gradient descent, or "cost", for noisy costs
	// and the estimated gradient step.
	Setting string
	// Pattern is how the target moves from 1 to 0.
	Pattern regret.Pattern
	// Noise is the standard deviation of the noise, from 0 to 10⁶.
	Noise float64
	// Policy is "restarted" for the schedule of steps 1/k, or 2/k for costs, that begins anew with
	// every batch, at the point reached; "plain" for the schedule without restarts; and
	// "fixed:STEP" for a constant step.
	Policy string
}

// DriftOptions are the runs of [RunDrift].
type DriftOptions struct {
	// Runs is the number of runs of each cell and horizon, at least 1, and Seed the seed of all.
	Runs int
	Seed uint64
	// Workers is the number of runs at a time, 0 for one a processor. Results do not depend on it.
	Workers int
	// Progress, if not nil, is called with the number of runs played so far and of all runs of all
	// cells and horizons. Calls do not overlap.
	Progress func(done, total int)
}

// DriftHorizon is the outcome of a cell for one horizon T.
type DriftHorizon struct {
	Rounds int
	// Regret is the mean dynamic regret over the runs, and Error its standard error, NaN for one
	// run.
	Regret, Error float64
	// Loss and LossError are the same in percent of the best sequence's loss Σ f_t(x*_t).
	Loss, LossError float64
}

// DriftResult is the outcome of a cell.
type DriftResult struct {
	DriftCell
	// Runs is the number of runs of each horizon that the results are from, of those Asked for.
	Runs, Asked int
	Horizons    []DriftHorizon
	// Alpha and C are those of the least-squares fit ln regret = ln C + (1 − α)·ln T over the
	// horizons, and R2 is its coefficient of determination; NaN for fewer than two horizons.
	Alpha, C, R2 float64
}

// MarshalJSON implements [json.Marshaler]. The losses are an object in the order of the horizons.
func (r DriftResult) MarshalJSON() ([]byte, error) {
	loss := study.Object{}
	for _, h := range r.Horizons {
		loss = append(loss, study.Member{Name: strconv.Itoa(h.Rounds), Value: show.Number(h.Loss)})
	}
	return json.Marshal(study.Object{
		{Name: "setting", Value: r.Setting},
		{Name: "pattern", Value: int(r.Pattern)},
		{Name: "noise", Value: show.Number(r.Noise)},
		{Name: "policy", Value: r.Policy},
		{Name: "one_minus_alpha", Value: show.Number(1 - r.Alpha)},
		{Name: "c", Value: show.Number(r.C)},
		{Name: "r2", Value: show.Number(r.R2)},
		{Name: "loss_percent", Value: loss},
		{Name: "runs", Value: r.Runs},
		{Name: "runs_asked", Value: r.Asked},
	})
}

// driftPlay plays one run of a cell.
type driftPlay struct {
	cell   *DriftCell
	step   float64 // of fixed:STEP, else 0
	rounds int
}

// newDriftPlay checks a cell and a horizon.
func newDriftPlay(c *DriftCell, rounds int) (*driftPlay, error) {
	p := &driftPlay{cell: c, rounds: rounds}
	if c.Setting != "gradient" && c.Setting != "cost" {
		return nil, noregret.Errorf(noregret.Usage, "setting", "%q: want gradient or cost", c.Setting)
	}
	if text, fixed := strings.CutPrefix(c.Policy, "fixed:"); fixed {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || !(v > 0 && v <= 2) {
			return nil, noregret.Errorf(noregret.Usage, "policy", "%q: want a step above 0 and at most 2", c.Policy)
		}
		p.step = v
	} else if c.Policy != "restarted" && c.Policy != "plain" {
		return nil, noregret.Errorf(noregret.Usage, "policy", "%q: want restarted, plain or fixed:STEP", c.Policy)
	}
	switch {
	case c.Pattern < regret.Jump || c.Pattern > regret.Ramp:
		return nil, noregret.Errorf(noregret.Usage, "pattern", "%d: want 1, 2 or 3", c.Pattern)
	case !(c.Noise >= 0 && c.Noise <= 1e6):
		return nil, noregret.Errorf(noregret.Usage, "noise", "%v: want a standard deviation from 0 to 1000000", c.Noise)
	case rounds < 2 || rounds > 1e9:
		return nil, noregret.Errorf(noregret.Usage, "rounds", "%d: want from 2 to 1000000000", rounds)
	}
	return p, nil
}

// batch is the number of rounds between restarts for the variation 1.
func (p *driftPlay) batch() (int, error) {
	b, err := drift.NewBudget(p.rounds, 1)
	if err != nil {
		return 0, err
	}
	if p.cell.Setting == "cost" {
		return b.BatchSize(drift.StronglyConvexCost), nil
	}
	return b.BatchSize(drift.StronglyConvexGradient), nil
}

// start is the round of the change to which the published numbers correspond. They are of an early
// change for the two policies without a constant step in the jump.
func (p *driftPlay) start() int {
	if p.step > 0 {
		return regret.Ramp.DefaultStart(p.rounds)
	}
	return p.cell.Pattern.DefaultStart(p.rounds)
}

// player makes the learner.
func (p *driftPlay) player(set convex.Set, seed uint64) (regret.Player, error) {
	size, err := p.batch()
	if err != nil {
		return nil, err
	}
	trigger := forget.Never()
	if p.cell.Policy == "restarted" {
		if trigger, err = forget.Every(size); err != nil {
			return nil, err
		}
	}
	first := []float64{0.5}
	if p.cell.Setting == "gradient" {
		rate := oco.StronglyConvex(1)
		if p.step > 0 {
			rate = oco.Constant(p.step)
		}
		if p.cell.Policy != "restarted" {
			return oco.NewSubgradientDescent(set, first, rate)
		}
		return drift.NewRestarted(drift.RestartedOptions{
			Make: drift.Descent(set, first, rate), Trigger: trigger, Mode: drift.Schedule,
		})
	}
	o := drift.EGSOptions{Set: set, First: first, Curvature: 1, Depth: 2}
	if p.step > 0 {
		o.Curvature, o.Step = 0, p.step
	}
	egs, err := drift.NewEGS(o)
	if err != nil {
		return nil, err
	}
	restarted, err := drift.NewRestartedCost(egs, trigger, drift.Schedule)
	if err != nil {
		return nil, err
	}
	return play.NewCostPlayer(restarted, seed)
}

// run plays one run and returns its dynamic regret.
func (p *driftPlay) run(ctx context.Context, seed uint64) (float64, error) {
	c, start := p.cell, p.start()
	game, err := regret.NewTarget(c.Pattern, p.rounds, start, c.Noise, seed)
	if err != nil {
		return 0, err
	}
	player, err := p.player(game.Set(), seed)
	if err != nil {
		return 0, err
	}
	cert, err := regret.Play(ctx, player, game, p.rounds, regret.Options{
		Comparator: []float64{0}, // none is sought
		Moving:     func(u []float64, t int) { u[0] = c.Pattern.Target(t, start, p.rounds) },
	})
	if err != nil {
		return 0, err
	}
	return cert.DynamicRegret, nil
}

// best is the loss of the best sequence, Σ (1 − ½·b_t²).
func (p *driftPlay) best() float64 {
	var sum compensated.Sum
	start := p.start()
	for t := 1; t <= p.rounds; t++ {
		b := p.cell.Pattern.Target(t, start, p.rounds)
		sum.Add(1)
		sum.AddProduct(-b/2, b)
	}
	return sum.Value()
}

// driftJob is one run of something for a horizon.
type driftJob struct {
	rounds, run int
	stream      string // of the seed
	play        func(ctx context.Context, seed uint64) (regret float64, err error)
	regret      float64
	done        bool
}

// RunDrift plays cells, each for every horizon of the list with its number, in independent runs. It
// returns the results in the order of the cells. Runs of equal horizons see the same noise in all
// cells of a setting. The result is the same for any number of workers. RunDrift returns an error
// of code usage for a cell or a horizon that is out of range. If ctx ends, it returns ctx's error
// with the results of the runs that all cells and horizons have completed; without any they are
// NaN.
func RunDrift(ctx context.Context, cells []DriftCell, horizons [][]int, o DriftOptions) ([]DriftResult, error) {
	if len(cells) == 0 || len(horizons) != len(cells) {
		return nil, noregret.Errorf(noregret.Usage, "rounds", "%d lists of horizons for %d cells: want one for each",
			len(horizons), len(cells))
	}
	if o.Runs < 1 || o.Runs > 1e6 {
		return nil, noregret.Errorf(noregret.Usage, "runs", "%d: want from 1 to 1000000", o.Runs)
	}
	var plays []*driftPlay
	var jobs []driftJob
	for i := range cells {
		if len(horizons[i]) == 0 {
			return nil, noregret.Errorf(noregret.Usage, "rounds", "no horizon: at least one is required")
		}
		for k, rounds := range horizons[i] {
			if k > 0 && rounds <= horizons[i][k-1] {
				return nil, noregret.Errorf(noregret.Usage, "rounds", "%d after %d: want ascending horizons", rounds,
					horizons[i][k-1])
			}
			p, err := newDriftPlay(&cells[i], rounds)
			if err != nil {
				return nil, err
			}
			plays = append(plays, p)
			for run := range o.Runs {
				jobs = append(jobs, driftJob{rounds: rounds, run: run, stream: cells[i].Setting, play: p.run})
			}
		}
	}
	runs, err := playDrift(ctx, jobs, o)
	if err != nil && ctx.Err() == nil {
		return nil, err
	}
	results := make([]DriftResult, len(cells))
	for i := range cells {
		results[i].DriftCell, results[i].Runs, results[i].Asked = cells[i], runs, o.Runs
		for range horizons[i] {
			h := DriftHorizon{Rounds: plays[0].rounds}
			h.Regret, h.Error = meanRegret(jobs[:runs])
			percent := 100 / plays[0].best()
			h.Loss, h.LossError = float64(percent*h.Regret), float64(percent*h.Error)
			results[i].Horizons = append(results[i].Horizons, h)
			plays, jobs = plays[1:], jobs[o.Runs:]
		}
		results[i].fit()
	}
	return results, err
}

// playDrift plays all jobs, which are ordered by cell and horizon, then by run. It plays the first
// run of all before the second of any, and returns the number of runs that all have completed.
func playDrift(ctx context.Context, jobs []driftJob, o DriftOptions) (runs int, err error) {
	groups := len(jobs) / o.Runs
	at := func(i int) *driftJob { return &jobs[i%groups*o.Runs+i/groups] }
	done := 0
	report := func(int) {
		if done++; o.Progress != nil {
			o.Progress(done, len(jobs))
		}
	}
	_, err = parallel.Runs(ctx, len(jobs), o.Workers, report, func(i int) (_ struct{}, err error) {
		j := at(i)
		stream := "papers/drift/" + j.stream + "/" + strconv.Itoa(j.rounds)
		seed := random.New(o.Seed+uint64(j.run), stream).Uint64()
		j.regret, err = j.play(ctx, seed)
		j.done = err == nil
		return struct{}{}, err
	})
	if err != nil && ctx.Err() == nil {
		return 0, err
	}
	runs = o.Runs
	for i := range jobs {
		if !jobs[i].done {
			runs = min(runs, jobs[i].run)
		}
	}
	return runs, err
}

// meanRegret is the mean of the regrets, with its standard error, NaN for one run. Both are NaN for
// none.
func meanRegret(jobs []driftJob) (mean, deviation float64) {
	n := float64(len(jobs))
	var sum, squares compensated.Sum
	for i := range jobs {
		sum.Add(jobs[i].regret)
	}
	mean = sum.Value() / n
	if len(jobs) < 2 {
		return mean, math.NaN()
	}
	for i := range jobs {
		d := jobs[i].regret - mean
		squares.AddProduct(d, d)
	}
	return mean, math.Sqrt(squares.Value() / (n - 1) / n)
}

// fit fits ln regret to ln T.
func (r *DriftResult) fit() {
	x, y := make([]float64, len(r.Horizons)), make([]float64, len(r.Horizons))
	for i, h := range r.Horizons {
		x[i], y[i] = portable.Log(float64(h.Rounds)), portable.Log(h.Regret)
	}
	l := fitLine(x, y, nil)
	r.Alpha, r.C, r.R2 = 1-l.slope, portable.Exp(l.intercept), l.r2
}

// line is a least-squares line.
type line struct {
	slope, intercept, r2 float64
	// spread is the standard error of the slope that independent errors of the y cause.
	spread float64
}

// fitLine fits y = intercept + slope·x by least squares; errors are the standard errors of the y,
// nil if they are not known. All is NaN for fewer than two points.
func fitLine(x, y, errors []float64) line {
	n := float64(len(x))
	nan := math.NaN()
	if len(x) < 2 {
		return line{nan, nan, nan, nan}
	}
	var mx, my float64
	for i := range x {
		mx += x[i] / n
		my += y[i] / n
	}
	var xx, xy, yy float64
	for i := range x {
		dx, dy := x[i]-mx, y[i]-my
		xx += float64(dx * dx)
		xy += float64(dx * dy)
		yy += float64(dy * dy)
	}
	l := line{slope: xy / xx, r2: 1}
	l.intercept = my - float64(l.slope*mx)
	if yy > 0 {
		var rest float64
		for i := range x {
			d := y[i] - my - float64(l.slope*(x[i]-mx))
			rest += float64(d * d)
		}
		l.r2 = 1 - rest/yy
	}
	var square float64
	for i := range errors {
		w := (x[i] - mx) / xx * errors[i]
		square += float64(w * w)
	}
	l.spread = math.Sqrt(square)
	return l
}
