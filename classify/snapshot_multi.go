package classify

import (
	"encoding"
	"fmt"

	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/oco"
)

var (
	_ encoding.BinaryMarshaler   = (*MulticlassSPADE)(nil)
	_ encoding.BinaryUnmarshaler = (*MulticlassSPADE)(nil)
	_ encoding.BinaryMarshaler   = (*MicroSTAMP)(nil)
	_ encoding.BinaryUnmarshaler = (*MicroSTAMP)(nil)
	_ encoding.BinaryMarshaler   = (*MacroSTAMP)(nil)
	_ encoding.BinaryUnmarshaler = (*MacroSTAMP)(nil)
	_ encoding.BinaryMarshaler   = (*OneVsRest)(nil)
	_ encoding.BinaryUnmarshaler = (*OneVsRest)(nil)
)

// outputsState is the state of [outputs].
type outputsState struct {
	Front frontState
	Lins  []oco.LinearDescentState
}

func (o *outputs) save() (outputsState, error) {
	front, err := o.front.saveFront()
	s := outputsState{Front: front}
	for _, l := range o.lins {
		s.Lins = append(s.Lins, l.State())
	}
	return s, err
}

// restore sets the learner to a checked state.
func (o *outputs) restore(s *outputsState) {
	o.front.restoreFront(&s.Front)
	for k := range o.lins {
		o.lins[k] = restored(s.Lins[k])
	}
	o.front.lin = o.lins[0]
}

// check returns an error for a state that these outputs cannot reach.
func (s *outputsState) check(o *outputs, held int) error {
	if err := s.Front.check(o.front); err != nil {
		return err
	}
	if len(s.Lins) != len(o.lins) {
		return badSnapshot("damaged: it has %d outputs, this learner has %d", len(s.Lins), len(o.lins))
	}
	for k := range s.Lins {
		if err := checkLinear(&s.Lins[k], o.front); err != nil {
			return err
		}
		if n := len(s.Lins[k].V); n != len(s.Lins[0].V) {
			return badSnapshot("damaged: output %d has %d features, output 0 has %d", k, n, len(s.Lins[0].V))
		}
	}
	return checkBurnIn(o.front, &s.Front, held)
}

type multiclassState struct {
	Outputs            outputsState
	Eta0, Dual0        float64
	Alpha, Sum, Weight []float64
	Buffer             []ClassExample
	Seen               []float64 // the C² counts of the progressive confusion, by class
}

func (s *MulticlassSPADE) kind() string {
	o := s.opt
	return s.front.kind(fmt.Sprintf("multiclass-spade %s classes=%d shares=%v dual=%v*%v fixed=%t reward=%d eps=%v",
		o.Measure.Name(), o.Classes, o.Shares, o.DualScale, o.DualStep, o.FixedDual, o.DualReward, o.EpsExponent))
}

// MarshalBinary implements [encoding.BinaryMarshaler]; see [SPADE.MarshalBinary].
func (s *MulticlassSPADE) MarshalBinary() ([]byte, error) {
	out, err := s.save()
	if err != nil {
		return nil, err
	}
	st := multiclassState{
		Outputs: out, Eta0: s.eta0, Dual0: s.dual0, Alpha: s.alpha, Sum: s.sum, Weight: s.weights, Buffer: s.buffer,
	}
	for k := range s.opt.Classes {
		for j := range s.opt.Classes {
			st.Seen = append(st.Seen, s.progressive.Count(k, j))
		}
	}
	return seal(s.kind(), st)
}

// UnmarshalBinary implements [encoding.BinaryUnmarshaler]; see [SPADE.UnmarshalBinary].
func (s *MulticlassSPADE) UnmarshalBinary(data []byte) error {
	st := new(multiclassState)
	if err := unseal(data, s.kind(), st); err != nil {
		return err
	}
	if err := st.check(s); err != nil {
		return err
	}
	progressive, err := measure.NewMulticlassConfusion(s.opt.Classes)
	if err != nil {
		return err
	}
	for i, w := range st.Seen {
		progressive.Add(i/s.opt.Classes, i%s.opt.Classes, w)
	}
	s.restore(&st.Outputs)
	s.eta0, s.dual0, s.buffer, s.progressive = st.Eta0, st.Dual0, st.Buffer, progressive
	copy(s.alpha, st.Alpha)
	copy(s.sum, st.Sum)
	copy(s.weights, st.Weight)
	clear(s.counts)
	for _, x := range s.buffer {
		s.counts[x.Class]++
	}
	return nil
}

func (st *multiclassState) check(s *MulticlassSPADE) error {
	if err := st.Outputs.check(s.outputs, len(st.Buffer)); err != nil {
		return err
	}
	f, n := &st.Outputs.Front, s.opt.Classes
	if !f.Ready && s.opt.Shares != nil && s.opt.Scaling != nil && s.opt.MeanSquare > 0 {
		return badSnapshot("damaged: it is in a burn-in, this learner has none")
	}
	if len(st.Alpha) != n || len(st.Sum) != n || len(st.Weight) != n || len(st.Seen) != n*n {
		return badSnapshot(
			"damaged: it has duals, sums and weights of %d, %d and %d classes, this learner has %d",
			len(st.Alpha), len(st.Sum), len(st.Weight), n)
	}
	for _, v := range [][]float64{st.Alpha, st.Sum, st.Weight, st.Seen, {st.Eta0, st.Dual0}} {
		for _, x := range v {
			if !(x >= 0) || !allFinite(x) {
				return badSnapshot("damaged: a dual, weight, count or step is %v", x)
			}
		}
	}
	if f.Ready && !(st.Eta0 > 0 && st.Dual0 > 0) {
		return badSnapshot("damaged: its steps are %v and %v", st.Eta0, st.Dual0)
	}
	for _, x := range st.Buffer {
		if x.Class < 0 || x.Class >= n {
			return badSnapshot("damaged: an example held back has class %d, want one in 0..%d", x.Class, n-1)
		}
		if err := checkHeld(s.front, x.Index, x.Value, x.Weight); err != nil {
			return err
		}
	}
	return nil
}
