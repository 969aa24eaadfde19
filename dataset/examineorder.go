package dataset

import (
	"fmt"
	"math"
	"slices"
)

// cut makes the bins of equal shares from the sorted sample, with finer ones at both ends, each of
// half the share of the next, down to a single value: rows of a rare label may be there. Equal
// bounds are one. A value that the sample repeats has a bin of its own, lest the zeros of most rows
// hide the few values just above them.
func (f *featureFacts) cut(classes int) {
	n := len(f.sample)
	bound := func(i int) {
		v := f.sample[i]
		f.cuts = append(f.cuts, v)
		if i > 0 && f.sample[i-1] == v || i+1 < n && f.sample[i+1] == v {
			f.cuts = append(f.cuts, math.Nextafter(v, math.Inf(1)))
		}
	}
	for k := 1; k < examineBins && n > 0; k++ {
		bound(k * n / examineBins)
	}
	for share := n / examineBins / 2; share > 0; share /= 2 {
		bound(share)
		bound(n - share)
	}
	slices.Sort(f.cuts)
	f.cuts = slices.Compact(f.cuts)
	f.ranks, f.sample = make([]int64, classes*(len(f.cuts)+1)), nil
}

// order is the share of the pairs of a row of a class and one of another that the values put in
// order, upwards or downwards, by the bins of equal shares; half of the pairs in one bin count.
func (f *featureFacts) order(class, classes int) float64 {
	n := len(f.cuts) + 1
	below, right, of, others := 0.0, 0.0, 0.0, 0.0
	for k := range n {
		rows, rest := float64(f.ranks[class*n+k]), 0.0
		for c := range classes {
			if c != class {
				rest += float64(f.ranks[c*n+k])
			}
		}
		right += float64(rows * (below + float64(rest/2)))
		below += rest
		of, others = of+rows, others+rest
	}
	if of < leakRows || others < leakRows {
		return 0
	}
	right /= of * others
	return max(right, 1-right)
}

// rank returns the bin of equal shares of a value: the number of bounds that are not above it.
func (f *featureFacts) rank(v float64) int {
	i, equal := slices.BinarySearch(f.cuts, v)
	if equal {
		i++
	}
	return i
}

// ordered reports a column of a set of two labels whose values put the rows of one before those of
// the other, wherever the bound lies: heavy tails and rare labels hide that from bins in which most
// rows are of one label.
func (e *examiner) ordered(i int) []Finding {
	if e.classes != 2 { // one of several labels is often alone at an end
		return nil
	}
	for c := range e.classes {
		if share := e.facts[i].order(c, e.classes+1); share >= leakOrder {
			return []Finding{{Leaking, e.column[i], fmt.Sprintf("its order alone tells the rows of the label %q "+
				"from others: AUC %.3f", e.info.Labels[c].Name, share)}}
		}
	}
	return nil
}
