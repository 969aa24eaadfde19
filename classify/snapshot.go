package classify

import (
	"bytes"
	"encoding/gob"
	"fmt"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify/measure"
)

// Snapshots hold the state of a learner, not its options: restore one into a learner made with
// the same options. They start with snapshotMagic, whose digit is the version; the rest is a gob of learnerState.
const snapshotMagic = "noregret-learner-1\n"

// learnerState is the whole state of any of the online learners.
type learnerState struct {
	Kind    string // the learner and the options it was made with
	Linear  linearState
	Pos     float64
	Neg     float64
	Rows    float64
	T       int64
	Mean    float64
	Share   float64
	Ready   bool
	Buffer  []Example
	Moments *momentsState
	Seen    measure.Confusion
	SPADE   *spadeState
	STAMP   *stampState
}

type linearState struct {
	V, U, Inv, Mean, Acc                                              []float64
	Scale, SumScale, Norm2, Omega, Bias, BiasSum                      float64
	Centred                                                           bool
	Mean2, Kappa, Nu, AccKappa, DotV, DotU, DotAcc, BiasFeature, Ball float64
}

type momentsState struct {
	Total            float64
	Rows             int64
	Weight, Mean, M2 []float64
}

type spadeState struct{ Alpha, Beta, SumA, SumB float64 }

type stampState struct {
	Level                float64
	Stage, Done          int
	LevelStage           bool
	Counts               measure.Confusion
	Positives, Negatives int
	Current              Linear
	Points               []Checkpoint
}

// kind identifies a learner and its options in a snapshot.
func (o *online) kind(extra string) string {
	c := o.cfg
	return fmt.Sprintf("%s dim=%d reward=%s step=%v*%v radius=%v lambda=%v bias=%v average=%d p=%v burnin=%d cap=%v scaling=%t weight=%v square=%v",
		extra, c.Dim, c.Reward.Name(), c.StepScale, c.Step, c.Radius, c.Lambda, c.BiasFeature, c.Averaging, c.Positives, c.BurnIn,
		c.MaxExampleWeight, c.Scaling != nil, c.MeanWeight, c.MeanSquare)
}

func (o *online) save(kind string) learnerState {
	l := o.lin
	ls := linearState{
		Acc: l.acc, Scale: l.scale, SumScale: l.sumScale, Norm2: l.norm2, Omega: l.omega, Bias: l.bias, BiasSum: l.biasSum,
		Centred: l.centred, Mean2: l.mean2, Kappa: l.kappa, Nu: l.nu, AccKappa: l.accKappa, DotV: l.dotV, DotU: l.dotU, DotAcc: l.dotAcc,
		BiasFeature: l.biasFeature, Ball: l.radius,
	}
	for i := range l.c {
		c := &l.c[i]
		ls.V, ls.U = append(ls.V, c.v), append(ls.U, c.u)
		ls.Inv, ls.Mean = append(ls.Inv, c.inv), append(ls.Mean, c.mean)
	}
	s := learnerState{
		Kind: kind, Linear: ls, Pos: o.pos, Neg: o.neg, Rows: o.rows, T: o.t, Mean: o.meanSquare, Share: o.share, Ready: o.ready,
		Buffer: o.buffer, Seen: o.progressive,
	}
	if m := o.moments; m != nil {
		s.Moments = &momentsState{Total: m.total, Rows: m.rows}
		for _, f := range m.f {
			s.Moments.Weight = append(s.Moments.Weight, f.weight)
			s.Moments.Mean = append(s.Moments.Mean, f.mean)
			s.Moments.M2 = append(s.Moments.M2, f.m2)
		}
	}
	return s
}

// encode writes a state with its header.
func (s learnerState) encode() ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(snapshotMagic)
	if err := gob.NewEncoder(&b).Encode(s); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// decodeState reads a state and refuses one of another version, learner or set of options.
func decodeState(data []byte, kind string) (*learnerState, error) {
	rest, ok := bytes.CutPrefix(data, []byte(snapshotMagic))
	if !ok {
		return nil, noregret.Errorf(noregret.BadInput, "snapshot", "it does not begin with %q", snapshotMagic)
	}
	s := new(learnerState)
	if err := gob.NewDecoder(bytes.NewReader(rest)).Decode(s); err != nil {
		return nil, noregret.Errorf(noregret.BadInput, "snapshot", "it is damaged: %w", err)
	}
	if s.Kind != kind {
		return nil, noregret.Errorf(noregret.BadInput, "snapshot", "it was taken of %q, this learner is %q", s.Kind, kind)
	}
	n := len(s.Linear.V)
	if len(s.Linear.U) != n || len(s.Linear.Inv) != n || len(s.Linear.Mean) != n || (s.Linear.Acc != nil && len(s.Linear.Acc) != n) {
		return nil, noregret.Errorf(noregret.BadInput, "snapshot", "it is damaged: its vectors differ in length")
	}
	if m := s.Moments; m != nil && (len(m.Mean) != len(m.Weight) || len(m.M2) != len(m.Weight)) {
		return nil, noregret.Errorf(noregret.BadInput, "snapshot", "it is damaged: its moments differ in length")
	}
	return s, nil
}

func (o *online) restore(s *learnerState) {
	ls := s.Linear
	l := &linear{
		acc: ls.Acc, scale: ls.Scale, sumScale: ls.SumScale, norm2: ls.Norm2, omega: ls.Omega, bias: ls.Bias, biasSum: ls.BiasSum,
		centred: ls.Centred, mean2: ls.Mean2, kappa: ls.Kappa, nu: ls.Nu, accKappa: ls.AccKappa, dotV: ls.DotV, dotU: ls.DotU, dotAcc: ls.DotAcc,
		biasFeature: ls.BiasFeature, radius: ls.Ball, c: make([]coord, len(ls.V)),
	}
	for i := range l.c {
		l.c[i] = coord{v: ls.V[i], u: ls.U[i], inv: ls.Inv[i], mean: ls.Mean[i]}
	}
	o.moments = nil
	if m := s.Moments; m != nil {
		o.moments = &moments{total: m.Total, rows: m.Rows, f: make([]featureMoments, len(m.Weight))}
		for i := range o.moments.f {
			o.moments.f[i] = featureMoments{weight: m.Weight[i], mean: m.Mean[i], m2: m.M2[i]}
		}
	}
	o.lin, o.pos, o.neg, o.rows, o.t = l, s.Pos, s.Neg, s.Rows, s.T
	o.meanSquare, o.share, o.ready, o.buffer, o.progressive, o.failed = s.Mean, s.Share, s.Ready, s.Buffer, s.Seen, nil
	if o.ready {
		o.algo.begin()
	}
}

func (s *SPADE) kind() string {
	o := s.opt
	return s.online.kind(fmt.Sprintf("spade %s dual=%v*%v fixed=%t reward=%d eps=%v", o.Measure.Name(), o.DualScale, o.DualStep, o.FixedDual, o.DualReward, o.EpsExponent))
}

// MarshalBinary implements [encoding.BinaryMarshaler]: the whole state, but not the options. Continuing after
// UnmarshalBinary into a learner made with the same options is bit-identical.
func (s *SPADE) MarshalBinary() ([]byte, error) {
	st := s.save(s.kind())
	st.SPADE = &spadeState{s.alpha, s.beta, s.sumA, s.sumB}
	return st.encode()
}

// UnmarshalBinary implements [encoding.BinaryUnmarshaler]. A snapshot that is damaged, of another version or of a learner with other
// options is refused with an error of code bad_input, and the learner is as it was.
func (s *SPADE) UnmarshalBinary(data []byte) error {
	st, err := decodeState(data, s.kind())
	if err != nil {
		return err
	}
	if st.SPADE == nil {
		return noregret.Errorf(noregret.BadInput, "snapshot", "it is damaged: its dual is missing")
	}
	s.restore(st)
	d := st.SPADE
	s.alpha, s.beta, s.sumA, s.sumB = d.Alpha, d.Beta, d.SumA, d.SumB
	return nil
}

func (s *SGD) kind() string {
	o := s.opt
	return s.online.kind(fmt.Sprintf("sgd balanced=%t weights=%v,%v", o.Balanced, o.PositiveWeight, o.NegativeWeight))
}

// MarshalBinary implements [encoding.BinaryMarshaler]; see [SPADE.MarshalBinary].
func (s *SGD) MarshalBinary() ([]byte, error) { return s.save(s.kind()).encode() }

// UnmarshalBinary implements [encoding.BinaryUnmarshaler]; see [SPADE.UnmarshalBinary].
func (s *SGD) UnmarshalBinary(data []byte) error {
	st, err := decodeState(data, s.kind())
	if err != nil {
		return err
	}
	s.restore(st)
	return nil
}

func (s *STAMP) kind() string {
	o := s.opt
	return s.online.kind(fmt.Sprintf("stamp %s first=%d growth=%v min=%d prior=%v warm=%v", o.Measure.Name(), o.FirstEpoch, o.Growth, o.MinPositives, o.PriorPositives, o.WarmStart))
}

// MarshalBinary implements [encoding.BinaryMarshaler]; see [SPADE.MarshalBinary].
func (s *STAMP) MarshalBinary() ([]byte, error) {
	st := s.save(s.kind())
	st.STAMP = &stampState{
		Level: s.level, Stage: s.stage, Done: s.done, LevelStage: s.levelStage, Counts: s.counts,
		Positives: s.positives, Negatives: s.negatives, Current: s.current, Points: s.points,
	}
	return st.encode()
}

// UnmarshalBinary implements [encoding.BinaryUnmarshaler]; see [SPADE.UnmarshalBinary].
func (s *STAMP) UnmarshalBinary(data []byte) error {
	st, err := decodeState(data, s.kind())
	if err != nil {
		return err
	}
	a := st.STAMP
	if a == nil {
		return noregret.Errorf(noregret.BadInput, "snapshot", "it is damaged: its level is missing")
	}
	s.level = a.Level
	s.restore(st)
	s.stage, s.done, s.levelStage, s.counts = a.Stage, a.Done, a.LevelStage, a.Counts
	s.positives, s.negatives, s.current, s.points = a.Positives, a.Negatives, a.Current, a.Points
	return nil
}
