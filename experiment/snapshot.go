package experiment

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
)

// stateFormat is the version of a saved state.
const stateFormat = "noregret state 1"

type savedState struct {
	Format      string            `json:"format"`
	Position    uint64            `json:"position"`
	Time        int64             `json:"time"`
	Gone        []source          `json:"gone"` // names that were deleted, with their last version
	Experiments []savedExperiment `json:"experiments"`
}

type savedExperiment struct {
	Definition *Definition `json:"definition"`
	State      saved       `json:"state"`
	Cohorts    []*cohort   `json:"cohorts"`
	Maker      []byte      `json:"maker,omitempty"`
	// Mixture stands in a digest for the maker.
	Mixture f64s `json:"mixture,omitempty"`
}

// MarshalBinary writes the state as JSON, for a snapshot of the log (docs/formats/state.md).
// UnmarshalBinary continues it bit for bit.
func (s *State) MarshalBinary() ([]byte, error) { return s.write(false) }

// Digest is the SHA-256, in hexadecimal, of the state: two states are the same if and only if (collisions
// apart) their digests are. Learners stand in it with the bits of their mixtures.
func (s *State) Digest() (string, error) {
	b, err := s.write(true)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), nil
}

func (s *State) write(digest bool) ([]byte, error) {
	out := savedState{Format: stateFormat, Position: s.position, Time: s.time, Gone: []source{}, Experiments: []savedExperiment{}}
	for _, name := range slices.Sorted(maps.Keys(s.gone)) {
		out.Gone = append(out.Gone, source{name, s.gone[name]})
	}
	for _, name := range s.Names() {
		e, err := s.live[name].write(digest)
		if err != nil {
			return nil, err
		}
		out.Experiments = append(out.Experiments, e)
	}
	return json.Marshal(out)
}

func (x *live) write(digest bool) (savedExperiment, error) {
	e := savedExperiment{Definition: x.def, State: x.saved, Cohorts: x.cohorts}
	if digest {
		e.Mixture = x.maker.Mixture()
		return e, nil
	}
	b, err := x.maker.MarshalBinary()
	e.Maker = b
	return e, err
}

// UnmarshalBinary reads a saved state. It refuses one that is damaged or of another format; the state is
// then unchanged.
func (s *State) UnmarshalBinary(data []byte) error {
	var in savedState
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		return bad("snapshot", "it cannot be read: %w", err)
	}
	if in.Format != stateFormat {
		return bad("snapshot", "its format is %q: want %q", in.Format, stateFormat)
	}
	n := NewState()
	n.position, n.time = in.Position, in.Time
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

// open makes a live experiment of a saved one.
func (e *savedExperiment) open() (*live, error) {
	if e.Definition == nil || len(e.Cohorts) == 0 || len(e.State.Arms) == 0 || len(e.State.Versions) == 0 {
		return nil, bad("snapshot", "an experiment without definition, arms or versions")
	}
	if err := e.Definition.Validate(); err != nil {
		return nil, bad("snapshot", "%w", err)
	}
	x := &live{def: e.Definition, cohorts: e.Cohorts, saved: e.State}
	if x.def.Objective != nil {
		g, err := x.def.goals()
		if err != nil {
			return nil, err
		}
		x.goals = g
	}
	m, r := len(x.def.Metrics), len(x.def.ratios())
	fits := x.Control >= -1 && x.Control < len(x.Arms) && len(x.Guards) == len(x.def.Guardrails) && len(x.Missing) == m
	stats := []*armStats{&x.Held}
	for k := range x.Arms {
		stats = append(stats, &x.Arms[k].Stats)
	}
	for _, s := range stats {
		fits = fits && len(s.Metrics) == m && len(s.Pairs) == r
	}
	for _, k := range x.Learn {
		fits = fits && k >= 0 && k < len(x.Arms)
	}
	if !fits {
		return nil, bad("snapshot", "the parts of experiment %q do not fit each other", x.def.Name)
	}
	for _, c := range x.cohorts {
		if err := c.restore(x.def); err != nil {
			return nil, err
		}
	}
	if err := x.remake(e.Maker); err != nil {
		return nil, err
	}
	v := x.versionOf(x.Version)
	if v == nil || v.Split == nil || v.Split.Len() > len(x.Arms) {
		return nil, bad("snapshot", "version %d of experiment %q is missing", x.Version, x.def.Name)
	}
	var err error
	x.policy, err = x.policyOf(v)
	return x, err
}

// deepClone is a copy that shares nothing.
func (x *live) deepClone() (*live, error) {
	e, err := x.write(false)
	if err != nil {
		return nil, err
	}
	b, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	var c savedExperiment
	if err := json.Unmarshal(b, &c); err != nil {
		return nil, err
	}
	return c.open()
}

// UnmarshalJSON reads any of the forms that [Arms.MarshalJSON] writes.
func (a *Arms) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '[' {
		return json.Unmarshal(data, &a.List)
	}
	var f armsForm
	if err := json.Unmarshal(data, &f); err != nil {
		return err
	}
	*a = Arms{Grid: f.Grid, Box: f.Box, Nodes: f.Nodes, Every: f.Every}
	return nil
}
