package classify

import (
	"math"
	"slices"
)

// rising finds the features that rise, or fall, with the number of the row, such as a time or a
// counter in a stream in its order. A learner of single rows takes such a feature for a second
// intercept: what it learns is of the rows of the moment, and of no use for those to come.
//
// It follows the features that are not zero in most of the first rows, and leaves those alone that
// have neither risen nor fallen when it looks twice in a row. It looks after 2,048 rows, 4,096 and
// so on.
type rising struct {
	rows    int64
	f       []trend  // of all features, in the first rows
	follows []uint32 // the features to follow after these, ascending
}

// trend has the sums of the correlation of a feature with the number of the row, zeros left out.
// Both count from the first row that has the feature.
type trend struct {
	n, first               float64
	from                   int64
	x, t, xx, tt, products float64
	low                    bool // at the last look
}

const (
	risingRows  = 1000    // that tell which features to follow
	risingShare = 0.5     // of these rows that are not zero
	risingR     = 0.95    // the least correlation of a feature that rises, or falls
	perhapsR    = 0.5     // and of one that is followed further
	mostRising  = 1 << 16 // features from here on are not looked at
)

// observe adds a row.
func (r *rising) observe(index []uint32, value []float32) {
	r.rows++
	value = value[:len(index)]
	if r.rows <= risingRows {
		for j, v := range value {
			i := int(index[j])
			if i >= mostRising {
				break
			}
			if i >= len(r.f) {
				r.f = append(r.f, make([]trend, i+1-len(r.f))...)
			}
			r.f[i].add(v, r.rows)
		}
		if r.rows == risingRows {
			r.follows = r.dense()
		}
		return
	}
	k := 0
	for j, v := range value {
		for k < len(r.follows) && r.follows[k] < index[j] {
			k++
		}
		if k == len(r.follows) {
			break
		}
		if r.follows[k] == index[j] {
			r.f[index[j]].add(v, r.rows)
		}
	}
	if r.rows&(r.rows-1) == 0 && r.rows > 2*risingRows {
		r.follows = slices.DeleteFunc(r.follows, func(i uint32) bool {
			before := r.f[i].low
			r.f[i].low = r.f[i].correlation() < perhapsR
			return before && r.f[i].low
		})
	}
}

// add counts a value.
func (f *trend) add(v float32, row int64) {
	if v == 0 {
		return
	}
	if f.n == 0 {
		f.first, f.from = float64(v), row
	}
	x, t := float64(v)-f.first, float64(row-f.from)
	f.n++
	f.x += x
	f.t += t
	f.xx += float64(x * x)
	f.tt += float64(t * t)
	f.products += float64(x * t)
}

// correlation is the size of the correlation with the number of the row, 1 of a feature that has
// not moved.
func (f *trend) correlation() float64 {
	xx, tt := f.xx-float64(f.x*f.x)/f.n, f.tt-float64(f.t*f.t)/f.n
	if !(xx > 0 && tt > 0) {
		return 1
	}
	return math.Abs(f.products-float64(f.x*f.t)/f.n) / math.Sqrt(xx*tt)
}

// dense are the features that are not zero in most of the first rows.
func (r *rising) dense() []uint32 {
	var out []uint32
	for i := range r.f {
		if r.f[i].n >= float64(risingShare*float64(min(r.rows, risingRows))) {
			out = append(out, uint32(i))
		}
	}
	return out
}

// found are the features that rise or fall with the number of the row, ascending; none of fewer
// than 100 rows.
func (r *rising) found() []uint32 {
	follows := r.follows
	switch {
	case r.rows < 100:
		return nil
	case r.rows < risingRows:
		follows = r.dense()
	}
	var out []uint32
	for _, i := range follows {
		if f := &r.f[i]; f.xx > 0 && f.correlation() >= risingR {
			out = append(out, i)
		}
	}
	return out
}
