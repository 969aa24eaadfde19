package experiment

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment/guard"
	"github.com/noregret/noregret/experiment/join"
	"github.com/noregret/noregret/internal/strictjson"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/policy"
)

// Serving says what a policy version serves. The event that begins the version has it, so that
// folding a log asks no policy: a later policy changes nothing of what was served, explained,
// reported or tested. [State.Try] fills it in (docs/formats/events.md).
type Serving struct {
	// Version is the number of the version.
	Version uint64 `json:"version"`
	// Reason says why the version begins: "round", "resumed", "arm stopped", ...
	Reason string `json:"reason"`
	// Metric is that of the guardrail which rolls the experiment back.
	Metric string `json:"metric,omitempty"`
	// Policy and Revision name the policy that proposed the shares. They are empty where none was
	// asked: the shares go on as they were, are the control arm's, or were named.
	Policy   string `json:"policy,omitempty"`
	Revision int    `json:"revision,omitempty"`
	// Shares are the shares of the arms, exactly as units are split by them.
	Shares *policy.Split `json:"shares"`
	// Linear is the contextual policy, of which Shares are the means over recent contexts; nil
	// without one. With Carried that of the version before goes on instead.
	Linear  *policy.Linear `json:"linear,omitempty"`
	Carried bool           `json:"carried,omitempty"`
	// Points are the arms that a policy over a box has added, in the order of their indices. Idle
	// are the indices of its arms that it does not mix.
	Points []policy.Arm `json:"points,omitempty"`
	Idle   []int        `json:"idle,omitempty"`
	// Stage is the stage of the ramp, 0 for the first one.
	Stage int `json:"stage,omitempty"`
	// Shrinking are the guardrails, by their places in the definition, for which the mixture is
	// shrunk.
	Shrinking []int `json:"shrinking,omitempty"`
	// Deployed are the shares that the policy would deploy, by arm; nil if there are none.
	Deployed []float64 `json:"deployed,omitempty"`
	// Promise says what is promised of the guardrails; nil without any.
	Promise *api.Promise `json:"promise,omitempty"`
}

// ErrUnsaid is the refusal of an event that begins a policy version and does not say what is
// served. Logs of events of format 1 have such events only.
var ErrUnsaid error = noregret.BadInputf("", "the event does not say what is served from then on, as an earlier "+
	"version of noregret has made it, of which this one does not read the data: %s", startAnew)

// startAnew says what to do with data of an earlier format.
const startAnew = "start with a new data directory, and apply the definitions to it"

// consequence is what the event at hand says of the version that it begins.
type consequence struct {
	ask    bool     // the event is being made: the policy is asked, and says becomes its proposal
	says   *Serving // nil for nothing
	judged uint64   // the version whose guardrails the event judges, 0 for the running one
	acts   bool     // the event is the action of a breach, which stays one until the next event
}

// serve begins the version that the guardrails ask for, or by the log have asked for: whether they
// would ask again does not matter then.
func (x *experimentState) serve(now int64) error {
	w := x.Wanted
	switch said := x.event.says; {
	case !x.event.ask:
		w = &guard.Demand{Cause: said.Reason, Metric: said.Metric}
	case w == nil:
		return noregret.BadInputf("serve", "the guardrails do not ask for another version")
	}
	switch w.Cause {
	case guard.Stop:
		x.Wanted = nil
		x.event.judged = x.rounds.Version
		return stopper{x}.renewStopped(now, w.Cause)
	case guard.Rollback:
		if err := x.rollback(now, w.Cause, w.Metric); err != nil {
			return err
		}
		x.event.says.Metric = w.Metric
		return nil
	case guard.Shrink:
		x.Wanted = nil
	default:
		return noregret.BadInputf("serves.reason", "%q: want one of those of guardrails: %s, %s or %s", w.Cause,
			guard.Stop, guard.Shrink, guard.Rollback)
	}
	x.event.acts = true
	x.note(now, "the mixture is shrunk towards the control arm")
	if x.Status == policy.Paused { // what is served, not what has been learned since
		return x.renewPaused(now, w.Cause, x.rounds.served(len(x.roster.Arms)).Shares())
	}
	return x.renew(now, w.Cause)
}

// serving returns what the event at hand says that its version serves. While the event is made,
// that is what propose sets.
func (x *experimentState) serving(reason string, propose func(p *proposer, s *Serving) error) (*Serving, error) {
	if x.event.ask {
		s, err := x.proposed(reason, propose)
		if err != nil {
			return nil, err
		}
		x.event.says = s
	}
	if x.event.says == nil {
		return nil, ErrUnsaid
	}
	return x.event.says, x.fits(x.event.says)
}

// begin begins a policy version that serves what the event at hand says.
func (x *experimentState) begin(now int64, reason string, propose func(p *proposer, s *Serving) error) error {
	s, err := x.serving(reason, propose)
	if err == nil {
		err = x.follow(now, s)
	}
	return err
}

// UnmarshalStrict implements [strictjson.Unmarshaler].
func (s *Serving) UnmarshalStrict(_ byte, decode func(v any) error) error {
	var raw json.RawMessage
	if err := decode(&raw); err != nil {
		return err
	}
	type plain Serving
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode((*plain)(s)); err != nil {
		return noregret.BadInputf("", "cannot be read: %w", err)
	}
	return nil
}

// tell records what the policy would deploy, as an event of [KindClock] says. While the event is
// made, the policy is asked.
func (x *experimentState) tell(s *State, p *NameEvent) error {
	if s.ask && x.learning.Untold {
		p.Deployed, s.told = nil, nil
		if x.hasLearned() {
			y := x.proposer()
			y.grow(&Serving{})
			if q, err := y.deployed(); err == nil && len(q) >= len(x.roster.Arms) {
				p.Deployed = q[:len(x.roster.Arms)]
			}
		}
		s.told = p.Deployed
	}
	switch {
	case len(p.Deployed) > 0 && (len(p.Deployed) != len(x.roster.Arms) || !vec.IsFinite(vec.Sum(p.Deployed))):
		return noregret.BadInputf("deployed", "want the shares of %d arms", len(x.roster.Arms))
	case x.learning.Untold:
		x.learning.Deployed, x.learning.Untold = p.Deployed, false
	}
	return nil
}

// read returns a serving as a fold reads it from an event.
func (s *Serving) read() (*Serving, error) {
	b, err := strictjson.Encode(s)
	if err != nil {
		return nil, noregret.BadInputf("serves", "it cannot be written: %w", err)
	}
	out := new(Serving)
	if err := strictjson.Decode(b, out, strictjson.Rules{Stored: true}); err != nil {
		return nil, noregret.BadInputf("serves", "it cannot be read again: %w", err)
	}
	return out, nil
}

// fits returns an error unless a serving can be the next version: its arms are there, its shares
// are of active arms, and those that a policy proposed keep to the bounds of the definition. That
// they sum to 1 is checked when they are read. It does not check what the statistics say, such as
// that an arm is stopped, as another program may say something else.
func (x *experimentState) fits(s *Serving) error {
	d, n := x.roster.def, len(x.roster.Arms)+len(s.Points)
	bad := func(place, format string, args ...any) error {
		return noregret.BadInputf("serves."+place, format, args...)
	}
	switch {
	case s.Version != x.rounds.Version+1:
		return bad("version", "%d: want %d", s.Version, x.rounds.Version+1)
	case s.Shares == nil || s.Shares.Len() != n:
		return bad("shares", "want those of %d arms", n)
	case len(s.Points) > 0 && d.Arms.Box == nil || len(s.Idle) > 0 && d.Arms.Box == nil:
		return bad("points", "the arms are not points of a box")
	case (s.Linear != nil || s.Carried) && !d.Contextual() || s.Linear != nil && s.Carried:
		return bad("linear", "want one contextual policy, of an experiment with contexts")
	case s.Carried && (len(x.rounds.Versions) == 0 || x.rounds.current().Linear == nil ||
		len(x.rounds.current().Linear.Arms) != n):
		return bad("carried", "the version before has no contextual policy of %d arms", n)
	case s.Stage < 0 || s.Stage > len(d.Ramp):
		return bad("stage", "%d: want 0 to %d", s.Stage, len(d.Ramp))
	case len(s.Deployed) > 0 && (len(s.Deployed) != n || !vec.IsFinite(vec.Sum(s.Deployed))):
		return bad("deployed", "want the shares of %d arms", n)
	}
	if s.Linear != nil {
		if err := s.Linear.Prepare(n); err != nil {
			return err
		}
	}
	for _, i := range s.Shrinking {
		if i < 0 || i >= len(x.guards.Guards) {
			return bad("shrinking", "there is no guardrail %d", i)
		}
	}
	for _, k := range s.Idle {
		if k < 0 || k >= n {
			return bad("idle", "there is no arm %d", k)
		}
	}
	for k, p := range s.Shares.Shares() {
		if !(p > 0) {
			continue
		}
		switch old := k < len(x.roster.Arms); {
		case slices.Contains(s.Idle, k), old && d.Arms.Box == nil && !x.roster.Arms[k].Active:
			return bad("shares", "arm %d is not active, and has the share %v", k, p)
		case s.Policy != "" && old && d.MaxShare != nil && x.roster.Control >= 0 && !d.Contextual() &&
			p > (stopView{&x.roster}).maxShare(k)+shareTolerance:
			return bad("shares", "arm %s has the share %v: want at most %v", x.roster.Arms[k].Name, p,
				(stopView{&x.roster}).maxShare(k))
		}
	}
	return nil
}

// shareTolerance is by how much a share may exceed its bound, as shares are rounded.
const shareTolerance = 1e-9

// follow begins a policy version: it seals the running cohort and adds the next one.
func (x *experimentState) follow(now int64, s *Serving) (err error) {
	for _, a := range s.Points {
		x.push(a, false)
	}
	x.learning.growStore(len(x.roster.Arms))
	if x.roster.def.Arms.Box != nil {
		for _, k := range x.roster.LearnedArms {
			x.roster.Arms[k].Active = !slices.Contains(s.Idle, k)
		}
	}
	if len(x.rounds.Versions) == 0 {
		x.roster.InitialArms = len(x.roster.Arms)
	}
	if s.Stage != x.Ramp.Stage {
		x.Ramp.Enter(s.Stage, now, x.joiner.Units())
		x.note(now, "%s", x.Ramp.Describe(x.roster.def))
	}
	for i := range x.guards.Guards {
		x.guards.Guards[i].Shrinking = slices.Contains(s.Shrinking, i)
	}
	if len(x.joiner.Versions) > 0 {
		x.joiner.Seal(now)
		x.sealGuarded()
	}
	linear := s.Linear
	if s.Carried {
		linear = x.rounds.current().Linear
	}
	x.rounds.Version = s.Version
	x.rounds.restream(&x.roster)
	v := x.describe(now, s)
	v.Linear = linear
	x.rounds.Versions = append(x.rounds.Versions, v)
	x.rounds.forgetLinear()
	if n := keepVersions(len(x.roster.Arms)); len(x.rounds.Versions) > n {
		x.rounds.Versions = slices.Clone(x.rounds.Versions[len(x.rounds.Versions)-n:])
	}
	x.joiner.Begin(x.roster.def, join.Start{
		Version: x.rounds.Version, Round: x.rounds.Round, Stream: x.rounds.First, Mixture: s.Shares.Shares(),
		Control: x.roster.Control, Hold: v.Hold, Learnable: !x.frozen(), Blind: linear == nil,
	}, now)
	x.learning.Promised, x.learning.Deployed, x.learning.Untold = s.Promise, s.Deployed, false
	x.rounds.policy, err = x.rounds.policyOf(&x.roster, v)
	return err
}
