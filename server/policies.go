package server

import (
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/policy"
	"github.com/noregret/noregret/server/internal/access"
	"github.com/noregret/noregret/server/internal/web"
)

// keptEntry is an experiment that was deleted and can be restored until a time.
type keptEntry struct {
	project string
	until   time.Time
}

// policyTable holds the policies in force. Deciding reads it without a lock; the writer replaces
// the entries of the experiments that change, whatever the number of the others.
type policyTable struct {
	metrics *metrics
	entries sync.Map                      // from names to *entry
	kept    sync.Map                      // from names to keptEntry
	renewed atomic.Pointer[chan struct{}] // closed when a policy changes
}

// armText is what decisions for an arm have in common.
type armText struct {
	name  []byte  // as a JSON string
	share float64 // in the mixture; a unit that is held back has another propensity
	// end is that of a decision with this propensity, up to its token. It is empty if the shares
	// depend on contexts.
	end []byte
}

// entry is an experiment in the table.
type entry struct {
	policy  *policy.Policy
	text    *web.Text // the policy's JSON, which its digest covers
	counts  *counters
	arms    []armText
	project string // of the definition, "" for none
	largest int    // size of the largest value of an arm, in bytes
	// encoder is that of the definition's context, nil if the experiment is not contextual. The
	// policy may look at no context all the same, such as after a rollback.
	encoder *policy.Encoder
}

func newPolicyTable(m *metrics) *policyTable {
	t := &policyTable{metrics: m}
	first := make(chan struct{})
	t.renewed.Store(&first)
	return t
}

// newEntry seals a policy, which must not be shared yet.
func newEntry(p *policy.Policy, d *definition.Definition, c *counters) (*entry, error) {
	text, err := p.Seal()
	if err != nil {
		return nil, err
	}
	e := &entry{policy: p, text: web.NewText(text), counts: c, project: d.Project, largest: 1}
	switch {
	case p.Linear != nil:
		e.encoder = p.Linear.Encoder()
	case len(d.Context) > 0:
		if e.encoder, err = policy.NewEncoder(d.Context); err != nil {
			return nil, err
		}
	}
	var mixture []float64
	if p.Linear == nil {
		mixture = p.Mixture()
	}
	for k, a := range p.Arms {
		t := armText{name: appendString(nil, a.Name)}
		if mixture != nil {
			t.share, t.end = mixture[k], appendEnd(nil, mixture[k], p.Version)
		}
		e.arms = append(e.arms, t)
		e.largest = max(e.largest, len(a.Value))
	}
	return e, nil
}

// all returns the entries by name, as they are now. It costs O(n).
func (t *policyTable) all() map[string]*entry {
	out := map[string]*entry{}
	t.entries.Range(func(name, e any) bool {
		out[name.(string)] = e.(*entry)
		return true
	})
	return out
}

// get returns an experiment's entry, or nil.
func (t *policyTable) get(name string) *entry {
	if e, ok := t.entries.Load(name); ok {
		return e.(*entry)
	}
	return nil
}

// mayUse reports whether a principal may use an experiment. Nobody who is limited to projects may
// use one that is not there.
func (t *policyTable) mayUse(p *access.Principal, name string) bool {
	project := ""
	if e := t.get(name); e != nil {
		project = e.project
	} else if k, ok := t.wasDeleted(name); ok {
		project = k.project
	}
	return p.MayUse(name, project)
}

// wasDeleted returns the entry of an experiment that was deleted and can be restored, false if
// there is none.
func (t *policyTable) wasDeleted(name string) (keptEntry, bool) {
	k, ok := t.kept.Load(name)
	if !ok {
		return keptEntry{}, false
	}
	return k.(keptEntry), true
}

// noSuch is the error that there is no experiment of a name.
func (t *policyTable) noSuch(name string) error {
	if k, ok := t.wasDeleted(name); ok {
		return experiment.WasDeleted(name, k.until)
	}
	return noSuch(name)
}

// changed returns a channel that is closed when a policy changes. Ask for it before reading the
// table, or a change between the two is missed.
func (t *policyTable) changed() <-chan struct{} { return *t.renewed.Load() }

// publish puts the policies of experiments into the table, and removes those of experiments that
// are gone. Only the writer calls it.
func (t *policyTable) publish(state *experiment.State, names iter.Seq[string]) error {
	for name := range names {
		p, old := state.Policy(name), t.get(name)
		if v, project, ok := state.Deleted.Summary(name); ok {
			t.kept.Store(name, keptEntry{project, v.Deleted.Until}) // the counters stay
			t.entries.Delete(name)
			continue
		}
		t.kept.Delete(name)
		if p == nil {
			t.entries.Delete(name)
			t.metrics.forget(name)
			continue
		}
		d := state.Definition(name)
		if old != nil && old.policy == p && old.project == d.Project {
			continue
		}
		e, err := newEntry(p, d, t.metrics.of(name))
		if err != nil {
			return err
		}
		t.entries.Store(name, e)
	}
	renewed := make(chan struct{})
	close(*t.renewed.Swap(&renewed))
	return nil
}
