package server

import (
	"encoding/json"
	"iter"

	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/policy"
)

// Replay is the result of folding a log again.
type Replay struct {
	// From is the position of the snapshot that the fold began with, 0 if it began with the first
	// event.
	From uint64 `json:"from"`
	// Events is the number of events folded, up to Position. Refused of them broke a rule and
	// changed nothing.
	Events   uint64 `json:"events"`
	Refused  uint64 `json:"refused"`
	Position uint64 `json:"position"`
	Digest   string `json:"digest"`
	// Decisions is the number of decisions in the log that were repeated with the policies of the
	// fold, Different the number of them with another result. Unknown is the number of decisions by
	// versions older than the log, which cannot be repeated.
	Decisions uint64 `json:"decisions"`
	Different uint64 `json:"different"`
	Unknown   uint64 `json:"unknown"`
	// Differences are the first decisions with another result.
	Differences []Difference `json:"differences"`
}

// Difference is a decision whose repetition has another result.
type Difference struct {
	Position   uint64  `json:"position"`
	Experiment string  `json:"experiment"`
	Unit       string  `json:"unit"`
	Version    uint64  `json:"version"`
	Arm        int     `json:"arm"`
	Propensity float64 `json:"propensity"`
	// Want and WantPropensity are the result by the fold.
	Want           int     `json:"want"`
	WantPropensity float64 `json:"want_propensity"`
}

// Bounds on the policies of an experiment and on the differences that a replay stores.
const (
	keepPolicies    = 4096
	keepContextual  = 256 // of contextual policies, which are larger
	keepDifferences = 20
)

// ReplayEvents folds events into the state up to a position (0: all) and repeats every decision in
// them. The first event must follow the state's position.
func ReplayEvents(state *experiment.State, events iter.Seq2[eventlog.Record, error], upTo uint64) (*Replay, error) {
	r := &Replay{From: state.Position(), Differences: []Difference{}}
	policies := map[string]map[uint64]*policy.Policy{}
	keep := func(name string) {
		p := state.Policy(name)
		if p == nil {
			return
		}
		if policies[name] == nil {
			policies[name] = map[uint64]*policy.Policy{}
		}
		policies[name][p.Version] = p
		most := uint64(keepPolicies)
		if p.Linear != nil {
			most = keepContextual
		}
		delete(policies[name], p.Version-min(p.Version, most))
	}
	for rec, err := range events {
		if err != nil {
			return nil, err
		}
		if upTo > 0 && rec.Position > upTo {
			break
		}
		e := experiment.Event{Kind: rec.Kind, Time: rec.Time, Payload: rec.Payload}
		switch e.Kind {
		case experiment.KindExposures, experiment.KindFeedback, experiment.KindPrivateFeedback:
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

// decisions repeats the decisions of an event, with the policies of the fold or, where it began
// with a snapshot, with those in the snapshot.
func (r *Replay) decisions(position uint64, e experiment.Event, state *experiment.State,
	policies map[string]map[uint64]*policy.Policy,
) {
	p, err := experiment.Units(e)
	if err != nil {
		return // the fold refuses it, too
	}
	for i := range p.Items {
		it := &p.Items[i]
		if it.ByUnit() { // it may be among some of the arms
			continue
		}
		version, there := policies[p.Experiment][it.Version]
		if !there && r.From > 0 {
			version, _ = state.PolicyAt(p.Experiment, it.Version) // nil if the policy is not stored
			if policies[p.Experiment] == nil {
				policies[p.Experiment] = map[uint64]*policy.Policy{}
			}
			policies[p.Experiment][it.Version] = version
		}
		unit, ok := it.Hash()
		if version == nil || !ok {
			r.Unknown++
			continue
		}
		d, ok := repeat(version, e.Kind, unit, it.Context)
		if !ok {
			continue
		}
		r.Decisions++
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

// repeat decides again. It returns false for feedback of a contextual policy, which has no context:
// the unit's exposure has it. A context that cannot be read gives no arm.
func repeat(p *policy.Policy, kind string, unit uint64, context json.RawMessage) (policy.Assignment, bool) {
	if p.Linear == nil {
		return p.DecideHash(unit), true
	}
	if kind != experiment.KindExposures {
		return policy.Assignment{}, false
	}
	x, err := p.Linear.Encoder().Encode(nil, context)
	if err != nil {
		return policy.Assignment{Arm: -1}, true
	}
	return p.DecideHashIn(unit, x), true
}
