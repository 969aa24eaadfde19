package faults

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/lab/internal/study"
)

// insideVariable tells a process that it is in namespaces of its own, and where its files are.
const insideVariable = "LAB_FAULTS_INSIDE"

// options are the flags of "noregret-lab faults".
type options struct {
	faults []string
	rounds int
	sync   string
	stdout io.Writer
}

// Command returns the command "noregret-lab faults".
func Command() *cobra.Command {
	all := study.Names(faults(), func(f *fault) string { return f.name })
	c := &cobra.Command{
		Use:   "faults",
		Short: "Break a cluster of three nodes and three servers under load, and check what it has promised",
		Long: `Run three servers of NATS and three nodes of noregret in processes of their own, send feedback, bring
faults about and end them. After each round everything that was acknowledged must count once, all
nodes must have the same state, and the history of a second log must be one that a log can have. It
compiles the programs with go, in the directory lab of the repository. As root on Linux the machines
have networks of their own; elsewhere faults of networks are left out. For faults of clocks the
programs are compiled with a package time whose wall clock can be set for one process.

The faults are ` + strings.Join(all, ", ") + ".",
		Example: "  noregret-lab faults --rounds 25 --faults kill-node,kill-server",
	}
	var o options
	f := c.Flags()
	f.StringSliceVar(&o.faults, "faults", nil, "faults to bring about; empty for all that are possible here")
	f.IntVar(&o.rounds, "rounds", 3, "rounds of each fault, 1 to 1000")
	f.StringVar(&o.sync, "sync", "always", "sync_interval of the servers: always, or a time such as 2m")
	return study.New(c, "rounds", func(ctx context.Context, r *study.Runner) (*study.Report, error) {
		o.stdout = c.OutOrStdout()
		return o.run(ctx, r)
	})
}

// check returns an error for a flag out of its range.
func (o *options) check() error {
	if o.rounds < 1 || o.rounds > 1000 {
		return command.OutOfRange("--rounds", o.rounds, "1 to 1000")
	}
	if _, err := time.ParseDuration(o.sync); err != nil && o.sync != "always" {
		return command.OutOfRange("--sync", o.sync, "always, or a time such as 2m")
	}
	return study.Known("--faults", o.faults, study.Names(faults(), func(f *fault) string { return f.name }))
}

// chosen are the faults that the flags name.
func (o *options) chosen() []fault {
	return slices.DeleteFunc(faults(), func(f fault) bool {
		return len(o.faults) > 0 && !slices.Contains(o.faults, f.name)
	})
}

func (o *options) run(ctx context.Context, r *study.Runner) (*study.Report, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	dir, inside := os.Getenv(insideVariable), true
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "faults"); err != nil {
			return nil, noregret.Errorf(noregret.Internal, "temporary directory", "%w", err)
		}
		defer func() { _ = os.RemoveAll(dir) }() // a rest of a temporary directory harms nobody
		own := slices.ContainsFunc(o.chosen(), func(f fault) bool { return f.needs == clocks })
		if _, err := build(ctx, dir, own); err != nil {
			return nil, err
		}
		if inside, err = isolate(ctx, dir, os.Args[1:], o.stdout, r.Notes); inside || err != nil {
			return nil, err
		}
	}
	chosen := slices.DeleteFunc(o.chosen(), func(f fault) bool { return f.needs == spaces && !inside })
	r.Expect(len(chosen) * o.rounds)
	results, err := play(ctx, plan{
		dir: filepath.Join(dir, "cluster"), programs: programsIn(dir), spaces: inside, sync: o.sync, faults: chosen,
		rounds: o.rounds, step: r.Step,
	})
	return tabulate(results), err
}

// plan is what is to be played.
type plan struct {
	dir      string
	programs programs
	spaces   bool // networks and disks of the machines' own
	sync     string
	faults   []fault
	rounds   int
	step     func()
}

// result is what the rounds of a fault have shown.
type result struct {
	fault                  fault
	rounds                 int
	acknowledged, appended int       // items of feedback, and appends to the second log
	lost, twice            int       // of both
	without                []float64 // seconds without an acknowledgement of feedback
	odd                    map[string]int
}

// play plays the rounds.
func play(ctx context.Context, p plan) (out []result, err error) {
	c, err := layOut(p.dir, p.programs, p.spaces, p.sync)
	if err != nil {
		return nil, err
	}
	defer c.close()
	if err := c.start(ctx); err != nil {
		return nil, err
	}
	h, err := c.openHistories(ctx)
	if err != nil {
		return nil, err
	}
	defer h.close()
	counted, run := 0, 0
	for _, f := range p.faults {
		r := result{fault: f, odd: map[string]int{}}
		for range p.rounds {
			run++
			if counted, err = c.round(ctx, run, counted, h, &r); err != nil {
				if _, ok := errors.AsType[*lostError](err); ok {
					return append(out, r), nil
				}
				return append(out, r), noregret.Errorf(noregret.Internal, f.name, "round %d: %w", r.rounds+1, err)
			}
			if r.lost > 0 || r.twice > 0 {
				return append(out, r), noregret.Errorf(noregret.Internal, f.name,
					"round %d: %d lost, %d counted twice", r.rounds, r.lost, r.twice)
			}
			p.step()
		}
		out = append(out, r)
	}
	return out, nil
}

// round plays one round of a fault. The nodes count some items before it, and the returned number
// after it.
func (c *cluster) round(ctx context.Context, run, counted int, h *histories, r *result) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	l := c.startLoad(ctx, run)
	h.start(ctx)
	err := l.flows(ctx)
	begun := time.Now()
	if err == nil {
		err = r.fault.run(ctx, c, l)
	}
	if lost, ok := errors.AsType[*lostError](err); ok {
		r.rounds, r.acknowledged = r.rounds+1, r.acknowledged+l.acknowledged()
		if lost.all {
			r.lost += l.acknowledged()
		}
		for _, what := range lost.said {
			r.odd[what]++
		}
		cancel()
		l.end()
		h.stop()
		h.ended.Wait()
		return counted, err
	}
	if err == nil {
		err = l.flows(ctx)
	}
	l.end()
	without := l.since(begun).Seconds()
	stored, lost, twice, wrong := h.check(ctx)
	if err == nil {
		err = wrong
	}
	if err != nil {
		return counted, err
	}
	missing, more, counted, err := l.books(ctx, counted)
	if err != nil {
		return counted, err
	}
	r.rounds++
	r.acknowledged, r.appended = r.acknowledged+len(l.known), r.appended+stored
	r.lost, r.twice = r.lost+missing+lost, r.twice+more+twice
	r.without = append(r.without, without)
	for what, n := range l.oddities {
		r.odd[what] += n
	}
	if n := len(l.unknown); n > 0 {
		r.odd["never answered"] += n
	}
	return counted, nil
}

// tabulate makes the table of the results.
func tabulate(results []result) *study.Report {
	t := study.Table{
		Title: "three servers and three nodes under faults",
		Columns: []string{
			"fault", "rounds", "feedback acknowledged", "appends acknowledged", "lost", "twice",
			"s without writes: median", "max", "noticed",
		},
	}
	for _, r := range results {
		without := slices.Clone(r.without)
		slices.Sort(without)
		middle, most := 0.0, 0.0
		if n := len(without); n > 0 {
			middle, most = stat.Quantile(without, 0.5), without[n-1]
		}
		var odd []string
		for what, n := range r.odd {
			odd = append(odd, fmt.Sprintf("%s (%d)", what, n))
		}
		slices.Sort(odd)
		t.Add(r.fault.about, r.rounds, r.acknowledged, r.appended, r.lost, r.twice, study.Number("%.1f", middle),
			study.Number("%.1f", most), strings.Join(odd, "; "))
	}
	return &study.Report{Tables: []study.Table{t}}
}
