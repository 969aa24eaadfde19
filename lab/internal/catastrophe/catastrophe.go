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
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/lab/internal/service"
	"github.com/noregret/noregret/lab/internal/study"
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
forms of the guardrail.`,
		Example: `  noregret-lab catastrophe --runs 5 --only "soft shrink"`,
	}
	f, w := c.Flags(), &world{}
	runs := f.Int("runs", 20, "number of runs")
	f.Float64Var(&w.rate, "rate", 0.1, "rate of crashes of the crashing arm; that of the others is 0.01")
	f.IntVar(&w.units, "units", 12_000, "units an hour")
	f.DurationVar(&w.delay, "delay", time.Minute, "time from a decision to its feedback")
	only := f.String("only", "", "print only forms whose name begins with this")
	return study.New(c, "runs", func(ctx context.Context, r *study.Runner) (*study.Report, error) {
		if *runs < 1 {
			return nil, noregret.Errorf(noregret.Usage, "--runs", "%d: want at least 1", *runs)
		}
		chosen := slices.Clone(forms)
		chosen = slices.DeleteFunc(chosen, func(f form) bool { return !strings.HasPrefix(f.name, *only) })
		return table(ctx, r, *runs, *w, chosen, hours)
	})
}

// table has the mean numbers of units by hour.
func table(ctx context.Context, r *study.Runner, runs int, of world, forms []form, hours []int,
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

// world is the traffic: units arrive evenly, and their feedback arrives after a delay.
type world struct {
	rate  float64
	units int // an hour
	delay time.Duration
	// common is the rate of crashes of all arms, by the time since the beginning; nil for the rates
	// of the table.
	common  func(since time.Duration) float64
	stopped int // arms that are stopped at the end of the run
}

// play returns the units of the crashing arm by hour.
func (w *world) play(f form, seed uint64, hours []int) (out []int, err error) {
	s, err := service.New("crash", []byte(fmt.Sprintf(text, f.metric, f.limit, f.guardrail)))
	if err != nil {
		return nil, err
	}
	const step = 10 * time.Second
	rng, crashed := random.New(seed, "catastrophe"), 0
	waiting := make([][]experiment.UnitEvent, int(w.delay/step)+1)
	next, defaults, begin := 0, strings.Contains(f.metric, "default"), s.Now
	for tick := 1; next < len(hours); tick++ {
		batch := experiment.UnitsEvent{Experiment: "crash"}
		var later []experiment.UnitEvent
		for range w.units / int(time.Hour/step) {
			e, crashing := w.unit(s, rng, defaults, time.Duration(s.Now-begin))
			if crashing {
				crashed++
			}
			later = append(later, e)
			e.Metrics = nil
			batch.Items = append(batch.Items, e)
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
		if time.Duration(tick)*step == time.Duration(hours[next])*time.Hour {
			out, next = append(out, crashed), next+1
		}
	}
	report, err := s.State.Report("crash")
	if err != nil {
		return nil, err
	}
	w.stopped = 0
	for i := range report.Arms {
		if report.Arms[i].Stopped != "" {
			w.stopped++
		}
	}
	return out, nil
}

// unit decides for a unit. Where crashes have a default, a unit that does not crash does not report
// it.
func (w *world) unit(s *service.Service, rng *random.Source, defaults bool, since time.Duration,
) (e experiment.UnitEvent, crashing bool) {
	a := s.State.Policy("crash").DecideHash(rng.Uint64())
	crashing = a.Name == "crashing"
	rate, sales := 0.01, 0.1
	if crashing {
		rate, sales = w.rate, 0.11
	}
	if w.common != nil {
		rate, sales = w.common(since), 0.1
	}
	metrics := map[string]float64{"sales": 0}
	if rng.Float64() < sales {
		metrics["sales"] = 1
	}
	if rng.Float64() < rate {
		metrics["crashes"] = 1
	} else if !defaults {
		metrics["crashes"] = 0
	}
	return experiment.UnitOf(policy.Token{
		Experiment: "crash", Version: a.Version, Arm: a.Arm, Propensity: a.Propensity, Unit: a.Unit,
		Time: time.Unix(0, s.Now),
	}, metrics), crashing
}
