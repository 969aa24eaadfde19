package server

import (
	"sync/atomic"

	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/policy"
	"github.com/noregret/noregret/server/internal/access"
	"github.com/noregret/noregret/server/internal/web"
)

// policyTable holds the policies in force. Deciding reads it without a lock; the writer replaces it
// as a whole.
type policyTable struct {
	metrics *metrics
	entries atomic.Pointer[map[string]*entry]
	renewed atomic.Pointer[chan struct{}] // closed when a policy changes
}

// entry is an experiment in the table.
type entry struct {
	policy   *policy.Policy
	text     *web.Text // the policy's JSON, which its digest covers
	counts   *counters
	armNames [][]byte // as JSON strings
	project  string   // of the definition, "" for none
	largest  int      // size of the largest value of an arm, in bytes
	// encoder is that of the definition's context, nil if the experiment is not contextual. The
	// policy may look at no context all the same, such as after a rollback.
	encoder *policy.Encoder
}

func newPolicyTable(m *metrics) *policyTable {
	t := &policyTable{metrics: m}
	t.entries.Store(&map[string]*entry{})
	first := make(chan struct{})
	t.renewed.Store(&first)
	return t
}

// newEntry seals a policy, which must not be shared yet. The features are those of the definition.
func newEntry(p *policy.Policy, features []policy.Feature, c *counters) (*entry, error) {
	text, err := p.Seal()
	if err != nil {
		return nil, err
	}
	e := &entry{policy: p, text: web.NewText(text), counts: c, largest: 1}
	switch {
	case p.Linear != nil:
		e.encoder = p.Linear.Encoder()
	case len(features) > 0:
		if e.encoder, err = policy.NewEncoder(features); err != nil {
			return nil, err
		}
	}
	for _, a := range p.Arms {
		e.armNames = append(e.armNames, appendString(nil, a.Name))
		e.largest = max(e.largest, len(a.Value))
	}
	return e, nil
}

// all returns the entries by name. The map must not be changed.
func (t *policyTable) all() map[string]*entry { return *t.entries.Load() }

// get returns an experiment's entry, or nil.
func (t *policyTable) get(name string) *entry { return t.all()[name] }

// mayUse reports whether a principal may use an experiment. Nobody who is limited to projects may
// use one that is not there.
func (t *policyTable) mayUse(p *access.Principal, name string) bool {
	project := ""
	if e := t.get(name); e != nil {
		project = e.project
	}
	return p.MayUse(name, project)
}

// changed returns a channel that is closed when a policy changes. Ask for it before reading the
// table, or a change between the two is missed.
func (t *policyTable) changed() <-chan struct{} { return *t.renewed.Load() }

// publish replaces the table by the policies of the state. Only the writer calls it.
func (t *policyTable) publish(state *experiment.State) error {
	old, next := t.all(), map[string]*entry{}
	for _, name := range state.Names() {
		p := state.Policy(name)
		if e := old[name]; e != nil && e.policy == p {
			next[name] = e
			continue
		}
		e, err := newEntry(p, state.Definition(name).Context, t.metrics.of(name))
		if err != nil {
			return err
		}
		e.project = state.Definition(name).Project
		next[name] = e
	}
	t.entries.Store(&next)
	renewed := make(chan struct{})
	close(*t.renewed.Swap(&renewed))
	for name := range old {
		if next[name] == nil {
			t.metrics.forget(name)
		}
	}
	return nil
}
