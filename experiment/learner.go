package experiment

import (
	"encoding"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/experiment/compare"
	"github.com/noregret/noregret/internal/column"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/box"
	"github.com/noregret/noregret/policy"
)

// learner learns what a [proposer] proposes. Its arms are numbered on their own, without the
// control arm if that has a fixed share. A learner is deterministic: it has no clock and no global
// randomness. The fold passes on what it has counted, and nothing in the fold depends on a learner:
// it may refuse, forget or be replaced.
type learner interface {
	// Observe ends a round with an observation for each arm with data, of Size units each. An
	// observation that breaks a rule is an error and changes nothing.
	Observe(round []pasto.Observation) error
	// AddArm adds an arm at the end and returns its index. RetireArm retires an arm for good.
	AddArm() (int, error)
	RetireArm(k int) error
	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
}

// mixer is a learner that mixes its arms without looking at contexts. Every [pasto.Roster] is one.
type mixer interface {
	learner
	// Serving returns the distribution to serve over all arms; retired arms have 0. The caller must
	// not write to it.
	Serving() []float64
	// Deployed returns the distribution to serve when nothing more is to be learned.
	Deployed() []float64
}

// pointChooser is a learner that chooses its arms itself, as points of a box.
type pointChooser interface {
	mixer
	Arms() int
	Point(k int) []float64
}

// makeLearner is newLearner. Tests replace it to count the learners that are made.
var makeLearner = newLearner

// newLearner makes the learner of a definition and its arms, which may read the store of the fold.
func newLearner(r *roster, store *compare.Store) (learner, error) {
	d, arms := r.def, len(r.LearnedArms)
	if d.Policy.Kind == "fixed" {
		return &fixed{r.fixedSplit()}, nil
	}
	if d.Contextual() {
		return newContextLearner(d, arms)
	}
	if d.Bandit() {
		return newRewardLearner(d, arms)
	}
	if d.Arms.Box != nil {
		_, low, high := d.Sides()
		o := box.DefaultOptions(len(low))
		if n := d.Arms.Nodes; n != nil {
			o.Nodes, o.MaxNodes = int(*n), min(8*int(*n), box.MostNodes)
		}
		if n := d.Arms.Every; n != nil {
			o.Every = int(*n)
		}
		l, err := box.New(r.goals, low, high, o)
		return boxed{l}, err
	}
	return newMixtureLearner(r, store)
}

// boxed is a learner that chooses points of a box. Arms cannot be added or retired by hand.
type boxed struct{ *box.Learner }

var errBoxed = noregret.BadInputf("arm", "the points of a box are chosen by the policy")

// AddArm implements [learner].
func (boxed) AddArm() (int, error) { return 0, errBoxed }

// RetireArm implements [learner].
func (boxed) RetireArm(int) error { return errBoxed }

// fixed is a mixture that never changes by itself.
type fixed struct{ p []float64 }

// Serving implements [mixer].
func (f *fixed) Serving() []float64 { return f.p }

// Deployed implements [mixer].
func (f *fixed) Deployed() []float64 { return f.p }

// Observe implements [learner].
func (f *fixed) Observe([]pasto.Observation) error { return nil }

// AddArm implements [learner].
func (f *fixed) AddArm() (int, error) {
	f.p = append(slices.Clone(f.p), 0)
	return len(f.p) - 1, nil
}

// RetireArm implements [learner]: the arm's share goes to the other arms in proportion, or to the
// newest of them if the arm had everything.
func (f *fixed) RetireArm(k int) error {
	if k < 0 || k >= len(f.p) || len(f.p) < 2 {
		return noregret.BadInputf("arm", "%d is unknown, or the only one", k)
	}
	rest := 1 - f.p[k]
	p := slices.Clone(f.p)
	p[k] = 0
	if !(rest > 1e-9) {
		last := len(p) - 1
		if last == k {
			last--
		}
		p[last], rest = 1, 1
	}
	for i := range p {
		p[i] /= rest
	}
	f.p = p
	return nil
}

// MarshalBinary implements [learner].
func (f *fixed) MarshalBinary() ([]byte, error) { return column.Float64s(f.p).MarshalJSON() }

// UnmarshalBinary implements [learner].
func (f *fixed) UnmarshalBinary(b []byte) error {
	var p column.Float64s
	if err := p.UnmarshalJSON(b); err != nil {
		return err
	}
	if _, err := policy.NewSplit(p); err != nil {
		return err
	}
	f.p = p
	return nil
}

// lost is the learner of a policy that could not be made. It proposes nothing.
type lost struct{}

// Observe implements [learner].
func (lost) Observe([]pasto.Observation) error { return nil }

// AddArm implements [learner].
func (lost) AddArm() (int, error) { return 0, nil }

// RetireArm implements [learner].
func (lost) RetireArm(int) error { return nil }

// MarshalBinary implements [learner].
func (lost) MarshalBinary() ([]byte, error) { return []byte{}, nil }

// UnmarshalBinary implements [learner].
func (lost) UnmarshalBinary([]byte) error { return nil }

// point is the arm of a point of the box.
func point(names []string, number int, x []float64) policy.Arm {
	var b strings.Builder
	for i, n := range names {
		b.WriteString([]string{"{", ","}[min(i, 1)])
		b.WriteString(strconv.Quote(n) + ":" + strconv.FormatFloat(x[i], 'g', -1, 64))
	}
	b.WriteString("}")
	return policy.Arm{Name: "point-" + strconv.Itoa(number+1), Value: json.RawMessage(b.String())}
}
