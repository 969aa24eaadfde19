// Package lists keeps numbers by arm and by metric, as the statistics of learners do: in lists that
// are the fields of structs, each with a tag that says what it has numbers of.
//
//	type sums struct {
//		Weight []float64 `of:"arm"`         // K: one of each arm
//		Total  []float64 `of:"metric"`      // M: one of each metric
//		Mean   []float64 `of:"both,signed"` // K·M, arm by arm, that may be negative
//		Units  []float64 `of:"both,optional"`
//		Gain   []float64 `of:"both,signed,optional"`
//	}
//
// The optional lists of a struct are there all or none.
package lists

import (
	"reflect"
	"strings"

	"github.com/noregret/noregret/pasto/internal/check"
)

// Of names structs by pointers to them. Its methods work on all of their lists: the fields that
// have a tag.
type Of []any

// list is a field of a struct.
type list struct {
	v                *[]float64
	of               string
	signed, optional bool
}

// each calls f with each list, without the optional ones of a struct that has none of them, unless
// all are wanted.
func (l Of) each(all bool, f func(x list)) {
	for _, part := range l {
		p, given := reflect.ValueOf(part).Elem(), all
		fields := make([]list, 0, 32) // on the stack
		for i := range p.NumField() {
			tag := p.Type().Field(i).Tag.Get("of")
			if tag == "" {
				continue
			}
			x := list{v: p.Field(i).Addr().Interface().(*[]float64)}
			kinds := ""
			x.of, kinds, _ = strings.Cut(tag, ",")
			x.signed, x.optional = strings.Contains(kinds, "signed"), strings.Contains(kinds, "optional")
			given = given || x.optional && *x.v != nil
			fields = append(fields, x)
		}
		for _, x := range fields {
			if !x.optional || given {
				f(x)
			}
		}
	}
}

// size returns how many numbers the list has.
func (x *list) size(arms, metrics int) int {
	switch x.of {
	case "arm":
		return arms
	case "metric":
		return metrics
	case "both":
		return arms * metrics
	}
	panic("lists: a tag says " + x.of + ": want arm, metric or both")
}

// Grow makes room for as many arms, and for the metrics if there are none yet. New numbers are 0.
func (l Of) Grow(arms, metrics int) {
	l.each(false, func(x list) { x.grow(arms, metrics) })
}

// Give is Grow, and gives each struct its optional lists.
func (l Of) Give(arms, metrics int) {
	l.each(true, func(x list) { x.grow(arms, metrics) })
}

// grow makes the list as long as it must be.
func (x *list) grow(arms, metrics int) {
	*x.v = append(*x.v, make([]float64, x.size(arms, metrics)-len(*x.v))...)
}

// Fit reports whether the lists have the numbers of as many arms and metrics, all of them finite,
// and none negative that must not be.
func (l Of) Fit(arms, metrics int) bool {
	ok := true
	l.each(false, func(x list) {
		n := x.size(arms, metrics)
		ok = ok && check.Vector("", *x.v, n) == nil && (x.signed || check.NonNegative(*x.v, n))
	})
	return ok
}

// Clear sets the numbers of arm k to 0.
func (l Of) Clear(k, metrics int) {
	l.each(false, func(x list) {
		switch x.of {
		case "arm":
			(*x.v)[k] = 0
		case "both":
			clear((*x.v)[k*metrics : (k+1)*metrics])
		}
	})
}

// Average adds a row of this weight to the means of arm k, K·M, and to the weights that they have.
func Average(k int, weights, means []float64, weight float64, row []float64) {
	weights[k] += weight
	share, mean := weight/weights[k], means[k*len(row):(k+1)*len(row)]
	for i, v := range row {
		mean[i] += float64(share * (v - mean[i]))
	}
}

// Pool adds a row to the sums of arm k, K·M, and to their totals over all arms.
func Pool(k int, sums, totals, row []float64) {
	for i, v := range row {
		sums[k*len(row)+i] += v
		totals[i] += v
	}
}

// Unpool takes the sums of arm k out of the totals over all arms, and begins them anew.
func Unpool(k int, sums, totals []float64) {
	own := sums[k*len(totals) : (k+1)*len(totals)]
	for i, v := range own {
		totals[i] = max(totals[i]-v, 0)
	}
	clear(own)
}
