package server

import (
	"iter"

	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/experiment"
)

// Replay is what folding a log again has shown.
type Replay struct {
	// From is the position of the snapshot that the fold began with, 0 for none: the whole log was
	// folded.
	From uint64 `json:"from"`
	// Events were folded, up to the position; Refused of them changed nothing, as they broke a rule
	// then, too.
	Events   uint64 `json:"events"`
	Refused  uint64 `json:"refused"`
	Position uint64 `json:"position"`
	Digest   string `json:"digest"`
	// Decisions counts the decisions that the log speaks of and that were made anew from the
	// policies of the fold; Different those that came out otherwise, Unknown those of versions that
	// are older than the log.
	Decisions uint64 `json:"decisions"`
	Different uint64 `json:"different"`
	Unknown   uint64 `json:"unknown"`
	// Differences are the first of them.
	Differences []Difference `json:"differences"`
}

// Difference is a decision that came out otherwise.
type Difference struct {
	Position   uint64  `json:"position"`
	Experiment string  `json:"experiment"`
	Unit       string  `json:"unit"`
	Version    uint64  `json:"version"`
	Arm        int     `json:"arm"`
	Propensity float64 `json:"propensity"`
	// Want and WantPropensity are what the fold decides.
	Want           int     `json:"want"`
	WantPropensity float64 `json:"want_propensity"`
}

// Bounds on what a replay keeps: policies of an experiment, differences told.
const (
	keepPolicies    = 4096
	keepDifferences = 20
)

// ReplayEvents folds events into the state, which stands right before the first of them, up to a
// position (0: all), and makes every decision that they speak of anew.
func ReplayEvents(state *experiment.State, events iter.Seq2[eventlog.Record, error], upTo uint64) (*Replay, error) {
	r := &Replay{From: state.Position(), Differences: []Difference{}}
	policies := map[string]map[uint64]*experiment.Policy{}
	keep := func(name string) {
		p := state.Policy(name)
		if p == nil {
			return
		}
		if policies[name] == nil {
			policies[name] = map[uint64]*experiment.Policy{}
		}
		policies[name][p.Version] = p
		delete(policies[name], p.Version-min(p.Version, keepPolicies))
	}
	for rec, err := range events {
		if err != nil {
			return nil, err
		}
		if upTo > 0 && rec.Position > upTo {
			break
		}
		e := experiment.Event{Kind: rec.Kind, Time: rec.Time, Payload: rec.Payload}
		if e.Kind == experiment.KindExposures || e.Kind == experiment.KindFeedback {
			r.decisions(rec.Position, e, state, policies)
		}
		o, err := state.Apply(rec.Position, e)
		if err != nil {
			return nil, err
		}
		r.Events++
		if o.Err != nil {
			r.Refused++
		}
		if o.Renewed {
			keep(o.Experiment)
		}
		if rec.Position == upTo {
			break
		}
	}
	r.Position = state.Position()
	var err error
	r.Digest, err = state.Digest()
	return r, err
}

// decisions makes the decisions of an event anew, by the policies of the fold or, where it began
// with a snapshot, those that this has kept.
func (r *Replay) decisions(position uint64, e experiment.Event, state *experiment.State,
	policies map[string]map[uint64]*experiment.Policy,
) {
	p, err := experiment.Units(e)
	if err != nil {
		return // the fold refuses it, too
	}
	for i := range p.Items {
		it := &p.Items[i]
		policy, there := policies[p.Experiment][it.Version]
		if !there && r.From > 0 {
			policy, _ = state.PolicyAt(p.Experiment, it.Version) // nil where it is not kept
			if policies[p.Experiment] == nil {
				policies[p.Experiment] = map[uint64]*experiment.Policy{}
			}
			policies[p.Experiment][it.Version] = policy
		}
		unit, ok := it.Hash()
		if policy == nil || !ok {
			r.Unknown++
			continue
		}
		r.Decisions++
		d := policy.DecideHash(unit)
		if d.Arm == it.Arm && d.Propensity == it.Propensity {
			continue
		}
		r.Different++
		if len(r.Differences) < keepDifferences {
			r.Differences = append(r.Differences,
				Difference{position, p.Experiment, it.Unit, it.Version, it.Arm, it.Propensity, d.Arm, d.Propensity})
		}
	}
}
