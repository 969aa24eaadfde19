package server

import (
	"encoding/json"
	"sync"
	"sync/atomic"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/pasto/optimum"
	"github.com/noregret/noregret/policy"
)

// liveState is the fold of the log so far. Only the writer changes it. It implements
// dashboard.Source.
type liveState struct {
	signer *policy.Signer
	now    func() time.Time

	mu      sync.RWMutex // held by the writer to apply events and by readers
	state   *experiment.State
	changed atomic.Pointer[chan struct{}] // closed at the next change
}

func newLiveState(state *experiment.State, signer *policy.Signer, now func() time.Time) *liveState {
	l := &liveState{state: state, signer: signer, now: now}
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
func (l *liveState) Experiments() []policy.Summary {
	l.mu.RLock()
	defer l.mu.RUnlock()
	out := []policy.Summary{}
	for _, name := range l.state.Names() {
		p := l.state.Policy(name)
		out = append(out, policy.Summary{
			Name: name, Description: l.state.Definition(name).Description,
			State: p.State, Version: p.Version, Round: p.Round,
		})
	}
	return out
}

// Definition returns an experiment's definition.
func (l *liveState) Definition(name string) (*definition.Definition, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if d := l.state.Definition(name); d != nil {
		return d, nil
	}
	return nil, noSuch(name)
}

// Report returns an experiment's report.
func (l *liveState) Report(name string) (*policy.Report, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.state.Report(name)
}

// ranked returns the decision of a ranked unit whose window is open.
func (l *liveState) ranked(name string, unit uint64) (experiment.Ranked, bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.state.Ranked(name, unit)
}

// Explain explains the decision of a token.
func (l *liveState) Explain(name, token string) (*policy.Explanation, error) {
	return l.explain(name, token, nil)
}

// explain is Explain with the context of a contextual decision, nil for that of its exposure.
func (l *liveState) explain(name, token string, context json.RawMessage) (*policy.Explanation, error) {
	t, err := l.signer.Verify(token, l.now())
	if err == nil && t.Experiment != name {
		err = policy.Foreign
	}
	if err != nil {
		return nil, err
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.state.ExplainIn(t, context)
}

// Optimum returns the best mixture by the present estimates.
func (l *liveState) Optimum(name string) (*optimum.Optimum, error) {
	l.mu.RLock()
	solve, err := l.state.Optimum(name)
	l.mu.RUnlock()
	if err != nil || solve == nil {
		return nil, err
	}
	return solve() // without the lock
}

// name returns the state's position and digest.
func (l *liveState) name() (policy.StateName, error) {
	l.mu.RLock()
	frozen, err := l.state.Freeze()
	l.mu.RUnlock()
	if err != nil {
		return policy.StateName{}, err
	}
	digest, err := frozen.Digest()
	return policy.StateName{Position: frozen.Position(), Digest: digest}, err
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
