package server

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/internal/legible"
	"github.com/noregret/noregret/server/internal/access"
	"github.com/noregret/noregret/server/internal/alert"
	"github.com/noregret/noregret/server/internal/web"
)

// alertPeriod is the least time between two looks at what is wrong.
const alertPeriod = 5 * time.Second

// alerter looks at what is wrong, and tells the sender.
type alerter struct {
	sender  *alert.Sender
	live    *liveState
	intake  *intake
	writer  *writer
	storage *storage
	skipped *skippedSnapshots
	clock   *steadyClock
	now     func() time.Time

	mu     sync.Mutex // held while it looks
	looked time.Time
}

// newSender opens the sender of alerts.
func newSender(c *Config) (*alert.Sender, error) {
	return alert.Open(alert.Options{
		URL: c.AlertWebhook, Form: alert.Form(c.AlertWebhookFormat), Service: c.PublicURL,
		SecretFile: c.AlertSecretFile, File: filepath.Join(c.Data, "alerts.json"), Now: c.Now,
		Wall: c.wall, Logger: c.Logger, Pause: c.alertPause,
	})
}

// begin notes what guardrails have done before the service began.
func (a *alerter) begin() { a.sender.Begin(a.experiments(noAlert)) }

func noAlert(api.Alert, ...string) {}

// finish notes what guardrails have done since the last look. No command runs any more.
func (a *alerter) finish() { a.sender.Happened(append(a.experiments(noAlert), a.snapshots()...)) }

// look looks at what is wrong, if the last time is long enough ago.
func (a *alerter) look() {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	if d := now.Sub(a.looked); !a.looked.IsZero() && d >= 0 && d < alertPeriod {
		return
	}
	a.looked = now
	wrong := map[string]api.Alert{}
	add := func(v api.Alert, parts ...string) {
		v.Text = legible.Text(v.Text)
		wrong[strings.Join(append([]string{v.Kind}, parts...), ":")] = v
	}
	a.service(add)
	happened := append(a.experiments(add), a.snapshots()...)
	for i := range happened {
		happened[i].Text = legible.Text(happened[i].Text)
	}
	a.sender.Update(wrong, happened)
}

// snapshots returns what has happened to snapshots that were saved.
func (a *alerter) snapshots() (happened []api.Alert) {
	passed := a.skipped.reasons()
	for _, file := range slices.Sorted(maps.Keys(passed)) {
		happened = append(happened, api.Alert{
			ID: "disk:damaged:" + filepath.Base(file), Key: "disk:damaged", Kind: "disk", Since: a.now().UTC(),
			Text: fmt.Sprintf("the snapshot %s is damaged and was skipped: %s; nothing is lost while an older one "+
				"or all events are there", filepath.Base(file), passed[file]),
		})
	}
	return happened
}

// service looks at what is wrong with the whole service.
func (a *alerter) service(add func(v api.Alert, parts ...string)) {
	if a.writer.err() != nil {
		add(api.Alert{
			Kind: "disk",
			Text: "the log takes no events: writes get 503, decisions continue; the service's log says why",
		}, "log")
	}
	usage, _ := a.storage.get()
	few := usage.Total / 20
	if a.sender.Active("disk:free") {
		few = usage.Total / 16 // so that it does not change back and forth
	}
	if usage.Total > 0 && usage.Free < few {
		add(api.Alert{
			Kind: "disk",
			Text: fmt.Sprintf("%d MiB of %d MiB are free on the disk of the log: without room it takes no events",
				usage.Free>>20, usage.Total>>20),
		}, "free")
	}
	if failing, _ := a.writer.snapshots.failing(); failing {
		add(api.Alert{
			Kind: "disk",
			Text: "the latest snapshot of the state could not be saved: nothing is lost, but the service " +
				"needs longer to start after a crash; its log says why",
		}, "snapshot")
	}
	if text := a.intake.shortage(); text != "" {
		add(api.Alert{Kind: "memory", Text: text}, "units")
	}
	if text := a.clock.problem(); text != "" {
		add(api.Alert{Kind: "clock", Text: text}, "step")
	}
	for key, text := range a.intake.refusals() {
		if of := key.stray(); of != "" {
			add(api.Alert{Kind: "refused", Token: key.sender, Text: of + ": " + text}, "", key.kind, key.sender)
			continue
		}
		add(api.Alert{Kind: "refused", Experiment: key.experiment, Text: text}, key.experiment, key.kind)
	}
}

// experiments looks at what is wrong with experiments, and returns what guardrails have done, also
// those of experiments that were deleted and can be restored.
func (a *alerter) experiments(add func(v api.Alert, parts ...string)) (happened []api.Alert) {
	a.live.mu.RLock()
	defer a.live.mu.RUnlock()
	for _, name := range a.live.state.Names() {
		v, err := a.live.state.Vitals(name)
		if err != nil {
			continue // not possible: the lock is held
		}
		if v.Mismatch {
			add(api.Alert{
				Kind: "sample_ratio", Experiment: name, Text: "units are not exposed to the arms as decided: the " +
					"comparison of the arms may be wrong",
			}, name)
		}
		for i, g := range v.Guardrails {
			if g.State == api.GuardBreached {
				add(api.Alert{
					Kind: "breach", Experiment: name, Metric: g.Metric,
					Text: "the guardrail on " + g.Metric + " is shown broken",
				}, name, g.Metric, fmt.Sprint(i))
			}
		}
		for _, s := range v.Stopped {
			add(api.Alert{
				Kind: "action", Experiment: name, Arm: s.Arm, Text: "the arm " + s.Arm + " is stopped: " + s.Why,
			}, name, s.Arm)
		}
		happened = append(happened, acted(name, v.Actions)...)
		if text := a.writer.privacy.problem(name); text != "" {
			add(api.Alert{Kind: "privacy", Experiment: name, Text: text}, name)
		}
	}
	// What is kept for a restoration has not left: else all of it would be news after the
	// restoration.
	for _, name := range a.live.state.Deleted.Names() {
		happened = append(happened, acted(name, a.live.state.Deleted.Actions(name))...)
	}
	return happened
}

// acted returns the alerts of what an experiment's guardrails have done.
func acted(name string, actions []experiment.GuardEvent) (happened []api.Alert) {
	for _, g := range actions {
		at := time.Unix(0, g.Time).UTC()
		key := "action:" + name + ":" + g.Metric + ":" + g.Action
		happened = append(happened, api.Alert{
			ID: fmt.Sprint(key, ":", at.Format(time.RFC3339Nano), ":", g.Version), Key: key, Kind: "action",
			Since: at, Experiment: name, Metric: g.Metric,
			Text: fmt.Sprintf("the guardrail on %s was broken under policy version %d: %s", g.Metric, g.Version,
				g.Action),
		})
	}
	return happened
}

// refusals returns for each kind of items of which a share is not counted what operators should
// know.
func (i *intake) refusals() map[flowKey]string {
	i.mu.Lock()
	defer i.mu.Unlock()
	out := map[flowKey]string{}
	for key, f := range i.flows {
		if text := experiment.RefusalProblem(key.kind, f.recent()); text != "" {
			out[key] = "in the last minutes: " + text
		}
	}
	return out
}

// alertAPI serves alerts.
type alertAPI struct {
	sender   *alert.Sender
	policies *policyTable
}

func (a *alertAPI) routes() []web.Route {
	return []web.Route{
		{
			Method: "GET", Pattern: "/v1/alerts", Role: access.Read, Scoped: true, Serve: a.list,
			ID: "getAlerts", Tag: "service", Summary: "What is wrong now, and how the webhook for alerts is",
			About:   "A token that is limited to some experiments gets what is wrong with these, and no failure.",
			Answers: web.Answers{200: web.JSON("The alerts that are not resolved", api.Alerts{})},
		},
		{
			Method: "POST", Pattern: "/v1/alerts/test", Role: access.Admin, Serve: a.test,
			ID: "testAlerts", Tag: "service",
			Summary: "Sends a test alert to the webhook and waits until it has taken it",
			Answers: web.Answers{204: {Text: "The webhook has taken it"}},
		},
	}
}

// list answers with what is wrong, for who is limited to some experiments with what is wrong with
// these.
func (a *alertAPI) list(w http.ResponseWriter, r *http.Request) error {
	p := access.ScopeOf(r.Context())
	if !p.Limited() {
		return web.WriteJSON(w, http.StatusOK, a.sender.Status(nil))
	}
	out := a.sender.Status(func(v *api.Alert) bool {
		return v.Experiment != "" && a.policies.mayUse(p, v.Experiment)
	})
	out.Failure = "" // of an alert that may be another one's
	return web.WriteJSON(w, http.StatusOK, out)
}

// test sends a test alert and answers when the webhook has taken it.
func (a *alertAPI) test(w http.ResponseWriter, r *http.Request) error {
	if !a.sender.Status(nil).Webhook {
		return web.WithStatus(http.StatusConflict, noregret.Usage, "alert webhook",
			"the service has none: start it with --alert-webhook and --alert-secret-file")
	}
	if err := a.sender.Test(r.Context()); err != nil {
		return web.WithStatus(http.StatusBadGateway, noregret.Internal, "alert webhook", "%w", err)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// runAlerts sends alerts until the service drains.
func (s *Server) runAlerts() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s.background.Go(func() {
		<-s.stop
		cancel()
	})
	s.alerts.sender.Run(ctx)
}
