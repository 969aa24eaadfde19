package classify

import (
	"fmt"

	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/forget"
)

// newDriftLearner returns the online learner of resolved options, wrapped by what their Drift asks
// for.
func newDriftLearner(r *resolved, cfg Config) (Learner, error) {
	d := r.Drift
	build := func(cfg Config) (Learner, error) { return r.alg.learner(r, cfg) }
	switch d.Kind {
	case forget.Restart, forget.Detector:
		if d.Mode == forget.Steps && cfg.Steps == StepsBetting {
			return nil, usage("coin betting has no step sizes to restart: use mode=full in drift %s", driftText(d))
		}
		return newRestarted(d, func() (Learner, error) { return build(cfg) })
	case forget.Discount:
		cfg.Window = windowOf(d)
	case forget.Adaptive:
		return newCovering(d, r.two, cfg, build)
	}
	return build(cfg)
}

// restarted restarts a learner when a trigger says so. It is the learner of [forget.Restart]
// and [forget.Detector]. A learner that was restarted in full equals a new one that has seen the
// examples since the restart only, bit for bit.
//
// A detector gets the errors of the predictions made before each step, 1 for a mistake. Detectors
// are two-sided, and most changes that they find in the errors of a young learner are its progress:
// the learner is restarted only if the recent errors are more frequent than those since its start.
// While the old learner still predicts, the detector waits.
//
// Beyond the learner's cost an example costs one prediction, and a restart makes a learner.
type restarted struct {
	drift   forget.Rule
	build   func() (Learner, error)
	trigger forget.Trigger
	current Learner
	retired Learner // predicts until current is warm; nil if current predicts
	s       restartedState
	failed  error
}

// restartedState is the part of the state beside the learners and the trigger.
type restartedState struct {
	// Rows is the number of examples in all, Age that since the last restart.
	Rows, Age, Restarts int64
	// Positives and Negatives are the weights in all.
	Positives, Negatives float64
	Progressive          measure.Confusion
	// Counted is the number of errors since the trigger's start, Mean their mean, and Recent their
	// exponential moving mean.
	Counted      int64
	Mean, Recent float64
}

// recentErrors is the number of errors in the moving mean that an alarm is compared with.
const recentErrors = 50

func newRestarted(d forget.Rule, build func() (Learner, error)) (*restarted, error) {
	r := &restarted{drift: d, build: build}
	var err error
	if r.trigger, err = d.Trigger(forget.Mistakes); err != nil {
		return nil, usage("drift: %v", err)
	}
	if r.current, err = r.begin(); err != nil {
		return nil, err
	}
	if o := onlineOf(r.current); d.Kind == forget.Restart && d.Mode == forget.Full && !o.ready &&
		burnInShare*int64(d.Rounds) < int64(o.cfg.BurnIn) {
		return nil, usage("drift %s: no learner would finish its burn-in within the interval; want an interval of at "+
			"least %d examples", driftText(d), (o.cfg.BurnIn+burnInShare-1)/burnInShare)
	}
	return r, nil
}

// begin makes a learner.
func (r *restarted) begin() (Learner, error) {
	l, err := r.build()
	if err != nil {
		return nil, err
	}
	onlineOf(l).before = r.s.Rows
	return l, nil
}

func (r *restarted) common() *online { return onlineOf(r.current) }

// predictor is the learner whose model predicts.
func (r *restarted) predictor() Learner {
	if r.retired != nil {
		return r.retired
	}
	return r.current
}

// Observe implements [Learner].
func (r *restarted) Observe(x Example) error {
	if r.failed != nil {
		return r.failed
	}
	x, err := onlineOf(r.current).check(x)
	if err != nil || x.Weight == 0 {
		if err == nil {
			err = r.current.Observe(x)
		}
		return err
	}
	predicted := r.Score(x.Index, x.Value) > 0
	if err := r.current.Observe(x); err != nil {
		r.failed = err
		return err
	}
	s := &r.s
	s.Progressive.Add(x.Positive, predicted, x.Weight)
	if x.Positive {
		s.Positives += x.Weight
	} else {
		s.Negatives += x.Weight
	}
	s.Rows++
	s.Age++
	r.handOver()
	return r.end(predicted != x.Positive)
}

// handOver lets the current learner predict once it is warm.
func (r *restarted) handOver() {
	if r.retired == nil || r.s.Age < int64(r.drift.Warm) || !onlineOf(r.current).ready {
		return
	}
	if pos, neg := r.current.Seen(); pos > 0 && neg > 0 {
		r.retired = nil
	}
}

// end ends an example: it asks the trigger whether to restart.
func (r *restarted) end(wrong bool) error {
	e := 0.0
	if wrong {
		e = 1
	}
	if r.drift.Kind == forget.Detector && r.retired != nil {
		return nil
	}
	s := &r.s
	s.Counted++
	s.Mean += (e - s.Mean) / float64(s.Counted)
	s.Recent += (e - s.Recent) / float64(min(s.Counted, recentErrors))
	restart, err := r.trigger.Add(e)
	if err != nil || !restart {
		return err
	}
	if r.drift.Kind == forget.Detector && !(s.Recent > s.Mean) {
		return nil
	}
	return r.restart()
}

// restart starts the next batch.
func (r *restarted) restart() error {
	s := &r.s
	s.Age, s.Counted, s.Mean, s.Recent = 0, 0, 0, 0
	s.Restarts++
	if r.drift.Mode == forget.Steps {
		restartSteps(r.current)
		return nil
	}
	next, err := r.begin()
	if err != nil {
		r.failed = err
		return err
	}
	switch {
	case r.drift.Warm == 0:
		r.retired = nil
	case r.retired == nil:
		r.retired = r.current
	}
	r.current = next
	return nil
}

// ResetAverage implements [Learner].
func (r *restarted) ResetAverage() { r.current.ResetAverage() }

// NextPass implements [Learner].
func (r *restarted) NextPass() {
	r.current.NextPass()
	r.s.Progressive = measure.Confusion{}
}

// Finish implements [Learner].
func (r *restarted) Finish() error {
	if r.failed != nil {
		return r.failed
	}
	if r.retired != nil { // which may be in its burn-in
		if err := r.retired.Finish(); err != nil {
			r.failed = err
			return err
		}
	}
	if r.drift.Mode == forget.Full && r.s.Age == 0 && r.s.Rows > 0 {
		return nil // the current learner has learned nothing, but the earlier ones have
	}
	return r.current.Finish()
}

// Score implements [Learner].
func (r *restarted) Score(index []uint32, value []float32) float64 {
	return r.predictor().Score(index, value)
}

// Model implements [Learner].
func (r *restarted) Model() Linear { return r.predictor().Model() }

// Progressive implements [Learner].
func (r *restarted) Progressive() measure.Confusion { return r.s.Progressive }

// Seen implements [Learner].
func (r *restarted) Seen() (positives, negatives float64) { return r.s.Positives, r.s.Negatives }

// Restarts is the number of restarts so far.
func (r *restarted) Restarts() int64 { return r.s.Restarts }

// savedRestarted is what a snapshot holds.
type savedRestarted struct {
	State                     restartedState
	Trigger, Current, Retired []byte // Retired is empty without one
}

func (r *restarted) kind() string { return "drift " + driftText(r.drift) }

// MarshalBinary implements [encoding.BinaryMarshaler].
func (r *restarted) MarshalBinary() ([]byte, error) {
	if r.failed != nil {
		return nil, r.failed
	}
	out := savedRestarted{State: r.s}
	var err error
	if out.Trigger, err = r.trigger.MarshalBinary(); err != nil {
		return nil, err
	}
	if out.Current, err = r.current.MarshalBinary(); err != nil {
		return nil, err
	}
	if r.retired != nil {
		if out.Retired, err = r.retired.MarshalBinary(); err != nil {
			return nil, err
		}
	}
	return seal(r.kind(), &out)
}

// UnmarshalBinary implements [encoding.BinaryUnmarshaler].
func (r *restarted) UnmarshalBinary(data []byte) error {
	var in savedRestarted
	if err := unseal(data, r.kind(), &in); err != nil {
		return err
	}
	s := &in.State
	if s.Age < 0 || s.Rows < s.Age || s.Restarts < 0 || s.Counted < 0 || !allFinite(s.Positives, s.Negatives) ||
		!(min(s.Positives, s.Negatives) >= 0) || !unitInterval(s.Mean) || !unitInterval(s.Recent) {
		return badSnapshot("damaged: %+v", *s)
	}
	fresh, err := newRestarted(r.drift, r.build)
	if err != nil {
		return err
	}
	if err := fresh.trigger.UnmarshalBinary(in.Trigger); err != nil {
		return err
	}
	if err := fresh.current.UnmarshalBinary(in.Current); err != nil {
		return err
	}
	if len(in.Retired) > 0 {
		old, err := r.begin()
		if err != nil {
			return err
		}
		if err := old.UnmarshalBinary(in.Retired); err != nil {
			return err
		}
		fresh.retired = old
	}
	fresh.s = *s
	if r.drift.Mode == forget.Full {
		onlineOf(fresh.current).before = s.Rows - s.Age
	}
	*r = *fresh
	return nil
}

// String describes the learner in one line.
func (r *restarted) String() string {
	return fmt.Sprintf("%s (%d restarts)", driftText(r.drift), r.s.Restarts)
}
