package classify

import (
	"encoding"
	"fmt"

	"github.com/noregret/noregret/classify/measure"
)

var (
	_ encoding.BinaryMarshaler   = (*MulticlassSPADE)(nil)
	_ encoding.BinaryUnmarshaler = (*MulticlassSPADE)(nil)
	_ encoding.BinaryMarshaler   = (*MicroSTAMP)(nil)
	_ encoding.BinaryUnmarshaler = (*MicroSTAMP)(nil)
	_ encoding.BinaryMarshaler   = (*MacroSTAMP)(nil)
	_ encoding.BinaryUnmarshaler = (*MacroSTAMP)(nil)
)

type multiclassState struct {
	Common             commonState
	Eta0, Dual0        float64
	Alpha, Sum, Weight []float64
	Seen               []float64 // the C² counts of the progressive confusion, by class
}

func (s *MulticlassSPADE) kind() string {
	o := s.opt
	return s.online.kind(fmt.Sprintf("multiclass-spade %s classes=%d shares=%v dual=%v*%v fixed=%t reward=%d eps=%v",
		o.Measure.Name(), o.Classes, o.Shares, o.DualScale, o.DualStep, o.FixedDual, o.DualReward, o.EpsExponent))
}

// MarshalBinary implements [encoding.BinaryMarshaler]; see [SPADE.MarshalBinary].
func (s *MulticlassSPADE) MarshalBinary() ([]byte, error) {
	common, err := s.save()
	if err != nil {
		return nil, err
	}
	st := multiclassState{
		Common: common, Eta0: s.eta0, Dual0: s.dual0, Alpha: s.alpha, Sum: s.sum, Weight: s.weights,
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
	s.restore(&st.Common)
	s.eta0, s.dual0, s.progressive = st.Eta0, st.Dual0, progressive
	copy(s.alpha, st.Alpha)
	copy(s.sum, st.Sum)
	copy(s.weights, st.Weight)
	return nil
}

func (st *multiclassState) check(s *MulticlassSPADE) error {
	if err := st.Common.check(s.online); err != nil {
		return err
	}
	n := s.opt.Classes
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
	if st.Common.Ready && !(st.Eta0 > 0 && st.Dual0 > 0) {
		return badSnapshot("damaged: its steps are %v and %v", st.Eta0, st.Dual0)
	}
	return nil
}
