package server

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/pasto/optimum"
	"github.com/noregret/noregret/policy"
	"github.com/noregret/noregret/server/internal/access"
	"github.com/noregret/noregret/server/internal/web"
)

// liveState is the fold of the log so far. Only the writer changes it. It implements
// dashboard.Source.
type liveState struct {
	signer *policy.Signer
	now    func() time.Time
	reads  *readLimit
	shared *sharedReads // of reports
	namer  *stateNamer
	// publicNamer names the state for those who must not learn of private feedback.
	publicNamer *stateNamer
	// problems returns what the service knows of an experiment's health beyond its state.
	problems func(name string) []string
	// spent sets the ε that the ledger has charged to a private experiment.
	spent func(name string, r *api.PrivacyReport)
	// lost begins the outage of units that wait for feedback and cannot be read from their file.
	lost func(err error)
	// definitionAt reads the definition in an event of the log.
	definitionAt func(ctx context.Context, position uint64) (*definition.Definition, error)

	mu      sync.RWMutex // held by the writer to apply events and by readers
	state   *experiment.State
	changed atomic.Pointer[chan struct{}] // closed at the next change
}

func newLiveState(state *experiment.State, signer *policy.Signer, c *Config) *liveState {
	reads := newReadLimit(c.MaxReads, c.RequestTime)
	l := &liveState{
		state: state, signer: signer, now: c.Now, namer: newStateNamer(false), publicNamer: newStateNamer(true),
		reads: reads, shared: newSharedReads(reads),
	}
	first := make(chan struct{})
	l.changed.Store(&first)
	return l
}

// Changed returns a channel that is closed at the next change of the state.
func (l *liveState) Changed() <-chan struct{} { return *l.changed.Load() }

// notify wakes the goroutines that wait for a change.
func (l *liveState) notify() {
	next := make(chan struct{})
	close(*l.changed.Swap(&next))
}

// Experiments lists the experiments by name.
func (l *liveState) Experiments() []api.Summary {
	out, _ := l.summaries(api.Page{}, nil, false)
	return out
}

// summaries returns a page of the list of the experiments that a principal may use, or of those
// that were deleted and can be restored, and the last name of it if there are further ones.
func (l *liveState) summaries(page api.Page, p *access.Principal, deleted bool,
) (out []api.Summary, next string) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	names, of := l.state.Names(), l.summary
	if deleted {
		names = l.state.Deleted.Names()
		of = func(name string) (api.Summary, string) {
			v, project, _ := l.state.Deleted.Summary(name)
			return v, project
		}
	}
	if p.Limited() {
		names = slices.DeleteFunc(names, func(name string) bool {
			_, project := of(name)
			return !p.MayUse(name, project)
		})
	}
	names, next = page.Of(names)
	out = make([]api.Summary, 0, len(names))
	for _, name := range names {
		v, _ := of(name)
		out = append(out, v)
	}
	return out, next
}

// summary returns the summary of an experiment and its project. The caller holds the lock.
func (l *liveState) summary(name string) (api.Summary, string) {
	p, d := l.state.Policy(name), l.state.Definition(name)
	return api.Summary{
		Name: name, Description: d.Description, State: p.State, Version: p.Version, Round: p.Round,
	}, d.Project
}

// Definition returns an experiment's definition.
func (l *liveState) Definition(name string) (*definition.Definition, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if d := l.state.Definition(name); d != nil {
		return d, nil
	}
	return nil, l.state.Deleted.NotThere(name)
}

// Report returns an experiment's report.
func (l *liveState) Report(name string) (*api.Report, error) {
	release, err := l.reads.acquire(context.Background())
	if err != nil {
		return nil, err
	}
	defer release()
	return l.report(name, api.Page{})
}

// reportText returns the JSON of the page of a report for a request, which does not wait longer
// than ctx.
func (l *liveState) reportText(ctx context.Context, name string, page api.Page, gzip bool) (*web.Text, error) {
	if _, err := l.Definition(name); err != nil {
		return nil, err
	}
	key := name + "\n" + strconv.Itoa(page.Limit) + "\n" + page.After
	return l.shared.do(ctx, key, gzip, func() (any, error) { return l.report(name, page) })
}

// report computes the page of a report. The caller has a place among the heavy reads.
func (l *liveState) report(name string, page api.Page) (*api.Report, error) {
	l.mu.RLock()
	r, err := l.state.ReportPage(name, page)
	l.mu.RUnlock()
	if err == nil && l.problems != nil {
		r.Health.Problems = append(r.Health.Problems, l.problems(name)...)
	}
	if err == nil && r.Privacy != nil && l.spent != nil {
		l.spent(name, r.Privacy)
	}
	return r, err
}

// keptArm returns the arm of the decision that is kept for a unit.
func (l *liveState) keptArm(name string, unit uint64) (arm int, ok bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.state.KeptArm(name, unit)
}

// Explain explains the decision of a token.
func (l *liveState) Explain(name, token string) (*api.Explanation, error) {
	return l.explain(context.Background(), name, token, nil)
}

// explain is Explain for a request, with the context of a contextual decision, nil for that of its
// exposure.
func (l *liveState) explain(ctx context.Context, name, token string, context json.RawMessage,
) (*api.Explanation, error) {
	t, err := l.signer.Verify(token, l.now())
	if err == nil && t.Experiment != name {
		err = policy.Foreign
	}
	if err != nil {
		return nil, err
	}
	release, err := l.reads.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	l.mu.RLock()
	defer l.mu.RUnlock()
	e, err := l.state.ExplainIn(t, context)
	if isLost(err) {
		l.lost(err)
		return nil, web.Unavailable(errLost)
	}
	return e, err
}

// Optimum returns the best mixture by the present estimates.
func (l *liveState) Optimum(name string) (*optimum.Optimum, error) {
	release, err := l.reads.acquire(context.Background())
	if err != nil {
		return nil, err
	}
	defer release()
	l.mu.RLock()
	solve, err := l.state.Optimum(name)
	l.mu.RUnlock()
	if err != nil || solve == nil {
		return nil, err
	}
	return solve() // without the lock
}

// name returns the position and the digest of the state, which has all events that were applied
// before the call.
func (l *liveState) name(ctx context.Context) (api.StateName, error) {
	return l.namer.name(ctx, l.position(), func() (*experiment.Frozen, error) {
		l.mu.RLock()
		defer l.mu.RUnlock()
		return l.state.Freeze()
	})
}

// position returns the position of the state's last event.
func (l *liveState) position() uint64 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.state.Position()
}

// releases reports whether a private experiment waits for a release.
func (l *liveState) releases() bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.state.ReleasesDue()
}

// finishes reports whether a private experiment has ended or is deleted, and its run is not closed.
func (l *liveState) finishes(h *privacyHost) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return h.finishes(l.state)
}

// due reports whether time has made an event possible, such as the end of a round.
func (l *liveState) due() bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return len(l.state.Due(l.now().UnixNano())) > 0
}

func noSuch(name string) error {
	return noregret.Errorf(noregret.NotFound, "experiment", "no experiment %q", name)
}
