package arena

import (
	"context"
	"fmt"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/parallel"
	"github.com/noregret/noregret/lab/internal/study"
	"github.com/noregret/noregret/lab/world"
)

// Options say what to play.
type Options struct {
	// Families and Learners are names; none means all.
	Families, Learners []string
	// Entries are played in place of Learners where there are any.
	Entries []Entry
	// Runs is the number of runs of each family, at least 2.
	Runs int
	// Seed is that of all randomness.
	Seed uint64
	// Workers is the number of runs that play at a time; 0 means one for each processor. The result
	// does not depend on it.
	Workers int
	// Progress is called after each run with the numbers of runs done and in all; nil is not
	// called. Calls do not overlap.
	Progress func(done, total int)
}

// Row is what a learner did in a family, over all runs; see [Play].
type Row struct {
	Learner      string         `json:"learner"`
	Deployed     study.Estimate `json:"deployed"`
	Served       study.Estimate `json:"served"`
	RawDeployed  study.Estimate `json:"raw_deployed"`
	RawServed    study.Estimate `json:"raw_served"`
	Violation    study.Estimate `json:"violation"`
	BrokenRounds study.Estimate `json:"broken_rounds"`
	// Rounds that broke one by more than .5 % of the control's mean.
	ClearRounds    study.Estimate `json:"clear_rounds"`
	BrokenRuns     study.Estimate `json:"broken_runs"`     // runs with a round in which a guardrail broke
	DeployedBroken study.Estimate `json:"deployed_broken"` // runs that deploy a mixture that breaks one
	// Runs that served less than the control is worth.
	ServedWorse   study.Estimate `json:"served_worse"`
	DeployedWorse study.Estimate `json:"deployed_worse"` // runs that deploy less than that
}

// FamilyResult is what all learners did in a family.
type FamilyResult struct {
	Family string `json:"family"`
	Rows   []Row  `json:"rows"`
}

// Result is what a call of [Run] has measured.
type Result struct {
	Runs     int            `json:"runs"`
	Seed     uint64         `json:"seed"`
	Families []FamilyResult `json:"families"`
}

// Run plays all runs of the families with all learners. Every learner of a run plays the same world
// with the same draws. Runs are independent and summed up in their order. It stops with ctx's error
// when ctx ends, and returns an error of code usage for an unknown name or fewer than 2 runs.
func Run(ctx context.Context, o Options) (*Result, error) {
	if o.Runs < 2 {
		return nil, noregret.Errorf(noregret.Usage, "runs", "%d: want at least 2, for standard errors", o.Runs)
	}
	families, entries, err := o.find()
	if err != nil {
		return nil, err
	}
	plays, err := o.playAll(ctx, families, entries)
	if err != nil {
		return nil, err
	}
	r := &Result{Runs: o.Runs, Seed: o.Seed}
	for i := range families {
		r.Families = append(r.Families, summarize(families[i].Name, entries, plays[i]))
	}
	return r, nil
}

func (o *Options) find() (families []world.Family, entries []Entry, err error) {
	families, entries = world.Families(), Learners()
	if len(o.Families) > 0 {
		families = nil
		for _, name := range o.Families {
			f, err := world.FindFamily(name)
			if err != nil {
				return nil, nil, err
			}
			families = append(families, *f)
		}
	}
	if len(o.Entries) > 0 {
		entries = o.Entries
	} else if len(o.Learners) > 0 {
		entries = nil
		for _, name := range o.Learners {
			e, err := FindLearner(name)
			if err != nil {
				return nil, nil, err
			}
			entries = append(entries, *e)
		}
	}
	return families, entries, nil
}

// playAll returns the plays by family, run and learner.
func (o *Options) playAll(ctx context.Context, families []world.Family, entries []Entry) ([][][]Play, error) {
	done, all := 0, len(families)*o.Runs
	report := func(int) {
		if done++; o.Progress != nil {
			o.Progress(done, all)
		}
	}
	plays, err := parallel.Runs(ctx, all, o.Workers, report, func(job int) ([]Play, error) {
		f, run := &families[job/o.Runs], job%o.Runs
		plays, err := playRun(ctx, f, entries, o.Seed, run)
		if err != nil {
			return nil, fmt.Errorf("family %s, run %d: %w", f.Name, run, err)
		}
		return plays, nil
	})
	if err != nil {
		return nil, err
	}
	return slices.Collect(slices.Chunk(plays, o.Runs)), nil
}

// rounding is what rounding may take from a value.
const rounding = 1e-6

// estimate returns the mean of f over the runs.
func estimate(runs [][]Play, f func(plays []Play) float64) study.Estimate {
	values := make([]float64, len(runs))
	for i, plays := range runs {
		values[i] = f(plays)
	}
	return study.MeanOf(values)
}

func indicator(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// summarize sums up the runs of a family.
func summarize(family string, entries []Entry, runs [][]Play) FamilyResult {
	r := FamilyResult{Family: family}
	for i := range entries {
		of := func(f func(p *Play) float64) study.Estimate {
			return estimate(runs, func(plays []Play) float64 { return f(&plays[i]) })
		}
		r.Rows = append(r.Rows, Row{
			Learner:        entries[i].Name,
			Deployed:       of(func(p *Play) float64 { return p.Deployed }),
			Served:         of(func(p *Play) float64 { return p.Served }),
			RawDeployed:    of(func(p *Play) float64 { return p.RawDeployed }),
			RawServed:      of(func(p *Play) float64 { return p.RawServed }),
			Violation:      of(func(p *Play) float64 { return p.Violation }),
			BrokenRounds:   of(func(p *Play) float64 { return p.Broken }),
			ClearRounds:    of(func(p *Play) float64 { return p.Clear }),
			BrokenRuns:     of(func(p *Play) float64 { return indicator(p.Broken > 0) }),
			DeployedBroken: of(func(p *Play) float64 { return indicator(p.DeployedBroken) }),
			ServedWorse:    of(func(p *Play) float64 { return indicator(p.Served < -rounding) }),
			DeployedWorse:  of(func(p *Play) float64 { return indicator(p.Deployed < -rounding) }),
		})
	}
	return r
}

const (
	// mostBroken is the share of rounds in which a learner may break a hard guardrail.
	mostBroken = 0.01
	// mostDeployedBroken is the share of runs in which it may deploy a mixture that breaks one: 2.3
	// % for one guardrail with two standard errors of caution, and there may be more.
	mostDeployedBroken = 0.05
)
