package experiment

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/internal/strictjson"
)

// stateFormat is the version of a saved state.
const stateFormat = "noregret state 2"

type persistedState struct {
	Format      string                `json:"format"`
	Position    uint64                `json:"position"`
	Time        int64                 `json:"time"`
	Before      int64                 `json:"before"`
	Jumped      int64                 `json:"jumped"`
	Gone        []source              `json:"gone"` // names that were deleted, with their last version
	Experiments []persistedExperiment `json:"experiments"`
}

type persistedExperiment struct {
	Definition *definition.Definition `json:"definition"`
	State      *experimentState       `json:"state"`
	Cohorts    []*cohort              `json:"cohorts"`
	Learner    []byte                 `json:"maker"`
}

// MarshalBinary writes the state as JSON, for a snapshot of the log (docs/formats/state.md).
// UnmarshalBinary continues it bit for bit.
func (s *State) MarshalBinary() ([]byte, error) {
	f, err := s.Freeze()
	if err != nil {
		return nil, err
	}
	return f.MarshalBinary()
}

// Frozen is an immutable copy of a state, which a host writes to the disk while the state goes on.
type Frozen struct{ saved persistedState }

// Freeze copies the state. It takes a small part of the time of [State.MarshalBinary].
func (s *State) Freeze() (*Frozen, error) {
	if s.broken != nil {
		return nil, s.broken
	}
	f := &Frozen{saved: s.head()}
	for _, name := range s.Names() {
		x := s.live[name]
		b, err := x.learner.MarshalBinary()
		if err != nil {
			return nil, err
		}
		y := x.copy()
		f.saved.Experiments = append(f.saved.Experiments,
			persistedExperiment{Definition: y.def, State: y, Cohorts: y.cohorts, Learner: b})
	}
	return f, nil
}

// Position returns the position of the state's last event.
func (f *Frozen) Position() uint64 { return f.saved.Position }

// MarshalBinary encodes the state as it was when it was frozen: see [State.MarshalBinary].
func (f *Frozen) MarshalBinary() ([]byte, error) { return strictjson.Encode(f.saved) }

// Digest returns the SHA-256, in hexadecimal, of the result of [Frozen.MarshalBinary], which has
// everything that later events depend on, including the learners' states. Two states are the same
// if and only if (collisions apart) their digests are.
func (f *Frozen) Digest() (string, error) {
	b, err := f.MarshalBinary()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), nil
}

// Digest returns the digest of the current state: see [Frozen.Digest].
func (s *State) Digest() (string, error) {
	f, err := s.Freeze()
	if err != nil {
		return "", err
	}
	return f.Digest()
}

// head returns the persisted state without its experiments.
func (s *State) head() persistedState {
	out := persistedState{
		Format: stateFormat, Position: s.position, Time: s.time, Before: s.before, Jumped: s.jumped,
		Gone: []source{}, Experiments: []persistedExperiment{},
	}
	for _, name := range slices.Sorted(maps.Keys(s.gone)) {
		out.Gone = append(out.Gone, source{Name: name, Last: s.gone[name]})
	}
	return out
}

// UnmarshalBinary decodes a saved state. If it is damaged or of another format, UnmarshalBinary
// returns an error and leaves the state unchanged.
func (s *State) UnmarshalBinary(data []byte) error {
	var in persistedState
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		return noregret.BadInputf("snapshot", "it cannot be read: %w", err)
	}
	if in.Format != stateFormat {
		return noregret.BadInputf("snapshot", "its format is %q: want %q", in.Format, stateFormat)
	}
	n := NewState()
	n.position, n.time, n.before, n.jumped = in.Position, in.Time, in.Before, in.Jumped
	for _, g := range in.Gone {
		n.gone[g.Name] = g.Last
	}
	for i := range in.Experiments {
		x, err := in.Experiments[i].open()
		if err != nil {
			return err
		}
		n.live[x.def.Name] = x
	}
	*s = *n
	return nil
}

// open returns the state of a persisted experiment, or an error if its parts do not fit.
func (e *persistedExperiment) open() (*experimentState, error) {
	if e.Definition == nil || e.State == nil || len(e.Cohorts) == 0 || len(e.State.Arms) == 0 ||
		len(e.State.Versions) == 0 {
		return nil, noregret.BadInputf("snapshot", "an experiment without definition, arms or versions")
	}
	if err := e.Definition.Validate(); err != nil {
		return nil, noregret.BadInputf("snapshot", "%w", err)
	}
	x := e.State
	x.def, x.cohorts = e.Definition, e.Cohorts
	if err := x.setGoals(); err != nil {
		return nil, err
	}
	m, r := len(x.def.Metrics), len(x.def.Ratios())
	fits := x.Control >= -1 && x.Control < len(x.Arms) && len(x.Guards) == len(x.def.Guardrails) && len(x.Missing) == m
	stats := []*armStats{&x.Holdout}
	for k := range x.Arms {
		stats = append(stats, &x.Arms[k].Stats)
	}
	for _, s := range stats {
		fits = fits && len(s.Metrics) == m && len(s.Pairs) == r
	}
	for _, k := range x.LearnedArms {
		fits = fits && k >= 0 && k < len(x.Arms)
	}
	if !fits {
		return nil, noregret.BadInputf("snapshot", "the parts of experiment %q do not fit each other", x.def.Name)
	}
	for _, c := range x.cohorts {
		if err := c.restore(x.def); err != nil {
			return nil, err
		}
	}
	x.watch(x.def)
	x.Returns.measure()
	if err := x.restoreLearner(&x.roster, e.Learner); err != nil {
		return nil, err
	}
	v := x.versionOf(x.Version)
	if v == nil || v.Split == nil || v.Split.Len() > len(x.Arms) {
		return nil, noregret.BadInputf("snapshot", "version %d of experiment %q is missing", x.Version, x.def.Name)
	}
	var err error
	x.policy, err = x.policyOf(&x.roster, v)
	return x, err
}
