package synth

import "math"

// G1 is the well-specified Gaussian problem: x = g + 2/√10 for positives and x = g for
// negatives, with ten independent standard normals g; 5 % positives.
var G1 = Spec{
	Name:         "g1",
	Summary:      "10 normal features, positives shifted; a linear model is right; 5 % positives",
	Columns:      gaussianColumns,
	PositiveRate: 0.05,
	Features:     shifted,
}

// G3 is the misspecified Gaussian problem: positives have x0 = 1.5 + 3·g0,
// x1 = 1 + 0.5·g1 and x2 = 0.5 + g2; everything else is standard normal; 5 % positives.
var G3 = Spec{
	Name:         "g3",
	Summary:      "10 normal features, classes differ in variance; a linear model is wrong; 5 % positives",
	Columns:      gaussianColumns,
	PositiveRate: 0.05,
	Features:     stretched,
}

// G4 is [G3] with 0.6 % positives.
var G4 = Spec{
	Name:         "g4",
	Summary:      "g3 with 0.6 % positives",
	Columns:      gaussianColumns,
	PositiveRate: 0.006,
	Features:     stretched,
}

var gaussianColumns = []string{"x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10"}

func shifted(g *Generator, positive bool, x []float64) {
	shift := 0.0
	if positive {
		shift = 2 / math.Sqrt(10)
	}
	for j := range x {
		x[j] = g.Normal() + shift
	}
}

func stretched(g *Generator, positive bool, x []float64) {
	for j := range x {
		x[j] = g.Normal()
	}
	if positive {
		// The conversions forbid a fused multiply-add: the same bits everywhere.
		x[0] = 1.5 + float64(3*x[0])
		x[1] = 1 + float64(0.5*x[1])
		x[2] = 0.5 + x[2]
	}
}
