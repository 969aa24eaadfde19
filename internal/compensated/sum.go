// Package compensated sums numbers in twice the precision, so that the result is exact to the last
// digits over tens of millions of terms of either sign.
package compensated

import "math"

// Sum is a compensated sum (Neumaier 1974, with Knuth's branch-free error of an addition). The zero
// Sum is empty. Its fields are exported to be saved; S + C is its value. It has the same bits on
// every machine.
type Sum struct{ S, C float64 }

// Add adds v.
func (k *Sum) Add(v float64) {
	w := float64(v) // rounds a product handed in by an inlined call
	t := k.S + float64(v)
	z := t - k.S
	k.C += (k.S - (t - z)) + (w - z) // what t lost, exactly
	k.S = t
}

// AddProduct adds a·b with the rounding error of the product: math.FMA rounds once on every
// machine.
func (k *Sum) AddProduct(a, b float64) {
	p := float64(a * b)
	k.Add(p)
	// Otherwise the product is infinite or NaN, and so is the sum.
	if rest := math.FMA(a, b, -p); rest-rest == 0 {
		k.C += rest
	}
}

// Value is the sum: infinite or NaN if it has left the range of float64.
func (k *Sum) Value() float64 {
	if k.C-k.C != 0 {
		return k.S
	}
	return k.S + k.C
}
