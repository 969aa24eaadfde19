package confident

import (
	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/mixed"
	"github.com/noregret/noregret/pasto/internal/round"
)

// Inside is what package drifting needs of a [Learner] to make it forget a part of what it has
// observed. Only packages of pasto can get one, as only they can make a [mixed.Key].
type Inside struct{ l *Learner }

// Inside returns the inside of the learner.
func (l *Learner) Inside(mixed.Key) Inside { return Inside{l} }

// State returns the state, which may be written to.
func (in Inside) State() *State { return &in.l.s }

// Model returns the model by whose estimates the learner plans.
func (in Inside) Model() *mixed.Model { return in.l.model }

// Use makes m the model by whose estimates the learner plans.
func (in Inside) Use(m *mixed.Model) { in.l.model = m }

// Reward returns the objective without its hard guardrails.
func (in Inside) Reward(theta []float64) float64 { return in.l.plan.program.Reward(theta) }

// Check returns the observations of the next round as the model takes them, or an error if one of
// them breaks a rule or has noise.
func (in Inside) Check(obs []pasto.Observation) ([]pasto.Observation, error) {
	l := in.l
	l.checker.Noisy = false
	obs, _, err := l.checker.Check(l.objective, obs, l.s.T+1, l.s.Serving, l.s.Active)
	return obs, err
}

// End plans what to serve after the model has learned or forgotten, and begun so many arms anew.
func (in Inside) End(begun int) {
	s := &in.l.s
	before := s.Unobserved
	in.l.model.Doubled = false // sizes that are forgotten pass a power of two again and again
	_, s.Unobserved = s.count(in.l.model.State)
	in.l.replan(before, begun)
}

// Restart makes the learner a fresh one, but for arms that are retired and the number of rounds.
func (in Inside) Restart() {
	l := in.l
	s := newState(l.Arms(), len(l.metrics), l.options.Control)
	for k, active := range l.s.Active {
		if !active {
			s.retire(k)
		}
	}
	s.T, s.Began, s.Next, s.Found, s.Unobserved = l.s.T, l.s.T, l.s.T, l.s.Found, s.Live
	l.s = s
	l.begin()
}

// Resume makes s, which fits the learner, its state.
func (in Inside) Resume(s State) {
	l := in.l
	l.s = s
	l.plan.program.Err = nil
	l.guard.slack.Reset(0, len(l.guards))
	l.model.Resize()
	l.plan.reset()
	l.sampler.Reset()
}

// Seal returns the snapshot of a state of the learner that a text describes.
func (in Inside) Seal(text string, state any) ([]byte, error) {
	return snapshot.Seal(round.SnapshotMagic, text+stateFormat+round.Identity(in.l.objective), state)
}

// Open reads a snapshot that Seal made of a state of the same text.
func (in Inside) Open(data []byte, text string, state any) error {
	return snapshot.Open(data, round.SnapshotMagic, text+stateFormat+round.Identity(in.l.objective), state)
}

// stateFormat is the format of the state in snapshots.
const stateFormat = ", state 8: "
