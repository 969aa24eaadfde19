package experiment

import (
	"maps"
	"slices"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
)

// MaxGrace is the longest time for which a deleted experiment can be kept, in nanoseconds.
const MaxGrace = int64(10 * 365 * 24 * time.Hour)

// deletion says when an experiment was deleted, until when it can be restored, and why it was
// deleted.
type deletion struct {
	Time   int64  `json:"time"`
	Until  int64  `json:"until"`
	Reason string `json:"reason,omitempty"`
}

// deletedExperiment is one that was deleted and can be restored. No event changes it.
type deletedExperiment struct {
	*experimentState
	deletion deletion
}

// Deleted holds the experiments of a state that were deleted and can be restored, by name. Only
// events change it.
type Deleted map[string]*deletedExperiment

// Names lists the experiments in order.
func (d Deleted) Names() []string { return slices.Sorted(maps.Keys(d)) }

// Summary returns the summary of an experiment and its project; false if there is none.
func (d Deleted) Summary(name string) (out api.Summary, project string, ok bool) {
	k := d[name]
	if k == nil {
		return out, "", false
	}
	p, def := k.rounds.policy, k.roster.def
	return api.Summary{
		Name: name, Description: def.Description, State: p.State, Version: p.Version, Round: p.Round,
		Deleted: &api.Deletion{
			Time: time.Unix(0, k.deletion.Time).UTC(), Until: time.Unix(0, k.deletion.Until).UTC(),
			Reason: k.deletion.Reason,
		},
	}, def.Project, true
}

// Actions returns the last actions of an experiment's guardrails, the oldest first; nil if there is
// no such experiment. It costs O(actions).
func (d Deleted) Actions(name string) []GuardEvent {
	if k := d[name]; k != nil {
		return k.guards.events(name, false)
	}
	return nil
}

// NotThere is the error that there is no experiment of a name. It says so if one was deleted that
// can be restored.
func (d Deleted) NotThere(name string) error {
	if k := d[name]; k != nil {
		return WasDeleted(name, time.Unix(0, k.deletion.Until))
	}
	return noregret.Errorf(noregret.NotFound, "experiment", "no experiment %q", name)
}

// overdue returns the events that delete for good what was kept for its grace time.
func (d Deleted) overdue(now int64) (out []Event) {
	for _, name := range d.Names() {
		if d[name].deletion.Until > now {
			continue
		}
		e, err := NewEvent(KindDelete, now, NameEvent{Experiment: name})
		if err == nil { // names can always be written
			out = append(out, e)
		}
	}
	return out
}

// find returns an experiment, also one that was deleted and can be restored, or nil.
func find(s *State, name string) *experimentState {
	if k := s.Deleted[name]; k != nil {
		return k.experimentState
	}
	return s.live[name]
}

// allNames lists the experiments, also those that were deleted and can be restored, in order.
func allNames(s *State) []string {
	names := append(s.Names(), s.Deleted.Names()...)
	slices.Sort(names)
	return names
}

// WasDeleted is the error that an experiment was deleted and can be restored until a time.
func WasDeleted(name string, until time.Time) error {
	return noregret.Errorf(noregret.NotFound, "experiment",
		"no experiment %q: it was deleted, and can be restored until %s", name, until.UTC().Format(time.RFC3339))
}

// deleteIn deletes an experiment: it is kept for the grace time, or for good if that is 0.
func deleteIn(s *State, p *NameEvent) Outcome {
	name := p.Experiment
	x, k := s.live[name], s.Deleted[name]
	switch {
	case x == nil && k == nil:
		return Outcome{Experiment: name, Err: s.Deleted.NotThere(name)}
	case p.Grace < 0 || p.Grace > MaxGrace:
		return Outcome{
			Experiment: name,
			Err:        noregret.BadInputf("grace", "%d: want 0 to %d nanoseconds", p.Grace, MaxGrace),
		}
	case k != nil && p.Grace > 0:
		return Outcome{Experiment: name, Err: noregret.BadInputf("state",
			"the experiment was deleted already, and can be restored until %s: want a deletion for good",
			time.Unix(0, k.deletion.Until).UTC().Format(time.RFC3339))}
	case p.Grace > 0:
		s.Deleted[name] = &deletedExperiment{x, deletion{Time: s.time, Until: s.time + p.Grace, Reason: p.Reason}}
		delete(s.live, name)
		return Outcome{Experiment: name, Renewed: true}
	case k != nil:
		x = k.experimentState
	}
	s.gone[name] = x.rounds.Version
	if x.Private != nil {
		s.secret[name] = true
	}
	delete(s.live, name)
	delete(s.Deleted, name)
	if !s.scratch {
		x.joiner.Release()
	}
	return Outcome{Experiment: name, Renewed: true}
}

// restoreIn brings an experiment back as it was when it was deleted. The time has gone on: windows
// that have closed since close with its next event.
func restoreIn(s *State, p *NameEvent) Outcome {
	name := p.Experiment
	k := s.Deleted[name]
	if k == nil {
		err := s.Deleted.NotThere(name)
		if s.live[name] != nil {
			err = noregret.BadInputf("state", "the experiment %q was not deleted", name)
		}
		return Outcome{Experiment: name, Err: err}
	}
	delete(s.Deleted, name)
	s.live[name] = k.experimentState
	return Outcome{Experiment: name, Renewed: true}
}
