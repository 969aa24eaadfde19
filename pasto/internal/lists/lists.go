// Package lists keeps numbers by arm and by metric, as the statistics of learners do: in lists that
// are the fields of structs, each with a tag that says what it has numbers of.
//
//	type sums struct {
//		Weight []float64 `of:"arm"`         // K: one of each arm
//		Total  []float64 `of:"metric"`      // M: one of each metric
//		Mean   []float64 `of:"both,signed"` // K·M, arm by arm, that may be negative
//		Units  []float64 `of:"both,optional"`
//	}
//
// The optional lists of a struct are there all or none.
package lists

import (
	"reflect"
	"strings"

	"github.com/noregret/noregret/pasto/internal/check"
)

// Of are the lists of the structs that the elements point to. Fields without a tag are none.
type Of []any

// each calls f with each list, what it is of, and whether its numbers may be negative.
func (l Of) each(f func(v *[]float64, of string, signed bool)) {
	for _, part := range l {
		p, given := reflect.ValueOf(part).Elem(), false
		tag := func(i int) (of, kind string) {
			of, kind, _ = strings.Cut(p.Type().Field(i).Tag.Get("of"), ",")
			return of, kind
		}
		for i := range p.NumField() {
			_, kind := tag(i)
			given = given || kind == "optional" && !p.Field(i).IsNil()
		}
		for i := range p.NumField() {
			if of, kind := tag(i); of != "" && (kind != "optional" || given) {
				f(p.Field(i).Addr().Interface().(*[]float64), of, kind == "signed")
			}
		}
	}
}

// size is how many numbers a list has.
func size(of string, arms, metrics int) int {
	switch of {
	case "arm":
		return arms
	case "metric":
		return metrics
	}
	return arms * metrics
}

// Grow makes room for as many arms, and for the metrics if there are none yet. New numbers are 0.
func (l Of) Grow(arms, metrics int) {
	l.each(func(v *[]float64, of string, _ bool) {
		*v = append(*v, make([]float64, size(of, arms, metrics)-len(*v))...)
	})
}

// Fit reports whether the lists have the numbers of as many arms and metrics, all of them finite,
// and none negative that must not be.
func (l Of) Fit(arms, metrics int) bool {
	ok := true
	l.each(func(v *[]float64, of string, signed bool) {
		n := size(of, arms, metrics)
		ok = ok && check.Vector("", *v, n) == nil && (signed || check.NonNegative(*v, n))
	})
	return ok
}

// Clear sets the numbers of arm k to 0.
func (l Of) Clear(k, metrics int) {
	l.each(func(v *[]float64, of string, _ bool) {
		switch of {
		case "arm":
			(*v)[k] = 0
		case "both":
			clear((*v)[k*metrics : (k+1)*metrics])
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
