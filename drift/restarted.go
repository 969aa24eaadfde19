package drift

import (
	"fmt"
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/forget"
	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/loss"
	"github.com/noregret/noregret/oco"
)

// Mode is what a learner keeps at a restart.
type Mode int

const (
	// Full keeps nothing: the next batch begins at the first point, as a fresh learner does.
	Full Mode = iota
	// Schedule keeps the point and restarts the schedule of step sizes. The first point of a batch
	// is one step from the last point of the batch before it. With a constant step size such a
	// restart changes nothing.
	Schedule
	// Project is Schedule with a projection of the point on the set where a fresh learner begins.
	// Learners that try points near their own need it, because they begin farther from the
	// boundary than they end.
	Project
)

// String is "full", "schedule" or "project".
func (m Mode) String() string {
	switch m {
	case Full:
		return "full"
	case Schedule:
		return "schedule"
	case Project:
		return "project"
	}
	return "unknown"
}

func (m Mode) check() error {
	if m < Full || m > Project {
		return noregret.BadInputf("mode", "%d: want Full, Schedule or Project", int(m))
	}
	return nil
}

// DynamicBounder is a learner with a guarantee against the minimizers of all costs, one of each
// round.
type DynamicBounder interface {
	// DynamicBound bounds the regret of the rounds so far, Σ f_t(x_t) − min_x f_t(x), for costs of
	// the given variation Σ_{t≥2} sup_x |f_t(x) − f_{t−1}(x)|. It returns an error if that is
	// negative or NaN.
	DynamicBound(variation float64) (float64, error)
}

// RestartedOptions are the parameters of [NewRestarted]. The zero value is refused: Make and
// Trigger are required.
type RestartedOptions struct {
	// Make makes a learner at its start. It begins at the given point, or at its own first point if
	// start is nil. Only modes other than Full give a point. All learners have one dimension.
	Make func(start []float64) (oco.Learner, error)
	// Trigger says when to restart.
	Trigger forget.Trigger
	// Mode is what the next learner keeps.
	Mode Mode
	// Set is the set on which [Project] projects the point. Other modes ignore it.
	Set convex.Set
	// Static is a bound on the static regret of a batch of the given number of rounds, for the
	// bounds of the whole. Without it they are +Inf after the first restart.
	Static func(rounds int) float64
}

// Restarted restarts a learner of package oco, or any other of that shape, such as
// experts.Specialists and experts.Mixture. This turns a learner that is good against the best fixed
// point of a batch into one that is good against the best points of all rounds (Besbes, Gur and
// Zeevi, "Non-stationary stochastic optimization", Operations Research 2015).
//
// Guarantee (DynamicBound): Σ_j S(n_j) + 2·n·V, for batches of n_j rounds, at most n, a learner of
// static regret S, and costs of variation V (Proposition 2 of that paper). Bound is for a fixed
// point: in finished batches it is S(n_j), in the current one the learner's own.
//
// In mode [Full] a batch is bit for bit what a fresh learner does with its rounds. Hints, features,
// sparse subgradients, strong convexity and whole losses go to the learner. A trigger that uses the
// losses gets them from UpdateLoss, or from Loss before another update.
//
// A round costs O(1) more than the learner's and allocates nothing, except that a restart makes a
// learner. It is not safe for concurrent use.
type Restarted struct {
	o         RestartedOptions
	r         *Restarter[*oco.Linearized]
	d         int
	text      string
	loss      float64
	hasLoss   bool
	next      []float64 // the start of the learner made last
	restoring bool
	s         restartedState
}

type restartedState struct {
	Start   []float64 // of the current learner, nil for its own first point
	Past    float64   // Σ S(n_j) of the finished batches
	Longest int       // rounds of the longest finished batch
	Loss    float64
	HasLoss bool
	Inner   []byte
}

// NewRestarted returns a learner that is restarted. It returns an error of code bad_input for
// options that are missing or out of range, and for a learner that cannot be made.
func NewRestarted(o RestartedOptions) (*Restarted, error) {
	if o.Make == nil {
		return nil, noregret.BadInputf("make", "nil: want a function")
	}
	if err := o.Mode.check(); err != nil {
		return nil, err
	}
	if o.Mode == Project && o.Set == nil {
		return nil, noregret.BadInputf("set", "nil: want the set on which the mode project projects")
	}
	l := &Restarted{o: o}
	var err error
	if l.r, err = NewRestarter(o.Trigger, l.begin); err != nil {
		return nil, err
	}
	l.text = fmt.Sprintf("restarted(%s, d=%d, %s, %v)", textOf(l.Learner()), l.d, textOf(o.Trigger), o.Mode)
	return l, nil
}

// begin makes the learner of a batch.
func (l *Restarted) begin(batch int) (*oco.Linearized, error) {
	l.next = l.s.Start
	if batch > 0 && l.o.Mode != Full && !l.restoring {
		l.next = slices.Clone(l.Predict())
		if l.o.Mode == Project {
			l.o.Set.Project(l.next, l.next)
		}
	}
	inner, err := l.o.Make(l.next)
	if err != nil {
		return nil, err
	}
	if inner == nil {
		return nil, noregret.BadInputf("make", "the learner is nil: want a learner")
	}
	d := inner.Dim()
	if l.d > 0 && d != l.d || l.o.Mode == Project && d != l.o.Set.Dim() {
		return nil, noregret.BadInputf("make", "the learner has dimension %d, unlike the first learner or the set", d)
	}
	l.d = d
	return oco.NewLinearized(inner)
}

// Dim implements [oco.Learner].
func (l *Restarted) Dim() int { return l.d }

// Rounds implements [oco.Counter].
func (l *Restarted) Rounds() int { return l.r.Rounds() }

// Batch is the number of restarts so far.
func (l *Restarted) Batch() int { return l.r.Batch() }

// Age is the number of rounds of the current batch that have ended.
func (l *Restarted) Age() int { return l.r.Age() }

// Learner is the learner of the current batch.
func (l *Restarted) Learner() oco.Learner { return l.r.Learner().Learner }

// Predict implements [oco.Learner].
func (l *Restarted) Predict() []float64 { return l.r.Learner().Predict() }

// At implements [oco.SparseLearner].
func (l *Restarted) At(i int) float64 { return l.r.Learner().At(i) }

// Hint implements [oco.Hinted].
func (l *Restarted) Hint(g []float64) error { return l.r.Learner().Hint(g) }

// Features implements [oco.FeatureLearner].
func (l *Restarted) Features(z []float64) error { return l.r.Learner().Features(z) }

// Loss gives the trigger the loss of the current round, which an update will end. A second call
// replaces the first. It returns an error for a loss that the trigger does not accept.
func (l *Restarted) Loss(x float64) error {
	if err := l.r.Check(x); err != nil {
		return err
	}
	l.loss, l.hasLoss = x, true
	return nil
}

// ready returns an error if the round cannot end: a restart has failed, or the trigger needs a
// loss.
func (l *Restarted) ready() error {
	if !l.hasLoss && !forget.IgnoresLoss(l.o.Trigger) {
		return noregret.BadInputf("loss", "the trigger %s needs the loss of the round: call Loss before the update, "+
			"or UpdateLoss", textOf(l.o.Trigger))
	}
	return l.r.Check(l.loss)
}

// Update implements [oco.Learner]. If a restart fails, this and every later call returns the error.
func (l *Restarted) Update(g []float64) error {
	if err := l.ready(); err != nil {
		return err
	}
	if err := l.r.Learner().Update(g); err != nil {
		return err
	}
	return l.end(l.loss)
}

// UpdateCurved implements [oco.Curved].
func (l *Restarted) UpdateCurved(g []float64, mu float64) error {
	if err := l.ready(); err != nil {
		return err
	}
	if err := l.r.Learner().UpdateCurved(g, mu); err != nil {
		return err
	}
	return l.end(l.loss)
}

// UpdateSparse implements [oco.SparseLearner].
func (l *Restarted) UpdateSparse(g oco.Sparse) error {
	if err := l.ready(); err != nil {
		return err
	}
	if err := l.r.Learner().UpdateSparse(g); err != nil {
		return err
	}
	return l.end(l.loss)
}

// UpdateLoss implements [oco.LossLearner]. The trigger gets the loss at Predict(), unless Loss has
// given it another number.
func (l *Restarted) UpdateLoss(f loss.Function) error {
	x := l.loss
	if !l.hasLoss {
		if f == nil || f.Dim() != l.d {
			return noregret.BadInputf("loss", "want a function of dimension %d", l.d)
		}
		x = f.Value(l.Predict())
	}
	if err := l.r.Check(x); err != nil {
		return err
	}
	if err := l.r.Learner().UpdateLoss(f); err != nil {
		return err
	}
	return l.end(x)
}

// end ends the round and, if the trigger says so, the batch.
func (l *Restarted) end(x float64) error {
	l.loss, l.hasLoss = 0, false
	n := l.r.Age() + 1
	restarted, err := l.r.End(x)
	if restarted {
		l.s.Start = l.next
		l.s.Past += l.static(n)
		l.s.Longest = max(l.s.Longest, n)
	}
	return err
}

// static is the bound on the static regret of a batch.
func (l *Restarted) static(rounds int) float64 {
	switch {
	case rounds == 0:
		return 0
	case l.o.Static == nil:
		return math.Inf(1)
	}
	return l.o.Static(rounds)
}

// Bound implements [oco.Bounder].
func (l *Restarted) Bound(u []float64) (float64, error) {
	b, err := l.r.Learner().Bound(u)
	if err != nil || l.Batch() == 0 || math.IsInf(b, 1) {
		return b, err
	}
	return l.s.Past + b, nil
}

// DynamicBound implements [DynamicBounder]. It is +Inf without RestartedOptions.Static.
func (l *Restarted) DynamicBound(variation float64) (float64, error) {
	if err := checkVariation(variation); err != nil {
		return 0, err
	}
	longest := float64(max(l.s.Longest, l.Age()))
	return l.s.Past + l.static(l.Age()) + float64(2*longest*variation), nil
}

func checkVariation(v float64) error {
	if !(v >= 0) {
		return noregret.BadInputf("variation", "%v: want a number of at least 0", v)
	}
	return nil
}

// String describes the learner and its options in one line.
func (l *Restarted) String() string { return l.text }

// MarshalBinary implements [oco.Snapshotter]; the learner inside must be one too.
func (l *Restarted) MarshalBinary() ([]byte, error) {
	s := l.s
	s.Loss, s.HasLoss = l.loss, l.hasLoss
	var err error
	if s.Inner, err = l.r.MarshalBinary(); err != nil {
		return nil, err
	}
	return snapshot.Seal(snapshotMagic, l.text, &s)
}

// UnmarshalBinary implements [oco.Snapshotter]. It makes the learner of the batch anew. A snapshot
// that is refused changes nothing.
func (l *Restarted) UnmarshalBinary(data []byte) error {
	var s restartedState
	if err := snapshot.Open(data, snapshotMagic, l.text, &s); err != nil {
		return err
	}
	if s.Start != nil && (len(s.Start) != l.d || !vec.Finite(s.Start)) || s.Longest < 0 || !(s.Past >= 0) ||
		checkLoss("", s.Loss) != nil {
		return snapshot.Bad("damaged: a start of %d values for dimension %d, a batch of %d rounds, or a bad number",
			len(s.Start), l.d, s.Longest)
	}
	inner := s.Inner
	s.Inner = nil
	before := l.s
	l.s, l.restoring = s, true
	err := l.r.UnmarshalBinary(inner)
	l.restoring = false
	if err != nil {
		l.s = before
		return err
	}
	l.loss, l.hasLoss = s.Loss, s.HasLoss
	l.s.Loss, l.s.HasLoss = 0, false
	return nil
}
