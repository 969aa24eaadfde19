package classify

import (
	"math"

	"github.com/noregret/noregret/oco"
)

// allFinite reports whether all numbers are finite.
func allFinite(x ...float64) bool {
	for _, v := range x {
		if v-v != 0 {
			return false
		}
	}
	return true
}

// snapshotDim is the largest number of features that a state may have.
func (o *online) snapshotDim() int {
	if o.cfg.Dim > 0 {
		return o.cfg.Dim
	}
	n := o.cfg.MaxDim
	if s := o.cfg.Scaling; s != nil {
		n = max(n, len(s.Inverse))
	}
	return n
}

// check returns an error for a state that this learner cannot reach, so that no method panics
// later.
func (s *commonState) check(o *online) error {
	if err := s.checkCounts(o); err != nil {
		return err
	}
	if len(s.Lins) != len(o.lins) {
		return badSnapshot("damaged: it has %d outputs, this learner has %d", len(s.Lins), len(o.lins))
	}
	for k := range s.Lins {
		if err := checkLinear(&s.Lins[k], o); err != nil {
			return err
		}
		if n := len(s.Lins[k].V); n != len(s.Lins[0].V) {
			return badSnapshot("damaged: output %d has %d features, output 0 has %d", k, n, len(s.Lins[0].V))
		}
	}
	if err := checkBurnIn(o, s); err != nil {
		return err
	}
	labels := newLabelChecker(len(o.lins), o.checker.exclusive)
	for i, x := range s.Buffer {
		if err := labels.mark(x.Labels, float64(i)); err != nil {
			return badSnapshot("damaged: an example held back has bad labels: %w", err)
		}
		if err := checkHeld(o, x); err != nil {
			return err
		}
	}
	return nil
}

// checkCounts returns an error for counters out of range and for moments that are missing or of the
// wrong length.
func (s *commonState) checkCounts(o *online) error {
	switch {
	case !allFinite(s.Pos, s.Neg, s.Rows, s.MeanSquare, s.Share) || !(min(s.Pos, s.Neg, s.Rows) >= 0) ||
		min(s.T, s.Skipped, s.Observed) < 0:
		return badSnapshot("damaged: its counts are %v, %v, %v, %d, %d", s.Pos, s.Neg, s.Rows, s.T, s.Skipped)
	case s.Ready && !(s.MeanSquare > 0):
		return badSnapshot("damaged: its mean square is %v", s.MeanSquare)
	case !s.Ready && s.T != 0:
		return badSnapshot("damaged: it has taken %d steps in the burn-in", s.T)
	case !s.Ready && !o.unsettled && o.cfg.Scaling != nil && o.cfg.MeanSquare > 0:
		return badSnapshot("damaged: it is in a burn-in, this learner has none")
	case s.Ready && !(s.Share > 0 && s.Share < 1):
		return badSnapshot("damaged: its share of positives is %v", s.Share)
	}
	wanted := o.cfg.Scaling == nil || (o.cfg.MeanSquare == 0 && !s.Ready)
	m := s.Moments
	if wanted != (m != nil) {
		return badSnapshot("damaged: it has moments: %t, expected: %t", m != nil, wanted)
	}
	if m == nil {
		return nil
	}
	n := len(m.Weight)
	if len(m.Mean) != n || len(m.M2) != n || n > o.snapshotDim() {
		return badSnapshot("damaged: its moments have lengths %d, %d and %d", n, len(m.Mean), len(m.M2))
	}
	if !allFinite(m.Total) || !allFinite(m.Weight...) || !allFinite(m.Mean...) || !allFinite(m.M2...) {
		return badSnapshot("damaged: its moments are not finite")
	}
	return nil
}

// checkLinear returns an error for vectors of unequal lengths, of another dimension or with numbers
// out of range.
func checkLinear(s *oco.LinearDescentState, o *online) error {
	if err := s.Check(); err != nil {
		return badSnapshot("damaged: %w", err)
	}
	n, most := len(s.V), o.snapshotDim()
	if n > most || (o.cfg.Dim > 0 && n != most) {
		return badSnapshot("damaged: it has %d features, the dimension is %d", n, most)
	}
	if s.BiasFeature != o.cfg.BiasFeature || s.Ball != o.cfg.Radius {
		return badSnapshot("damaged: its constant feature is %v, its radius %v", s.BiasFeature, s.Ball)
	}
	return nil
}

// checkBurnIn returns an error for held-back examples after the burn-in, and for too many of them.
func checkBurnIn(o *online, s *commonState) error {
	held := len(s.Buffer)
	wrong := s.Ready && held > 0
	if !s.Ready { // counts that decay fall short of the number of examples
		wrong = held >= o.cfg.BurnIn || float64(held) < s.Rows || (held > 0) != (s.Rows > 0) ||
			(o.cfg.Decay == 0 && float64(held) > s.Rows)
	}
	if wrong {
		return badSnapshot("damaged: %d examples of %v are held back (burn-in %d, over: %t)", held, s.Rows,
			o.cfg.BurnIn, s.Ready)
	}
	return nil
}

// checkHeld returns an error for a held-back example that Observe would not have stored in this
// form.
func checkHeld(o *online, x LabelsExample) error {
	index, value, weight := x.Index, x.Value, x.Weight
	ok := len(index) == len(value) && weight > 0 && weight <= maxWeight
	for j, i := range index {
		ok = ok && int64(i) < int64(o.snapshotDim()) && (j == 0 || index[j-1] < i) && value[j]-value[j] == 0
	}
	if !ok {
		return badSnapshot("damaged: an example held back has indices %d, values %v and weight %v", index, value,
			weight)
	}
	return nil
}

// check returns an error for levels and stages out of range.
func (a *stampState) check(ready bool) error {
	if a == nil {
		return badSnapshot("damaged: its level is missing")
	}
	c := a.Counts
	switch {
	case !(a.Level >= 0 && a.Level <= 1), !(a.KPos >= 0 && a.KNeg >= 0), !allFinite(a.KPos, a.KNeg, a.Coef.Theta),
		!allFinite(a.Coef.A[:]...), !allFinite(a.Coef.B[:]...):
		return badSnapshot("damaged: its level is %v, with weights %v and %v and coefficients %v", a.Level,
			a.KPos, a.KNeg, a.Coef)
	case a.Done < 0, a.Positives < 0, a.Negatives < 0, ready && a.Stage < 1, !ready && a.LevelStage:
		return badSnapshot("damaged: it is at example %d of a stage of %d with %d positives and %d negatives",
			a.Done, a.Stage, a.Positives, a.Negatives)
	case !allFinite(c.TP, c.FN, c.FP, c.TN) || !(min(c.TP, c.FN, c.FP, c.TN) >= 0):
		return badSnapshot("damaged: its counts are %+v", c)
	}
	return nil
}

// checkModels returns an error for models of more than n features or with numbers that are not
// finite.
func checkModels(models []*Linear, n int) error {
	for _, m := range models {
		if len(m.Weights) > n || !allFinite(m.Weights...) || !allFinite(m.Intercept) || math.IsNaN(m.Threshold) {
			return badSnapshot("damaged: a model has %d features of %d, or is not finite", len(m.Weights), n)
		}
	}
	return nil
}
