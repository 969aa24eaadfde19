package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/client"
	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/optimum"
	"github.com/noregret/noregret/pasto/scenario"
	"github.com/noregret/noregret/server"
)

const (
	demoVisits = 20  // of each user in a round
	demoItems  = 600 // that are generated
	demoBatch  = 2000
	demoFine   = 100  // settings between 0 and 1, for comparison
	demoKept   = 0.94 // of today's documentary recall
)

// demoClock is the service's clock, which the demonstration turns on.
type demoClock struct {
	mu sync.Mutex
	t  time.Time
}

func (c *demoClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *demoClock) forward(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

// demoWorld is who comes to the service, and the truth about the arms.
type demoWorld struct {
	clock    *demoClock
	lists    *scenario.Lists
	settings []float64 // α of each list: the grid's, the control arm's, then the fine ones
	names    []string  // of the arms: the grid, then the control arm
	grid     int       // how many arms the grid has
	def      *experiment.Definition
	limit    float64
	window   time.Duration
	length   time.Duration
	single   int              // the best arm that holds the guardrail
	best     *optimum.Optimum // the best mixture that does
	visits   *random.Source
	http     *http.Client
	late     []experiment.Reported // feedback that waits until it is too late
	report   *experiment.Report    // the last one
}

// newDemoWorld generates users and items and computes what is true of the arms of demo.yaml.
func newDemoWorld(users int, seed uint64) (*demoWorld, error) {
	def, err := experiment.Parse("demo.yaml", demoDefinition)
	if err != nil {
		return nil, err
	}
	d := &demoWorld{
		clock: &demoClock{t: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}, def: def,
		window: time.Duration(def.AttributionWindow), length: time.Duration(def.Round.Length),
		visits: random.New(seed, "demo visits"), http: &http.Client{Transport: &http.Transport{}, Timeout: time.Minute},
	}
	for _, v := range def.Arms.Grid["alpha"] {
		var alpha float64
		if err := json.Unmarshal(v, &alpha); err != nil {
			return nil, noregret.Errorf(noregret.Internal, "demo.yaml", "alpha: %w", err)
		}
		d.settings = append(d.settings, alpha)
		d.names = append(d.names, "alpha="+string(v))
	}
	d.grid = len(d.names)
	var today struct{ Alpha float64 }
	if err := json.Unmarshal(def.Control.Value, &today); err != nil {
		return nil, noregret.Errorf(noregret.Internal, "demo.yaml", "control: %w", err)
	}
	d.settings, d.names = append(d.settings, today.Alpha), append(d.names, def.Control.Arm)
	for k := range demoFine + 1 {
		d.settings = append(d.settings, float64(k)/demoFine)
	}
	if d.lists, err = scenario.NewLists(users, demoItems, d.settings, seed); err != nil {
		return nil, err
	}
	m := d.lists.Mean(d.grid)
	d.limit = math.Round(demoKept*m.Found/m.Wanted*100) / 100
	def.Guardrails[0].Min = &d.limit
	f,
		err := pasto.NewGoals([]pasto.Metric{
		{Name: "recall"},
		{Name: "documentaries", Role: pasto.Guardrail, Hard: true},
	}, 0)
	if err != nil {
		return nil, err
	}
	t, err := d.table(d.grid)
	if err != nil {
		return nil, err
	}
	if d.best, err = optimum.MaximizeHard(f, t); err != nil {
		return nil, err
	}
	if d.single = d.bestOf(0, d.grid); d.single < 0 {
		return nil, noregret.Errorf(noregret.Usage, "--seed",
			"%d: no setting holds the guardrail among these users; want another seed", seed)
	}
	return d, nil
}

// table has the recall of the first n settings, and by how much they hold the guardrail.
func (d *demoWorld) table(n int) (*pasto.Table, error) {
	t, err := pasto.NewTable(n, 2)
	if err != nil {
		return nil, err
	}
	for k := range n {
		m := d.lists.Mean(k)
		t.Arm(k)[0], t.Arm(k)[1] = m.Recall, m.Found-float64(d.limit*m.Wanted)
	}
	return t, nil
}

// bestOf is the setting of greatest recall that holds the guardrail, or -1.
func (d *demoWorld) bestOf(from, to int) int {
	best := -1
	for k := from; k < to; k++ {
		m := d.lists.Mean(k)
		if m.Found >= float64(d.limit*m.Wanted) && (best < 0 || m.Recall > d.lists.Mean(best).Recall) {
			best = k
		}
	}
	return best
}

// at is the mixture of one setting.
func (d *demoWorld) at(k int) []float64 {
	p := make([]float64, len(d.settings))
	p[k] = 1
	return p
}

// fine is the best setting of the fine ones.
func (d *demoWorld) fine() []float64 {
	return d.at(max(d.bestOf(len(d.names), len(d.settings)), 0))
}

// mixture puts shares in the order of the arms.
func (d *demoWorld) mixture(shares map[string]float64) []float64 {
	p := make([]float64, len(d.names))
	for k, name := range d.names {
		p[k] = shares[name]
	}
	return p
}

// value is the true recall of a mixture, guard its true documentary recall.
func (d *demoWorld) value(p []float64) (v float64) {
	for k, q := range p {
		v += float64(q * d.lists.Mean(k).Recall)
	}
	return v
}

func (d *demoWorld) guard(p []float64) float64 {
	found, wanted := 0.0, 0.0
	for k, q := range p {
		found += float64(q * d.lists.Mean(k).Found)
		wanted += float64(q * d.lists.Mean(k).Wanted)
	}
	return found / wanted
}

func (d *demoWorld) connect(url string) (*client.Client, error) {
	return client.New(client.Options{URL: url, HTTP: d.http})
}

// visitor is a visit that was decided for.
type visitor struct {
	user int
	at   experiment.Decided
}

// play is one round: visits, their exposures and feedback, and the end of the round and of its
// window. One request goes after the other, so that the service sees the same in every run.
func (d *demoWorld) play(ctx context.Context, c *client.Client, s *server.Server, round int) error {
	n := d.lists.Users() * demoVisits
	for from := 0; from < n; from += demoBatch {
		var units []string
		for i := from; i < min(from+demoBatch, n); i++ {
			units = append(units, fmt.Sprintf("user %d visit %d-%d", i%d.lists.Users(), round, i/d.lists.Users()))
		}
		decided, err := c.Decide(ctx, demoName, units...)
		if err != nil {
			return err
		}
		var seen []visitor
		for i := range decided {
			seen = append(seen, visitor{(from + i) % d.lists.Users(), decided[i]})
		}
		if err := d.tell(ctx, c, seen); err != nil {
			return err
		}
	}
	d.clock.forward(d.length)
	s.Tick() // the round ends, and the next one begins
	d.clock.forward(d.window)
	s.Tick() // its window closes
	late := d.late
	d.late = nil
	if len(late) == 0 {
		return ctx.Err()
	}
	_, err := c.Feedback(ctx, late...)
	return err
}

// tell reports the exposures of visits and their feedback, with what goes wrong in life: one visit
// in twenty is not exposed, one in twenty of the others does not report, two in a hundred report
// twice, one in a hundred too late.
func (d *demoWorld) tell(ctx context.Context, c *client.Client, seen []visitor) error {
	var exposed, reports []experiment.Reported
	for _, v := range seen {
		if d.visits.IntN(20) == 0 {
			continue
		}
		exposed = append(exposed, experiment.Reported{Token: v.at.Token})
		if d.visits.IntN(20) == 0 {
			continue
		}
		l := d.lists.Show(v.user, slices.Index(d.names, v.at.Arm))
		item := experiment.Reported{
			Token: v.at.Token,
			Metrics: map[string]float64{
				"recall": l.Recall, "documentaries_found": l.Found,
				"documentaries_wanted": l.Wanted,
			},
		}
		switch d.visits.IntN(100) {
		case 0:
			d.late = append(d.late, item)
		case 1, 2:
			reports = append(reports, item, item)
		default:
			reports = append(reports, item)
		}
	}
	if _, err := c.Exposures(ctx, exposed...); err != nil {
		return err
	}
	_, err := c.Feedback(ctx, reports...)
	return err
}
