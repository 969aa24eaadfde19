package classify

import (
	"context"
	"math"

	"github.com/noregret/noregret/dataset"
)

// PrivateRehearsal says how data fit what a private training declares. It is as secret as the data,
// since it is made without noise: it is for the eyes of an operator who looks for mistakes in the
// declaration, and for no release. A constant that is chosen by it is chosen by the data.
type PrivateRehearsal struct {
	// Records is the number of records, at most the horizon, and Unread reports whether there are
	// more.
	Records int64
	Unread  bool
	// Negative and Positive are the records with the declared labels.
	Negative, Positive int64
	// Nulls says why others have none.
	Nulls dataset.Nulls
	// NotFinite are the records with a declared label and a value that is not a finite number: they
	// are null records, too.
	NotFinite int64
	// Empty are the records with a declared label in which all features are 0.
	Empty int64
	// Outside are, by feature, the records with a declared label whose value is outside the
	// declared range, nil without ranges.
	Outside []int64
	// OutsideAny are those with one such value or more.
	OutsideAny int64
	// Scaled are the records with a declared label that are scaled down to the feature bound.
	Scaled int64
}

// Declared is the number of records with a declared label.
func (r *PrivateRehearsal) Declared() int64 { return r.Negative + r.Positive }

// RehearsePrivate reads a stream as [PrivateFit] would and says how it fits the declaration of the
// trainer. It learns nothing, charges nothing and writes nothing.
func RehearsePrivate(ctx context.Context, s *dataset.Stream, t *PrivateTrainer) (*PrivateRehearsal, error) {
	r := &PrivateRehearsal{}
	o := &t.options
	if o.Ranges != nil {
		r.Outside = make([]int64, len(o.Ranges))
	}
	err := readBlocks(ctx, s, func(b *dataset.Block) error {
		labels := s.Info().Labels
		for i := range b.Len() {
			if r.Records == o.Horizon {
				r.Unread = true
				break
			}
			r.Records++
			if c := b.Class[i]; c != dataset.NoClass {
				r.record(t, b, i, labels[c].Name)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	r.Nulls = s.Nulls()
	return r, nil
}

// record counts a record with a label.
func (r *PrivateRehearsal) record(t *PrivateTrainer, b *dataset.Block, i int, label string) {
	switch label {
	case t.options.Positive:
		r.Positive++
	case t.options.Negative:
		r.Negative++
	default:
		return
	}
	index, value := b.Row(i)
	raw := make(map[uint32]float64, len(index))
	finite, empty := true, true
	for j, k := range index {
		v := float64(value[j])
		raw[k] = v
		finite, empty = finite && v-v == 0, empty && v == 0
	}
	outside := false
	for k, rg := range t.options.Ranges {
		if v := raw[uint32(k)]; !rg.none() && (v < rg.Low || v > rg.High) {
			r.Outside[k]++
			outside = true
		}
	}
	t.fill(index, value)
	switch {
	case !finite:
		r.NotFinite++
	case empty:
		r.Empty++
	}
	if outside {
		r.OutsideAny++
	}
	if finite && dualNorm(t.x, t.options.Norm) > t.options.Features*(1+1e-12) {
		r.Scaled++
	}
}

// dualNorm returns the norm ‖x‖_q for 1/p + 1/q = 1.
func dualNorm(x []float64, p float64) float64 {
	most := 0.0
	for _, v := range x {
		most = max(most, math.Abs(v))
	}
	if p == 1 || most == 0 {
		return most
	}
	q, sum := 1.0, 0.0
	if !math.IsInf(p, 1) {
		q = p / (p - 1)
	}
	for _, v := range x {
		sum += math.Pow(math.Abs(v)/most, q)
	}
	return most * math.Pow(sum, 1/q)
}
