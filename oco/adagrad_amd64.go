package oco

import "golang.org/x/sys/cpu"

// hasAdagradStep reports whether the processor has AVX.
var hasAdagradStep = cpu.X86.HasAVX

// adagradStep is AdaGrad.step for the first n coordinates, n rounded down to a multiple of 4, and
// returns how many it did: it stops before a group of four in which a square leaves the plain
// range. AVX's root and quotient are rounded as IEEE 754 says, so the bits are those of the Go
// code.
//
//go:noescape
func adagradStep(n int, v, q, x, rate, lower, upper *float64) int
