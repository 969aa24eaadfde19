package experiment

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment/compare"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/experiment/guard"
	"github.com/noregret/noregret/experiment/join"
	"github.com/noregret/noregret/experiment/report"
	"github.com/noregret/noregret/internal/pages"
	"github.com/noregret/noregret/internal/strictjson"
	"github.com/noregret/noregret/policy"
)

// stateFormat is the version of a saved state.
const stateFormat = "noregret state 9"

type persistedState struct {
	Format      string                `json:"format"`
	Position    uint64                `json:"position"`
	Hidden      uint64                `json:"hidden,omitempty"` // the events without a public position
	Time        int64                 `json:"time"`
	Before      int64                 `json:"before"`
	Jumped      int64                 `json:"jumped"`
	Gone        []gone                `json:"gone"`             // names that were deleted, with their last version
	Secret      []string              `json:"secret,omitempty"` // the names in Gone that were private
	Audit       []api.AuditEntry      `json:"audit,omitempty"`
	Leads       *LeadsEvent           `json:"leads,omitempty"` // of the node that led last
	Experiments []persistedExperiment `json:"experiments"`
}

// gone is a name that was deleted, with its last version.
type gone struct {
	Name string `json:"name"`
	Last uint64 `json:"last"`
}

type persistedExperiment struct {
	Definition *definition.Definition `json:"definition"`
	State      *persistedParts        `json:"state"`
	Cohorts    []*join.Version        `json:"cohorts"`
	Learner    *persistedLearner      `json:"learner,omitempty"`
	Deleted    *deletion              `json:"deleted,omitempty"` // of one that can be restored
}

// persistedLearner is the learner of an experiment, which a digest leaves out, with the policy that
// made it and its revision.
type persistedLearner struct {
	Policy   string `json:"policy"`
	Revision int    `json:"revision"`
	State    []byte `json:"state"`
}

// persistedParts are the exported fields of the parts of an experiment, in their order, on which
// the digest depends (docs/formats/state.md). Cohorts and the learner's snapshot are persisted
// beside them.
type persistedParts struct {
	Created int64         `json:"created"`
	Status  policy.Status `json:"status"`
	roster
	rounds
	learning
	guards
	Join *join.Joiner `json:"join"`
	health
	Ramp       guard.Ramp        `json:"ramp"`
	Tight      report.Tight      `json:"lifts,omitempty"`
	Uniform    *report.Uniform   `json:"uniform,omitempty"`
	Conclusion *api.Conclusion   `json:"conclusion,omitempty"`
	Private    *privateSums      `json:"private,omitempty"`
	Sequences  compare.Sequences `json:"sequences,omitempty"`
	Wanted     *guard.Demand     `json:"wanted,omitempty"`
	Notes      []Note            `json:"notes"`
}

// persisted returns the parts of an experiment as they are persisted.
func (x *experimentState) persisted() *persistedParts {
	return &persistedParts{
		x.Created, x.Status, x.roster, x.rounds, x.learning, x.guards, x.joiner, x.health,
		x.Ramp, x.Tight, x.Uniform, x.Conclusion, x.Private, x.Sequences, x.Wanted, x.Notes,
	}
}

// restored returns the experiment of persisted parts.
func (p *persistedParts) restored() *experimentState {
	x := &experimentState{
		p.Created, p.Status, p.roster, p.rounds, p.learning, p.guards, p.Join, p.health,
		p.Ramp, p.Tight, p.Uniform, p.Conclusion, p.Private, p.Sequences, p.Wanted, p.Notes,
		consequence{},
	}
	x.guards.cache = new(guard.Cache)
	return x
}

// MarshalBinary writes the state as JSON (docs/formats/state.md). UnmarshalBinary continues it bit
// for bit. Snapshots of the log are of [Frozen.Save].
func (s *State) MarshalBinary() ([]byte, error) {
	f, err := s.Freeze()
	if err != nil {
		return nil, err
	}
	return f.MarshalBinary()
}

// Frozen is an immutable copy of a state. A host can write it to the disk while the state changes.
type Frozen struct{ saved persistedState }

// Freeze copies the state. It takes a small part of the time of [State.MarshalBinary].
func (s *State) Freeze() (*Frozen, error) {
	if s.broken != nil {
		return nil, s.broken
	}
	f := &Frozen{saved: s.head()}
	for _, name := range allNames(s) {
		x := find(s, name)
		b, err := x.learning.learner.MarshalBinary()
		if err != nil {
			return nil, err
		}
		y := x.copy()
		l := &persistedLearner{State: b}
		l.Policy, l.Revision = policyOf(y.roster.def)
		e := persistedExperiment{Definition: y.roster.def, State: y.persisted(), Cohorts: y.joiner.Versions, Learner: l}
		if k := s.Deleted[name]; k != nil {
			e.Deleted = &k.deletion
		}
		f.saved.Experiments = append(f.saved.Experiments, e)
	}
	return f, nil
}

// Position returns the position of the state's last event.
func (f *Frozen) Position() uint64 { return f.saved.Position }

// MarshalBinary encodes the state as it was when it was frozen: see [State.MarshalBinary].
func (f *Frozen) MarshalBinary() ([]byte, error) {
	var b bytes.Buffer
	_, err := f.WriteTo(&b)
	return b.Bytes(), err
}

// WriteTo implements [io.WriterTo]. It writes what [Frozen.MarshalBinary] returns, the units that
// wait for feedback in pieces, so that it needs little memory for them.
func (f *Frozen) WriteTo(to io.Writer) (n int64, err error) {
	defer catchLost(&err)
	w := &snapshotWriter{to: to}
	f.writeJSON(w, w.version)
	return w.n, w.err
}

// writeJSON writes the state as JSON, its versions by version.
func (f *Frozen) writeJSON(w *snapshotWriter, version func(*join.Version)) {
	head := f.saved
	head.Experiments = []persistedExperiment{}
	b, err := strictjson.Encode(head)
	if err != nil {
		w.fail(err)
		return
	}
	const end = "]}"
	_, _ = w.Write(bytes.TrimSuffix(b, []byte(end)))
	for i := range f.saved.Experiments {
		if i > 0 {
			w.text(",")
		}
		e := &f.saved.Experiments[i]
		w.text(`{"definition":`)
		w.value(e.Definition)
		w.text(`,"state":`)
		w.value(e.State)
		w.text(`,"cohorts":[`)
		for k, c := range e.Cohorts {
			if k > 0 {
				w.text(",")
			}
			version(c)
		}
		w.text("]")
		if e.Learner != nil {
			w.text(`,"learner":`)
			w.value(e.Learner)
		}
		if e.Deleted != nil {
			w.text(`,"deleted":`)
			w.value(e.Deleted)
		}
		w.text("}")
	}
	w.text(end)
}

// catchLost sets err to the reason why units that were in a file could not be read back.
func catchLost(err *error) {
	if r := recover(); r != nil {
		lost, ok := r.(*pages.ReadError)
		if !ok {
			panic(r)
		}
		*err = noregret.Errorf(noregret.Internal, "state", "%w", lost)
	}
}

// Digest returns the SHA-256, in hexadecimal, of the result of [Frozen.MarshalBinary] without
// what only reports show ([Frozen.withoutShown]) and without the learners, on which nothing in the
// fold depends: everything that later events depend on. Two states are the same if and only if
// (collisions apart) their digests are.
func (f *Frozen) Digest() (string, error) {
	sum := sha256.New()
	if _, err := f.withoutShown().WriteTo(sum); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
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
		Format: stateFormat, Position: s.position, Hidden: s.hidden, Time: s.time, Before: s.before, Jumped: s.jumped,
		Gone: []gone{}, Audit: s.trail, Leads: Leader(s), Experiments: []persistedExperiment{},
	}
	for _, name := range slices.Sorted(maps.Keys(s.gone)) {
		out.Gone = append(out.Gone, gone{Name: name, Last: s.gone[name]})
	}
	out.Secret = slices.Sorted(maps.Keys(s.secret))
	return out
}

// UnmarshalBinary decodes a saved state. If it is damaged or of another format, UnmarshalBinary
// returns an error and leaves the state unchanged.
func (s *State) UnmarshalBinary(data []byte) error { return s.Restore(bytes.NewReader(data)) }

// Restore is [State.UnmarshalBinary] for a saved state that is read in pieces: of [Frozen.Save], or
// of [Frozen.WriteTo].
func (s *State) Restore(r io.Reader) (err error) {
	defer catchLost(&err)
	in, split := bufio.NewReaderSize(r, 1<<18), splitColumns
	if begin, _ := in.Peek(len(savedMagic)); string(begin) == savedMagic {
		split = readSaved
	}
	rest, columns, err := split(in, s.memory)
	n := NewStateIn(s.memory)
	if err == nil {
		err = openState(n, rest, columns)
	}
	if err != nil {
		for _, of := range columns {
			for _, t := range of {
				t.Release()
			}
		}
		return err
	}
	*s = *n
	return nil
}

// checkFormat returns an error if the JSON of a state begins with another format.
func checkFormat(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	_, _ = d.Token()
	name, err := d.Token()
	format, err2 := d.Token()
	if err != nil || err2 != nil || name != "format" {
		return noregret.BadInputf("snapshot", "cannot be read: it has no format")
	}
	if format != stateFormat {
		return noregret.BadInputf("snapshot", "its format is %q: want %q; %s", format, stateFormat, startAnew)
	}
	return nil
}

// openState makes an empty state that of some JSON, with the rows of each cohort by experiment.
func openState(s *State, text []byte, columns [][]*join.Columns) error {
	if err := checkFormat(text); err != nil {
		return err
	}
	var saved persistedState
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&saved); err != nil {
		return noregret.BadInputf("snapshot", "cannot be read: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return noregret.BadInputf("snapshot", "cannot be read: something follows its end")
	}
	if len(columns) != len(saved.Experiments) {
		return noregret.BadInputf("snapshot", "units of %d experiments: want those of %d", len(columns),
			len(saved.Experiments))
	}
	s.position, s.time, s.before, s.jumped = saved.Position, saved.Time, saved.Before, saved.Jumped
	s.leads = saved.Leads
	if s.trail, s.hidden = saved.Audit, saved.Hidden; s.hidden > s.position {
		return noregret.BadInputf("snapshot", "%d hidden events of %d", s.hidden, s.position)
	}
	for _, g := range saved.Gone {
		s.gone[g.Name] = g.Last
	}
	for _, name := range saved.Secret {
		if _, ok := s.gone[name]; !ok {
			return noregret.BadInputf("snapshot", "secret: %q was not deleted: want names in gone", name)
		}
		s.secret[name] = true
	}
	for i := range saved.Experiments {
		x, err := saved.Experiments[i].open(s.memory, columns[i])
		if err != nil {
			return err
		}
		name := x.roster.def.Name
		if find(s, name) != nil {
			return noregret.BadInputf("snapshot", "the experiment %q is there twice", name)
		}
		if d := saved.Experiments[i].Deleted; d != nil {
			s.Deleted[name] = &deletedExperiment{x, *d}
		} else {
			s.live[name] = x
		}
	}
	return nil
}

// restoreVersions prepares the versions of a snapshot, or returns an error if one of them does not
// fit the definition. It does so at once, as readers of the state share them.
func (x *rounds) restoreVersions(d *definition.Definition) error {
	for _, v := range x.Versions {
		if v == nil || v.Split == nil {
			return noregret.BadInputf("snapshot", "experiment %q has a version without its policy",
				d.Name)
		}
		if !v.Guards.Fits(len(d.Metrics)) {
			return noregret.BadInputf("snapshot", "the guardrails of version %d do not fit", v.Version)
		}
		if v.Linear == nil {
			continue
		}
		if err := v.Linear.Prepare(len(v.Linear.Arms)); err != nil || len(v.Linear.Arms) != v.Split.Len() {
			return noregret.BadInputf("snapshot", "the model of version %d does not fit: %v", v.Version, err)
		}
	}
	return nil
}

// openLearner restores the learner of a snapshot. One of another revision of the policy is rebuilt
// from the rounds that are kept: what it had learned from earlier ones is lost, and nothing else.
func (x *experimentState) openLearner(l *persistedLearner) error {
	name, rev := policyOf(x.roster.def)
	if l == nil || l.Policy != name || l.Revision != rev {
		arms, private := slices.Clone(x.roster.Arms), x.Private.copy()
		_ = x.rebuildLearner()                   // or it proposes nothing
		x.roster.Arms, x.Private = arms, private // what was observed, was counted
		return nil
	}
	return x.learning.restoreLearner(&x.roster, l.State)
}

// open returns the state of a persisted experiment, or an error if its parts do not fit.
func (e *persistedExperiment) open(memory *pages.Pool, columns []*join.Columns) (*experimentState, error) {
	if e.Definition == nil || e.State == nil || e.State.Join == nil || len(e.Cohorts) == 0 || len(e.State.Arms) == 0 ||
		len(e.State.Versions) == 0 || len(columns) != len(e.Cohorts) {
		return nil, noregret.BadInputf("snapshot", "an experiment without definition, arms, versions or their units")
	}
	if err := e.Definition.Validate(); err != nil {
		return nil, noregret.BadInputf("snapshot", "%w", err)
	}
	x := e.State.restored()
	x.roster.def = e.Definition
	if err := x.roster.setGoals(); err != nil {
		return nil, err
	}
	fits := x.roster.Control >= -1 && x.roster.Control < len(x.roster.Arms) &&
		len(x.guards.Guards) == len(x.roster.def.Guardrails) && len(x.health.Missing) == len(x.roster.def.Metrics) &&
		len(x.health.Matured) == len(x.roster.def.Metrics) &&
		len(x.joiner.Arms) == len(x.roster.Arms)
	for _, k := range x.roster.LearnedArms {
		fits = fits && k >= 0 && k < len(x.roster.Arms)
	}
	if !fits {
		return nil, noregret.BadInputf("snapshot", "the parts of experiment %q do not fit each other",
			x.roster.def.Name)
	}
	if err := x.joiner.Restore(memory, x.roster.def, e.Cohorts, columns); err != nil {
		return nil, err
	}
	if err := x.Private.restore(x.roster.def, len(x.roster.Arms)); err != nil {
		return nil, err
	}
	if err := x.rounds.restoreVersions(x.roster.def); err != nil {
		return nil, err
	}
	if !x.Sequences.Watches(x.roster.def.ComparedMetrics()) || !x.Tight.Watches(x.roster.def) ||
		!x.learning.fits(&x.roster) || !x.guards.Fits(x.roster.def, len(x.roster.Arms)) {
		return nil, noregret.BadInputf("snapshot", "the comparisons of arms of experiment %q do not fit its definition",
			x.roster.def.Name)
	}
	if err := x.openLearner(e.Learner); err != nil {
		return nil, err
	}
	v := x.rounds.versionOf(x.rounds.Version)
	if v == nil || v.Split == nil || v.Split.Len() > len(x.roster.Arms) {
		return nil, noregret.BadInputf("snapshot", "version %d of experiment %q is missing", x.rounds.Version,
			x.roster.def.Name)
	}
	var err error
	x.rounds.policy, err = x.rounds.policyOf(&x.roster, v)
	return x, err
}
