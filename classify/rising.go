package classify

import (
	"cmp"
	"slices"
)

// rising finds the features that do little else than rise, or fall, from row to row, such as a time
// or a counter in a stream in its order. A learner of single rows takes such a feature for a second
// intercept: what it learns is of the rows of the moment, and of no use for those to come.
//
// The first rows tell which features to follow: those that are not zero in most rows and have moved
// one way only, or not yet. Most streams have none left.
type rising struct {
	rows    int64
	f       []moves  // of all features, in the first rows
	follows []uint32 // the features to follow after these, ascending
}

// moves counts how often the value of a feature was above and below the one before, zeros left out.
type moves struct {
	last           float32
	seen, up, down int64
}

// The rows that tell which features to follow, and of the features that are said to rise or fall,
// the fewest moves and how many of them go one way for each that goes the other.
const (
	risingRows  = 1000
	leastMoves  = 30
	movesToOne  = 50
	risingShare = 0.5     // of the first rows that are not zero
	mostRising  = 1 << 16 // features from here on are not looked at
)

// observe adds a row. Values are not checked.
func (r *rising) observe(index []uint32, value []float32) {
	r.rows++
	value = value[:min(len(index), len(value))]
	switch {
	case r.rows <= risingRows:
		for j, v := range value {
			i := int(index[j])
			if i >= mostRising {
				break
			}
			if i >= len(r.f) {
				r.f = append(r.f, make([]moves, i+1-len(r.f))...)
			}
			r.f[i].add(v)
		}
		if r.rows == risingRows {
			r.follows = r.candidates(0)
		}
	case len(r.follows) > 0:
		k := 0
		for j, v := range value {
			for k < len(r.follows) && r.follows[k] < index[j] {
				k++
			}
			if k == len(r.follows) {
				break
			}
			if r.follows[k] == index[j] {
				r.f[index[j]].add(v)
			}
		}
		if r.rows%risingRows == 0 {
			r.follows = slices.DeleteFunc(r.follows, func(i uint32) bool { return !r.f[i].oneWay() })
		}
	}
}

// add counts a value.
func (m *moves) add(v float32) {
	if v == 0 {
		return
	}
	if m.seen++; m.seen > 1 {
		switch cmp.Compare(v, m.last) {
		case 1:
			m.up++
		case -1:
			m.down++
		}
	}
	m.last = v
}

// oneWay reports whether nearly all moves go one way.
func (m *moves) oneWay() bool { return min(m.up, m.down)*movesToOne <= max(m.up, m.down) }

// candidates are the features that have made so many moves, nearly all one way.
func (r *rising) candidates(least int64) []uint32 {
	var out []uint32
	for i := range r.f {
		m := &r.f[i]
		dense := float64(m.seen) >= risingShare*float64(min(r.rows, risingRows))
		if dense && m.oneWay() && m.up+m.down >= least {
			out = append(out, uint32(i))
		}
	}
	return out
}

// found are the features that rise or fall, ascending.
func (r *rising) found() []uint32 {
	out := r.candidates(leastMoves)
	if r.rows <= risingRows {
		return out
	}
	return slices.DeleteFunc(out, func(i uint32) bool {
		_, follows := slices.BinarySearch(r.follows, i)
		return !follows
	})
}
