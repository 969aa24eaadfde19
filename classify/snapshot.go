package classify

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/oco"
)

// snapshotMagic begins the snapshots of this package; its digit is their version.
const snapshotMagic = "noregret-learner-2\n"

// seal writes a snapshot.
func seal(kind string, state any) ([]byte, error) { return snapshot.Seal(snapshotMagic, kind, state) }

// unseal reads a snapshot into state. It returns an error if the snapshot is damaged, or of another
// version, learner or set of options.
func unseal(data []byte, kind string, state any) error {
	return snapshot.Open(data, snapshotMagic, kind, state)
}

func badSnapshot(format string, args ...any) error { return snapshot.Bad(format, args...) }

// learnerState is the whole state of a learner of two classes.
type learnerState struct {
	Common commonState
	Seen   measure.Confusion
	SPADE  *spadeState
	STAMP  *stampState
}

// commonState is the common state of all online learners.
type commonState struct {
	Lins              []oco.LinearDescentState // of each output
	Buffer            []LabelsExample
	Pos, Neg, Rows    float64
	Skipped, T        int64
	Observed          int64 // 0 without a Decay: Rows is the number then
	MeanSquare, Share float64
	Ready             bool
	Moments           *momentsState
}

type momentsState struct {
	Total            float64
	Rows             int64
	Weight, Mean, M2 []float64
}

type spadeState struct{ Alpha, Beta, SumA, SumB float64 }

type stampState struct {
	Level, KPos, KNeg    float64
	Coef                 measure.Coefficients
	Stage, Done          int
	LevelStage           bool
	Counts               measure.Confusion
	Positives, Negatives int
	Current              *Linear // nil before the first level stage
	Points               []Checkpoint
}

// kind identifies a learner and its options in a snapshot.
func (o *online) kind(extra string) string {
	c := o.cfg
	if c.Window > 0 { // so that snapshots from before there was a window are read
		extra += fmt.Sprintf(" window=%d", c.Window)
	}
	return fmt.Sprintf("%s dim=%d<=%d reward=%s steps=%d step=%v*%v radius=%v lambda=%v bias=%v average=%d p=%v "+
		"prior=%v*%v decay=%v burnin=%d cap=%v scaling=%s weight=%v square=%v",
		extra, c.Dim, c.MaxDim, c.Reward.Name(), c.Steps, c.StepScale, c.Step, c.Radius, c.Lambda, c.BiasFeature,
		c.Averaging, c.Positives,
		c.PriorWeight, c.PriorShare, c.Decay, c.BurnIn, c.MaxExampleWeight, c.Scaling.digest(), c.MeanWeight,
		c.MeanSquare)
}

// digest returns a short text that identifies a scaling, "learned" for none. O(d).
func (s *Scaling) digest() string {
	if s == nil {
		return "learned"
	}
	h := sha256.New()
	for _, v := range [][]float64{s.Center, s.Inverse} {
		b := binary.LittleEndian.AppendUint64(nil, uint64(len(v)))
		for _, x := range v {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
		}
		_, _ = h.Write(b) // never fails
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:8])
}

// save returns an error for a learner that has failed, whose state is useless.
func (o *online) save() (commonState, error) {
	s := commonState{
		Buffer: o.buffer,
		Pos:    o.pos, Neg: o.neg, Rows: o.rows, Skipped: o.skipped, T: o.t, MeanSquare: o.meanSquare, Share: o.share,
		Ready: o.ready,
	}
	for _, l := range o.lins {
		s.Lins = append(s.Lins, l.State())
	}
	if o.cfg.Decay > 0 {
		s.Observed = o.observed
	}
	if m := o.moments; m != nil {
		s.Moments = &momentsState{Total: m.total, Rows: m.rows}
		for _, f := range m.f {
			s.Moments.Weight = append(s.Moments.Weight, f.weight)
			s.Moments.Mean = append(s.Moments.Mean, f.mean)
			s.Moments.M2 = append(s.Moments.M2, f.m2)
		}
	}
	return s, o.failed
}

// restore sets the learner to a checked state.
func (o *online) restore(s *commonState) {
	o.moments = nil
	if m := s.Moments; m != nil {
		o.moments = &moments{total: m.Total, rows: m.Rows, f: make([]featureMoments, len(m.Weight))}
		for i := range o.moments.f {
			o.moments.f[i] = featureMoments{weight: m.Weight[i], mean: m.Mean[i], m2: m.M2[i]}
		}
	}
	o.pos, o.neg, o.rows, o.skipped, o.t = s.Pos, s.Neg, s.Rows, s.Skipped, s.T
	o.observed = s.Observed
	o.meanSquare, o.share, o.ready, o.failed, o.buffer = s.MeanSquare, s.Share, s.Ready, nil, s.Buffer
	for k := range o.lins {
		l, err := oco.RestoreLinearDescent(s.Lins[k])
		if err != nil {
			panic(err) // checkLinear has accepted the state
		}
		o.lins[k] = l
	}
	o.lin = o.lins[0]
	if o.ready {
		o.algo.begin()
	}
}

func (o *twoClass) save() (learnerState, error) {
	common, err := o.online.save()
	return learnerState{Common: common, Seen: o.progressive}, err
}

// restore sets the learner to a checked state.
func (o *twoClass) restore(s *learnerState) {
	o.progressive = s.Seen
	o.online.restore(&s.Common)
}

// decode reads and checks a state of this learner.
func (o *twoClass) decode(data []byte, kind string) (*learnerState, error) {
	s := new(learnerState)
	if err := unseal(data, kind, s); err != nil {
		return nil, err
	}
	if err := s.Common.check(o.online); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *SPADE) kind() string {
	o := s.opt
	return s.online.kind(fmt.Sprintf("spade %s dual=%v*%v fixed=%t reward=%d eps=%v", o.Measure.Name(), o.DualScale,
		o.DualStep, o.FixedDual, o.DualReward, o.EpsExponent))
}

// MarshalBinary implements [encoding.BinaryMarshaler]: the whole state, but not the options.
// Continuing after UnmarshalBinary into a learner made with the same options is bit-identical. A
// learner that has diverged has no snapshot: MarshalBinary returns its error.
func (s *SPADE) MarshalBinary() ([]byte, error) {
	st, err := s.save()
	if err != nil {
		return nil, err
	}
	st.SPADE = &spadeState{s.alpha, s.beta, s.sumA, s.sumB}
	return seal(s.kind(), st)
}

// UnmarshalBinary implements [encoding.BinaryUnmarshaler]. A snapshot that is damaged (it ends with
// a checksum), of another version or of a learner with other options is refused with an error of
// code bad_input, and the learner is as it was.
func (s *SPADE) UnmarshalBinary(data []byte) error {
	st, err := s.decode(data, s.kind())
	if err != nil {
		return err
	}
	d := st.SPADE
	if d == nil || !(d.Alpha >= 0 && d.Beta >= 0) || !allFinite(d.Alpha, d.Beta, d.SumA, d.SumB) {
		return badSnapshot("damaged: its dual is %+v", d)
	}
	s.restore(st)
	s.alpha, s.beta, s.sumA, s.sumB = d.Alpha, d.Beta, d.SumA, d.SumB
	return nil
}

func (s *SGD) kind() string {
	o := s.opt
	return s.online.kind(fmt.Sprintf("sgd balanced=%t weights=%v,%v", o.Balanced, s.weights.Positive,
		s.weights.Negative))
}

// MarshalBinary implements [encoding.BinaryMarshaler]; see [SPADE.MarshalBinary].
func (s *SGD) MarshalBinary() ([]byte, error) {
	st, err := s.save()
	if err != nil {
		return nil, err
	}
	return seal(s.kind(), st)
}

// UnmarshalBinary implements [encoding.BinaryUnmarshaler]; see [SPADE.UnmarshalBinary].
func (s *SGD) UnmarshalBinary(data []byte) error {
	st, err := s.decode(data, s.kind())
	if err != nil {
		return err
	}
	s.restore(st)
	return nil
}

// options returns STAMP's own options as text.
func (s *STAMP) options() string {
	o := s.opt
	return fmt.Sprintf("stamp %s first=%d growth=%v min=%d level=%d prior=%v warm=%v", o.Measure.Name(), o.FirstEpoch,
		o.Growth, o.MinPositives, o.LevelPositives, o.PriorPositives, o.WarmStart)
}

func (s *STAMP) kind() string { return s.online.kind(s.options()) }

// saveStages is the state of levels and stages, without models.
func (s *STAMP) saveStages() stampState {
	return stampState{
		Level: s.level, KPos: s.kPos, KNeg: s.kNeg, Coef: s.coef, Stage: s.stage, Done: s.done,
		LevelStage: s.levelStage, Counts: s.counts,
		Positives: s.positives, Negatives: s.negatives,
	}
}

// restoreStages restores what saveStages saved, after begin.
func (s *STAMP) restoreStages(a *stampState) {
	s.level, s.kPos, s.kNeg, s.coef = a.Level, a.KPos, a.KNeg, a.Coef
	s.stage, s.done, s.levelStage, s.counts = a.Stage, a.Done, a.LevelStage, a.Counts
	s.positives, s.negatives = a.Positives, a.Negatives
}

// MarshalBinary implements [encoding.BinaryMarshaler]; see [SPADE.MarshalBinary].
func (s *STAMP) MarshalBinary() ([]byte, error) {
	st, err := s.save()
	if err != nil {
		return nil, err
	}
	stages := s.saveStages()
	stages.Points = s.points
	if s.current.Weights != nil {
		stages.Current = &s.current
	}
	st.STAMP = &stages
	return seal(s.kind(), st)
}

// UnmarshalBinary implements [encoding.BinaryUnmarshaler]; see [SPADE.UnmarshalBinary].
func (s *STAMP) UnmarshalBinary(data []byte) error {
	st, err := s.decodeSTAMP(data)
	if err != nil {
		return err
	}
	s.restoreSTAMP(st)
	return nil
}

func (s *STAMP) decodeSTAMP(data []byte) (*learnerState, error) {
	st, err := s.decode(data, s.kind())
	if err != nil {
		return nil, err
	}
	a, n := st.STAMP, len(st.Common.Lins[0].V)
	if err := a.check(st.Common.Ready); err != nil {
		return nil, err
	}
	if len(a.Points) > maxCheckpoints {
		return nil, badSnapshot("damaged: it has %d checkpoints, at most %d are kept", len(a.Points),
			maxCheckpoints)
	}
	models := []*Linear{}
	for i := range a.Points {
		models = append(models, &a.Points[i].Model)
	}
	if a.Current != nil {
		models = append(models, a.Current)
	} else if a.LevelStage {
		return nil, badSnapshot("damaged: the model of its level stage is missing")
	}
	return st, checkModels(models, n)
}

// restoreSTAMP sets the learner to a checked state.
func (s *STAMP) restoreSTAMP(st *learnerState) {
	a := st.STAMP
	s.level = a.Level
	s.restore(st)
	s.restoreStages(a)
	s.points, s.current = a.Points, Linear{}
	if a.Current != nil {
		s.current = *a.Current
	}
}
