// Package catastrophe measures how many units an arm that crashes gets before it is stopped: hourly
// rounds, a window of a day, four arms of which one crashes, and a guardrail on the rate of
// crashes. It prints the units of that arm by hour, in the mean of several runs.
package catastrophe

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/experiment/join"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/lab/internal/service"
	"github.com/noregret/noregret/lab/internal/study"
	"github.com/noregret/noregret/lab/world"
	"github.com/noregret/noregret/policy"
)

const text = `name: crash
arms:
  - {name: today, value: 0}
  - {name: first, value: 1}
  - {name: second, value: 2}
  - {name: crashing, value: 3}
control: {arm: today, share: 0.25}
metrics:
  - {name: sales, range: [0, 1]}
  - {name: crashes, kind: count, direction: down%s}
objective: {goals: [{metric: sales}]}
guardrails: [{metric: crashes, %s, %s}]
round: {length: 1h, min_units: 100}
attribution_window: 24h
`

// crashing is the index of the arm that crashes.
const crashing = 3

// form is a variant of the definition.
type form struct{ name, metric, limit, guardrail string }

// The limits of the guardrail: 2 %, and twice the rate of the control arm, which is 1 %.
const (
	absolute = "max: 0.02"
	relative = "max_change: 1"
)

var forms = []form{
	{"shrink, default 0", ", default: 0", absolute, "action: shrink"},
	{"shrink, default 0, range", ", default: 0, range: [0, 1]", absolute, "action: shrink"},
	{"shrink, no default", "", absolute, "action: shrink"},
	{"each arm, default 0", ", default: 0", absolute, "action: alert, each_arm: true"},
	{"rollback, default 0", ", default: 0", absolute, "action: rollback"},
	{"soft shrink, default 0", ", default: 0", absolute, "hard: false, action: shrink"},
	{"soft shrink, default 0, range", ", default: 0, range: [0, 1]", absolute, "hard: false, action: shrink"},
	{"soft shrink, no default", "", absolute, "hard: false, action: shrink"},
	{"soft each arm, default 0", ", default: 0", absolute, "hard: false, action: alert, each_arm: true"},
	{"soft rollback, default 0", ", default: 0", absolute, "hard: false, action: rollback"},
	{"soft alert, default 0", ", default: 0", absolute, "hard: false, action: alert"},
	{"relative shrink, default 0", ", default: 0", relative, "action: shrink"},
	{"relative shrink, default 0, range", ", default: 0, range: [0, 1]", relative, "action: shrink"},
	{"relative rollback, default 0", ", default: 0", relative, "action: rollback"},
	{"soft relative shrink, default 0", ", default: 0", relative, "hard: false, action: shrink"},
	{"soft relative shrink, default 0, range", ", default: 0, range: [0, 1]", relative, "hard: false, action: shrink"},
	{"soft relative each arm, default 0", ", default: 0", relative, "hard: false, action: alert, each_arm: true"},
	{"soft relative rollback, default 0", ", default: 0", relative, "hard: false, action: rollback"},
}

// hours are the rows of the table.
var hours = []int{1, 2, 3, 6, 12, 24, 36}

// Command returns the command "noregret-lab catastrophe".
func Command() *cobra.Command {
	c := &cobra.Command{
		Use:   "catastrophe",
		Short: "Count the units that an arm which crashes gets, for several forms of guardrails",
		Long: `Play an experiment with hourly rounds, four arms of which one crashes and a guardrail on the rate
of crashes, and print the units that this arm gets by hour, in the mean of several runs, for several
forms of the guardrail. With --eligible some units may not get this arm: they are decided among the
others, as callers of the service do that name the candidates of a unit.`,
		Example: `  noregret-lab catastrophe --runs 5 --only "soft shrink"
  noregret-lab catastrophe --eligible 0.5 --runs 5`,
	}
	f, w := c.Flags(), &traffic{gain: 0.01, delay: time.Minute}
	runs := f.Int("runs", 20, "number of runs")
	f.Float64Var(&w.rate, "rate", 0.1, "rate of crashes of the crashing arm; that of the others is 0.01")
	f.IntVar(&w.units, "units", 12_000, "units an hour")
	command.DurationVar(f, &w.delay, "delay", "time from a decision to its feedback")
	f.Float64Var(&w.eligible, "eligible", 1, "share of the units that may get the crashing arm, above 0 and at most 1")
	only := f.String("only", "", "print only forms whose name begins with this")
	return study.New(c, "runs", func(ctx context.Context, r *study.Runner) (*study.Report, error) {
		if *runs < 1 {
			return nil, noregret.Errorf(noregret.Usage, "--runs", "%d: want at least 1", *runs)
		}
		if !(w.eligible > 0 && w.eligible <= 1) {
			return nil, noregret.Errorf(noregret.Usage, "--eligible", "%v: want a share above 0 and at most 1",
				w.eligible)
		}
		chosen := slices.Clone(forms)
		chosen = slices.DeleteFunc(chosen, func(f form) bool { return !strings.HasPrefix(f.name, *only) })
		if len(chosen) == 0 {
			names := study.Names(forms, func(f *form) string { return strconv.Quote(f.name) })
			return nil, study.Unknown("--only", *only, names)
		}
		return table(ctx, r, *runs, *w, chosen, hours)
	})
}

// table has the mean numbers of units by hour.
func table(ctx context.Context, r *study.Runner, runs int, of traffic, forms []form, hours []int,
) (*study.Report, error) {
	out := &study.Report{Tables: []study.Table{{Columns: []string{"units by hour"}}}}
	t := &out.Tables[0]
	for _, h := range hours {
		t.Columns = append(t.Columns, strconv.Itoa(h))
	}
	r.Expect(len(forms) * runs)
	for _, f := range forms {
		got, err := study.Runs(ctx, r, runs, func(seed int) ([]int, error) {
			w := of
			return w.play(f, uint64(seed), hours)
		})
		if err != nil {
			return out, err
		}
		row := []any{f.name}
		for i := range hours {
			sum := 0
			for _, units := range got {
				sum += units[i]
			}
			row = append(row, (sum+runs/2)/runs)
		}
		t.Add(row...)
	}
	return out, nil
}

// step is the time between two events of the service.
const step = 10 * time.Second

// traffic arrives evenly, and its feedback after a delay.
type traffic struct {
	rate, gain float64 // of crashes of the crashing arm, and what it sells more than the others
	units      int     // an hour
	delay      time.Duration
	// eligible is the share of the units that may get the crashing arm.
	eligible float64
	// surge multiplies the rates of crashes of all arms, by the step; nil for not at all.
	surge   func(step int) float64
	stopped int   // arms that are stopped at the end of the run
	redrawn int64 // units that got another arm as theirs was not allowed
}

// law is what the units do in the given number of steps: sales and crashes.
func (w *traffic) law(steps int) (*world.World, error) {
	l, err := world.New(steps, w.units/int(time.Hour/step), make([]world.Outcome, 2),
		[]float64{0.1, 0.1, 0.1, 0.1 + w.gain}, []float64{0.01, 0.01, 0.01, w.rate})
	if err != nil {
		return nil, err
	}
	l.Delay = int(w.delay / step)
	if w.eligible < 1 {
		l.Segments = []world.Segment{
			{Share: w.eligible, Allowed: []bool{true, true, true, true}},
			{Share: 1 - w.eligible, Allowed: []bool{true, true, true, false}},
		}
	}
	for t := 0; w.surge != nil && t < steps; t++ {
		l.Levels = append(l.Levels, []float64{1, w.surge(t)})
	}
	return l, nil
}

// play returns the units of the crashing arm by hour.
func (w *traffic) play(f form, seed uint64, hours []int) (out []int, err error) {
	s, err := service.New("crash", []byte(fmt.Sprintf(text, f.metric, f.limit, f.guardrail)))
	if err != nil {
		return nil, err
	}
	law, err := w.law(hours[len(hours)-1] * int(time.Hour/step))
	if err != nil {
		return nil, err
	}
	rng, crashed, defaults := random.New(seed, "catastrophe"), 0, strings.Contains(f.metric, "default")
	sampler := world.NewSampler(law, rng.Uint64())
	waiting := make([][]join.Unit, law.Delay+1)
	for t, units := range law.Units {
		batch := join.Units{Experiment: "crash"}
		var later []join.Unit
		for range units {
			shown, told, err := unit(s, law, sampler, t, rng.Uint64(), defaults)
			if err != nil {
				return nil, err
			}
			if shown.Arm == crashing {
				crashed++
			}
			batch.Items, later = append(batch.Items, shown), append(later, told)
		}
		if err := s.Report(experiment.KindExposures, batch); err != nil {
			return nil, err
		}
		waiting = append(waiting, later)
		batch.Items, waiting = waiting[0], waiting[1:]
		if len(batch.Items) > 0 {
			if err := s.Report(experiment.KindFeedback, batch); err != nil {
				return nil, err
			}
		}
		if err := s.Pass(step); err != nil {
			return nil, err
		}
		if time.Duration(t+1)*step == time.Duration(hours[len(out)])*time.Hour {
			out = append(out, crashed)
		}
	}
	report, err := s.State.Report("crash")
	if err != nil {
		return nil, err
	}
	w.stopped, w.redrawn = 0, report.Health.Redrawn
	for i := range report.Arms {
		if report.Arms[i].Stopped != "" {
			w.stopped++
		}
	}
	return out, nil
}

// unit decides for a unit, and returns its exposure and its feedback. Where crashes have a default,
// a unit that does not crash does not report it. Where not all units may get all arms, the service
// keeps the decision, and the feedback names only the unit.
func unit(s *service.Service, law *world.World, sampler *world.Sampler, t int, hash uint64, defaults bool,
) (shown, told join.Unit, err error) {
	p := s.State.Policy("crash")
	a, kept := p.DecideHash(hash), (*join.Kept)(nil)
	if law.Masked() {
		allowed := sampler.Allowed(t, hash)
		c, err := p.DecideAmong(strconv.FormatUint(hash, 16), nil, allowed)
		if err != nil {
			return shown, told, err
		}
		a, kept = c.Assignment, &join.Kept{Redrawn: c.Redrawn}
		if slices.Contains(allowed, false) {
			for k, ok := range allowed {
				if ok {
					kept.Among = append(kept.Among, k)
				}
			}
		}
	}
	var v [2]float64
	sampler.Unit(t, a.Arm, hash, v[:])
	metrics := map[string]float64{"sales": v[0], "crashes": v[1]}
	if defaults && v[1] == 0 {
		delete(metrics, "crashes")
	}
	shown = join.UnitOf(policy.Token{
		Experiment: "crash", Version: a.Version, Arm: a.Arm, Propensity: a.Propensity, Unit: a.Unit,
		Time: time.Unix(0, s.Now),
	}, nil)
	if told, shown.Kept = shown, kept; kept != nil {
		told = join.Unit{Unit: shown.Unit}
	}
	told.Metrics = metrics
	return shown, told, nil
}
