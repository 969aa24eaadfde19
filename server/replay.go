package server

import (
	"encoding/json"
	"errors"
	"iter"
	"math"
	"time"

	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/experiment/join"
	"github.com/noregret/noregret/policy"
)

// Replay is the result of folding a log again. It has two parts. The log says what was served, so
// that decisions, explanations and counts are the same with every version of this program:
// Different and Misexplained are 0, and Digest is that of the live state. Beside it, as
// information, is what the present policies would have proposed, which may be something else.
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
	// Explanations is the number of decisions, the first ones of each version, that were explained,
	// and Misexplained the number of those whose explanation is not of the arm and the propensity
	// of the log.
	Explanations uint64 `json:"explanations"`
	Misexplained uint64 `json:"misexplained"`
	// Proposals is the number of versions that a policy proposed, and Changed the number of those
	// for which the present policy proposes other shares, or fails. Changes are the first of them.
	Proposals uint64   `json:"proposals"`
	Changed   uint64   `json:"changed"`
	Changes   []Change `json:"changes"`
}

// Change is a version for which the present policy proposes other shares.
type Change struct {
	Position   uint64 `json:"position"`
	Experiment string `json:"experiment"`
	Version    uint64 `json:"version"`
	// Policy and Revision are those that have proposed the version.
	Policy   string `json:"policy"`
	Revision int    `json:"revision"`
	// Arm is the index of the arm whose share differs most, of the shares Served and Proposed.
	Arm      int     `json:"arm"`
	Served   float64 `json:"served"`
	Proposed float64 `json:"proposed"`
	// Error is why the present policy proposes nothing, "" if it does.
	Error string `json:"error,omitempty"`
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
	keepExplained   = 16 // of a version
)

// ReplayEvents folds events into the state up to a position (0: all) and repeats every decision in
// them. The first event must follow the state's position.
func ReplayEvents(state *experiment.State, events iter.Seq2[eventlog.Record, error], upTo uint64) (*Replay, error) {
	r := &Replay{From: state.Position(), Differences: []Difference{}, Changes: []Change{}}
	policies, explained := map[string]map[uint64]*policy.Policy{}, map[*policy.Policy]int{}
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
		delete(explained, policies[name][p.Version-min(p.Version, most)])
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
			r.decisions(rec.Position, e, state, policies, explained)
		}
		r.proposal(rec.Position, e, state)
		o, err := state.Apply(rec.Position, e)
		if err == nil && errors.Is(o.Err, experiment.ErrUnsaid) {
			err = inPosition(rec.Position, o.Err)
		}
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
	policies map[string]map[uint64]*policy.Policy, explained map[*policy.Policy]int,
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
		if explained[version] < keepExplained {
			explained[version]++
			r.explanation(version, unit, it)
		}
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

// explanation explains a decision of the log.
func (r *Replay) explanation(p *policy.Policy, unit uint64, it *join.Unit) {
	t := policy.Token{
		Experiment: p.Experiment, Version: it.Version, Arm: it.Arm, Propensity: it.Propensity, Unit: unit,
		Time: time.UnixMilli(it.Time),
	}
	e := p.Explain(t)
	if p.Linear != nil && !e.HeldBack {
		x, err := p.Linear.Encoder().Encode(nil, it.Context)
		if err == nil {
			e, err = p.ExplainIn(t, x)
		}
		if err != nil {
			e = &policy.Derivation{}
		}
	}
	r.Explanations++
	if !e.Consistent || e.Arm != p.Arms[it.Arm].Name || e.Propensity != it.Propensity {
		r.Misexplained++
	}
}

// proposal asks the present policy for what an event of the log says.
func (r *Replay) proposal(position uint64, e experiment.Event, state *experiment.State) {
	said, now, err := state.Proposal(e)
	if said == nil {
		return
	}
	r.Proposals++
	if err == nil && said.Same(now) {
		return
	}
	r.Changed++
	if len(r.Changes) == keepDifferences {
		return
	}
	c := Change{
		Position: position, Experiment: experiment.Concerns(e.Payload), Version: said.Version, Policy: said.Policy,
		Revision: said.Revision,
	}
	if err != nil {
		c.Error = err.Error()
	} else {
		served, proposed := said.Shares.Shares(), now.Shares.Shares()
		for k := range min(len(served), len(proposed)) {
			if math.Abs(served[k]-proposed[k]) > math.Abs(c.Served-c.Proposed) {
				c.Arm, c.Served, c.Proposed = k, served[k], proposed[k]
			}
		}
	}
	r.Changes = append(r.Changes, c)
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
