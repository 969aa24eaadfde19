package oco

import "golang.org/x/sys/cpu"

// hasAdagradStep reports whether the processor has AVX.
var hasAdagradStep = cpu.X86.HasAVX

// adagradStep is AdaGrad.step for the first n coordinates, n rounded down to a multiple of 4, and
// returns how many it did: it stops before a group of four in which a square leaves the plain
// range. AVX rounds roots and quotients as IEEE 754 requires, so the results have the same bits as
// the Go code's.
//
//go:noescape
func adagradStep(n int, v, q, x, rate, lower, upper, spent *float64) int
