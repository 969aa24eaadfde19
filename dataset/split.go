package dataset

import (
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/random"
)

// Select returns a view of the rows whose number, in the row order of s, is in keep. keep must have
// the length s.Info().Rows. It may be kept without a copy and must not be changed afterwards. Cost:
// one pass over s to count, n/8 bytes.
func (s *Set) Select(keep *Bits) (*Set, error) {
	if keep == nil || keep.Len() != s.info.Rows {
		n := int64(0)
		if keep != nil {
			n = keep.Len()
		}
		return nil, noregret.Errorf(noregret.Usage, "", "selection of %d rows: the set has %d", n, s.info.Rows)
	}
	v := s.viewOf(s.inStorage(keep))
	err := s.eachBlock(func(_ int64, b *Block) {
		for i := range b.Len() {
			if keep.Get(b.FirstRow + int64(i)) {
				v.info.countRow(b, i)
			}
		}
	})
	if err != nil {
		return nil, err
	}
	return v, nil
}

// Split draws a random part of the rows without replacement: exactly round(fraction·n) of them, or
// with stratify exactly round(fraction·n) of each label's n rows (rows without a label count as one
// more label). Both results are views in the order of s. The draw depends only on the rows, the
// seed and the name of the stream. fraction lies in [0, 1].
//
// The algorithm is selection sampling (Knuth, TAOCP 2, algorithm 3.4.2 S). It takes one pass and
// n/8 bytes for each view.
func (s *Set) Split(seed uint64, stream string, fraction float64, stratify bool) (rest, part *Set, err error) {
	if !(fraction >= 0 && fraction <= 1) {
		return nil, nil, noregret.Errorf(noregret.Usage, "", "fraction %v: it must lie in [0, 1]", fraction)
	}
	left, want := s.strata(fraction, stratify)
	rng := random.New(seed, "dataset/split/"+stream)
	in, out := newBits(s.info.Rows), newBits(s.info.Rows)
	a, b := s.viewOf(nil), s.viewOf(nil)
	err = s.eachBlock(func(_ int64, blk *Block) {
		for i, class := range blk.Class {
			k := 0
			if stratify {
				k = int(min(int(class), len(left)-1))
			}
			row := blk.FirstRow + int64(i)
			if rng.Int64N(left[k]) < want[k] {
				want[k]--
				in.Set(row)
				b.info.countRow(blk, i)
			} else {
				out.Set(row)
				a.info.countRow(blk, i)
			}
			left[k]--
		}
	})
	if err != nil {
		return nil, nil, err
	}
	a.keep, b.keep = s.inStorage(out), s.inStorage(in)
	return a, b, nil
}

// Fold is one of the divisions that [Set.Folds] makes: Part, and Rest with all other rows.
type Fold struct {
	Rest, Part *Set
	// Rows has the rows of Part by their numbers in the row order of the set that was divided. It
	// must not be changed.
	Rows *Bits
}

// Folds divides the rows at random into k parts. Among the rows of each label (rows without one
// count as one more label) the sizes of the parts differ by at most one. Every row is in the Part
// of exactly one fold and in the Rest of all others. All are views in the order of s. The draw
// depends only on the rows, the seed and the name of the stream. k is at least 2.
//
// One pass, with n/4 bytes for each fold.
func (s *Set) Folds(seed uint64, stream string, k int) ([]Fold, error) {
	if k < 2 {
		return nil, noregret.Errorf(noregret.Usage, "", "%d folds: at least 2 are required", k)
	}
	folds, in, out := make([]Fold, k), make([]*Bits, k), make([]*Bits, k)
	for j := range folds {
		in[j], out[j] = newBits(s.info.Rows), newBits(s.info.Rows)
		folds[j] = Fold{Rest: s.viewOf(nil), Part: s.viewOf(nil), Rows: in[j]}
	}
	rng := random.New(seed, "dataset/folds/"+stream)
	// A label's rows are dealt out in rounds of k, each in an order of its own.
	dealt := make([][]int, len(s.info.Labels)+1)
	err := s.eachBlock(func(_ int64, b *Block) {
		for i, class := range b.Class {
			label := int(min(int(class), len(dealt)-1))
			if len(dealt[label]) == 0 {
				dealt[label] = rng.Perm(k)
			}
			mine := dealt[label][0]
			dealt[label] = dealt[label][1:]
			row := b.FirstRow + int64(i)
			for j := range folds {
				if j == mine {
					in[j].Set(row)
					folds[j].Part.info.countRow(b, i)
				} else {
					out[j].Set(row)
					folds[j].Rest.info.countRow(b, i)
				}
			}
		}
	})
	if err != nil {
		return nil, err
	}
	for j := range folds {
		folds[j].Part.keep, folds[j].Rest.keep = s.inStorage(in[j]), s.inStorage(out[j])
	}
	return folds, nil
}

// strata returns the number of rows in each stratum and the number to draw from it.
func (s *Set) strata(fraction float64, stratify bool) (rows, want []int64) {
	rows = []int64{s.info.Rows}
	if stratify {
		rows = rows[:0]
		for _, l := range s.info.Labels {
			rows = append(rows, l.Rows)
		}
		rows = append(rows, s.info.NoLabel)
	}
	for _, n := range rows {
		want = append(want, int64(math.Round(fraction*float64(n))))
	}
	return rows, want
}

// viewOf returns a view of the storage's rows in keep. Its Info has no counts yet.
func (s *Set) viewOf(keep *Bits) *Set {
	v := *s
	v.keep, v.view, v.info = keep, true, s.info.withoutCounts()
	return &v
}

// inStorage converts row numbers of s to row numbers of its storage.
func (s *Set) inStorage(rows *Bits) *Bits {
	if s.keep == nil {
		return rows
	}
	out := newBits(s.keep.Len())
	k := int64(0)
	for i := range s.keep.Len() {
		if s.keep.Get(i) {
			if rows.Get(k) {
				out.Set(i)
			}
			k++
		}
	}
	return out
}

// eachBlock calls f with every block of the set in order.
func (s *Set) eachBlock(f func(row int64, b *Block)) error {
	r := setReader{set: s}
	var b Block
	for {
		if err := r.Next(&b); err != nil {
			return eofIsNil(err)
		}
		f(b.FirstRow, &b)
	}
}
