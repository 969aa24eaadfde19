// Package world simulates the users of "noregret demo": the lists that they are shown, the truth
// about the settings that rank the lists, and a clock that is advanced after each round. Everything
// is generated from a seed, so that a demonstration prints the same each time.
package world

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/client"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/scenario"
)

const (
	// Experiment is the experiment's name in demo.yaml.
	Experiment = "ranking"
	// Visits is the number of visits of a user in a round.
	Visits = 20

	items       = 600  // that are generated
	batch       = 2000 // visits in a request
	fineGrid    = 100  // steps between 0 and 1 of the fine settings
	keptQuality = 0.94 // least share of today's documentary recall
)

//go:embed demo.yaml
var definitionText []byte

// clock is the service's clock, which the demonstration advances.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) forward(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

// World holds the users of the service, and the truth about the arms. Only [World.Now] is safe for
// concurrent use.
type World struct {
	clock      clock
	lists      *scenario.Lists
	settings   []float64 // α of each list: the grid's, the control arm's, then the fine ones
	names      []string  // of the arms: the grid, then the control arm
	grid       int       // number of arms of the grid
	definition *definition.Definition
	limit      float64
	window     time.Duration
	length     time.Duration
	truth      *scenario.Truth // about the arms
	fine       int             // the best fine setting that holds the guardrail, else 0
	visits     *random.Source
	late       []api.FeedbackItem // feedback that waits until it is too late
}

// New generates users and items and computes the truth about the arms of demo.yaml. It returns an
// error if no setting holds the guardrail among these users.
func New(users int, seed uint64) (*World, error) {
	def, err := definition.Parse("demo.yaml", definitionText)
	if err != nil {
		return nil, err
	}
	w := &World{
		clock: clock{t: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}, definition: def,
		window: time.Duration(def.AttributionWindow), length: time.Duration(def.Round.Length),
		visits: random.New(seed, "demo visits"),
	}
	for _, v := range def.Arms.Grid["alpha"] {
		var alpha float64
		if err := json.Unmarshal(v, &alpha); err != nil {
			return nil, noregret.Errorf(noregret.Internal, "demo.yaml", "alpha: %w", err)
		}
		w.settings = append(w.settings, alpha)
		w.names = append(w.names, "alpha="+string(v))
	}
	w.grid = len(w.names)
	var today struct{ Alpha float64 }
	if err := json.Unmarshal(def.Control.Value, &today); err != nil {
		return nil, noregret.Errorf(noregret.Internal, "demo.yaml", "control: %w", err)
	}
	w.settings, w.names = append(w.settings, today.Alpha), append(w.names, def.Control.Arm)
	for k := range fineGrid + 1 {
		w.settings = append(w.settings, float64(k)/fineGrid)
	}
	if w.lists, err = scenario.NewLists(users, items, w.settings, seed); err != nil {
		return nil, err
	}
	m := w.lists.Mean(w.grid)
	w.limit = math.Round(keptQuality*m.Found/m.Wanted*100) / 100
	def.Guardrails[0].Min = &w.limit
	if w.truth, err = w.solve(0, w.grid); err != nil {
		return nil, err
	}
	if w.truth.Arm < 0 {
		return nil, noregret.Errorf(noregret.Usage, "--seed",
			"%d: no setting holds the guardrail among these users; want another seed", seed)
	}
	fine, err := w.solve(len(w.names), len(w.settings))
	if err != nil {
		return nil, err
	}
	if fine.Arm >= 0 {
		w.fine = len(w.names) + fine.Arm
	}
	return w, nil
}

// solve returns the truth about the settings from one index to before another: their recall, under
// the guardrail that the documentaries found are at least the limit's share of those wanted.
func (w *World) solve(from, to int) (*scenario.Truth, error) {
	goals, err := pasto.NewGoals([]pasto.Metric{
		{Name: "recall"},
		{Name: "documentaries", Role: pasto.Guardrail, Hard: true},
	}, 0)
	if err != nil {
		return nil, err
	}
	t, err := pasto.NewTable(to-from, 2)
	if err != nil {
		return nil, err
	}
	for k := range t.Arms() {
		m := w.lists.Mean(from + k)
		t.Arm(k)[0], t.Arm(k)[1] = m.Recall, m.Found-float64(w.limit*m.Wanted)
	}
	return scenario.NewTruth(context.Background(), goals, t)
}

// Arms is the number of arms: the settings of the grid, and the control arm.
func (w *World) Arms() int { return len(w.names) }

// Name returns an arm's name, or for the fine settings α.
func (w *World) Name(k int) string {
	if k < len(w.names) {
		return w.names[k]
	}
	return fmt.Sprintf("α %.2f", w.settings[k])
}

// Users is the number of users.
func (w *World) Users() int { return w.lists.Users() }

// Items is the number of items.
func (w *World) Items() int { return w.lists.Items() }

// Limit is the guardrail: the least documentary recall.
func (w *World) Limit() float64 { return w.limit }

// Now is the time by the service's clock.
func (w *World) Now() time.Time { return w.clock.now() }

// Definition returns the experiment's definition as JSON.
func (w *World) Definition() ([]byte, error) { return json.Marshal(w.definition) }

// setting returns the mixture of one setting.
func (w *World) setting(k int) []float64 {
	p := make([]float64, len(w.settings))
	p[k] = 1
	return p
}

// Single returns the mixture of the best arm that holds the guardrail, and the arm.
func (w *World) Single() ([]float64, int) { return w.setting(w.truth.Arm), w.truth.Arm }

// Fine returns the mixture of the best of the fine settings that hold the guardrail.
func (w *World) Fine() []float64 { return w.setting(w.fine) }

// Best returns the best mixture of the grid's arms that holds the guardrail.
func (w *World) Best() []float64 { return w.truth.Best.Mixture }

// Mixture puts the shares of a report in the order of the arms.
func (w *World) Mixture(shares map[string]float64) []float64 {
	p := make([]float64, len(w.names))
	for k, name := range w.names {
		p[k] = shares[name]
	}
	return p
}

// Value returns the true recall of a mixture.
func (w *World) Value(p []float64) (v float64) {
	for k, q := range p {
		v += float64(q * w.lists.Mean(k).Recall)
	}
	return v
}

// Guard returns the true documentary recall of a mixture.
func (w *World) Guard(p []float64) float64 {
	found, wanted := 0.0, 0.0
	for k, q := range p {
		found += float64(q * w.lists.Mean(k).Found)
		wanted += float64(q * w.lists.Mean(k).Wanted)
	}
	return found / wanted
}

// visitor is a visit with its decision.
type visitor struct {
	user int
	at   api.Decision
}

// Play plays a round: visits, their exposures and feedback, and the end of the round and of its
// window. It calls tick at each of these two ends. Requests are sent one after the other, so that
// the service sees the same in every run.
func (w *World) Play(ctx context.Context, c *client.Client, tick func(), round int) error {
	n := w.lists.Users() * Visits
	for from := 0; from < n; from += batch {
		var units []string
		for i := from; i < min(from+batch, n); i++ {
			units = append(units, fmt.Sprintf("user %d visit %d-%d", i%w.lists.Users(), round, i/w.lists.Users()))
		}
		decided, err := c.Decide(ctx, Experiment, units...)
		if err != nil {
			return err
		}
		var seen []visitor
		for i := range decided {
			seen = append(seen, visitor{(from + i) % w.lists.Users(), decided[i]})
		}
		if err := w.report(ctx, c, seen); err != nil {
			return err
		}
	}
	w.clock.forward(w.length)
	tick() // the round ends, and the next one begins
	w.clock.forward(w.window)
	tick() // its window closes
	late := w.late
	w.late = nil
	if len(late) == 0 {
		return ctx.Err()
	}
	return accepted(c.Feedback(ctx, late...))
}

// accepted returns an error if the service rejects items: those that a visitor sends twice or late
// count as sent, but none breaks a rule.
func accepted(r api.FeedbackResult, err error) error {
	if err != nil || r.Rejected == 0 {
		return err
	}
	for _, item := range r.Items {
		if item.Status == api.Rejected {
			return noregret.Errorf(noregret.Internal, "demo", "%d reports were rejected: %s", r.Rejected, item.Error)
		}
	}
	return noregret.Errorf(noregret.Internal, "demo", "%d reports were rejected", r.Rejected)
}

// report reports the exposures of visits and their feedback, with what goes wrong in practice: one
// visit in twenty is not exposed, one in twenty of the others does not report, two in a hundred
// report twice, one in a hundred too late.
func (w *World) report(ctx context.Context, c *client.Client, seen []visitor) error {
	var exposed, reports []api.FeedbackItem
	for _, v := range seen {
		if w.visits.IntN(20) == 0 {
			continue
		}
		exposed = append(exposed, api.FeedbackItem{Token: v.at.Token})
		if w.visits.IntN(20) == 0 {
			continue
		}
		l := w.lists.Show(v.user, slices.Index(w.names, v.at.Arm))
		item := api.FeedbackItem{
			Token: v.at.Token,
			Metrics: map[string]float64{
				"recall": l.Recall, "documentaries_found": l.Found,
				"documentaries_wanted": l.Wanted,
			},
		}
		switch w.visits.IntN(100) {
		case 0:
			w.late = append(w.late, item)
		case 1, 2:
			reports = append(reports, item, item)
		default:
			reports = append(reports, item)
		}
	}
	if err := accepted(c.Exposures(ctx, exposed...)); err != nil {
		return err
	}
	return accepted(c.Feedback(ctx, reports...))
}
