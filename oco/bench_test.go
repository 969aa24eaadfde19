package oco

import (
	"fmt"
	"math"
	"testing"

	"github.com/noregret/noregret/loss"

	"gonum.org/v1/gonum/floats"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/random"
)

// benchmarkProblems returns the problems on which learners are timed. Each learner plays the first
// one that it accepts.
func benchmarkProblems(d int) []Problem {
	p := Problem{
		Rounds: math.MaxInt32,
		Facts: loss.Facts{
			Lipschitz: 10, LipschitzInf: 10, Smoothness: 0, StrongConvexity: 1, ExpConcavity: .1, SquaredDistance: true,
		},
	}
	var all []Problem
	for _, set := range []convex.Set{
		must(convex.NewSpace(d)), must(convex.NewCube(d, -1, 1)),
		must(convex.NewSimplex(d)),
	} {
		p.Set = set
		all = append(all, p)
	}
	features := p
	features.Set, features.Features = all[0].Set, true
	return append(all, features)
}

func benchmarkGradient(d, seed int) []float64 {
	r := random.New(uint64(seed), "bench")
	g := make([]float64, d)
	for i := range g {
		g[i] = r.NormFloat64() / math.Sqrt(float64(d))
	}
	return g
}

// BenchmarkRound times a round (Predict and Update) of every learner, dense and with 1 % of the
// subgradient's values not 0 (at least one), after some rounds of warming up. The second-order
// learners see 16 directions in turn, so that in high dimension their span has rank 16.
func BenchmarkRound(b *testing.B) {
	for _, e := range Learners() {
		for _, d := range []int{10, 1000, 100000} {
			for _, p := range benchmarkProblems(d) {
				l, err := e.New(p, nil)
				if err != nil {
					continue
				}
				directions := 1
				switch e.Name {
				case "kt", "kt-l1", "kt-l2", "kt-norms", "exponential-l2", "newton-l2":
					directions = opposite
				case "ons", "vaw", "curvature-ftrl":
					directions = 16
				}
				b.Run(fmt.Sprintf("%s/d=%d/dense", e.Name, d), func(b *testing.B) {
					benchmarkRounds(b, l, directions, 1)
				})
				l, err = e.New(p, nil)
				if err != nil {
					b.Fatal(err)
				}
				b.Run(fmt.Sprintf("%s/d=%d/sparse", e.Name, d), func(b *testing.B) {
					benchmarkRounds(b, l, directions, 100)
				})
				break
			}
		}
	}
}

// opposite stands for two directions, of which one is the negative of the other: bettors get too
// rich on subgradients that agree for millions of rounds.
const opposite = -1

// benchmarkRounds plays a cycle of subgradients in which every stride-th value is not 0, in sparse
// form if the learner accepts it.
func benchmarkRounds(b *testing.B, l Learner, directions, stride int) {
	d, sign := l.Dim(), 1.0
	if directions == opposite {
		directions, sign = 2, -1
	}
	dense, sparse := make([][]float64, directions), make([]Sparse, directions)
	for k := range dense {
		dense[k] = benchmarkGradient(d, k)
		if sign < 0 {
			dense[k] = scaledTo(benchmarkGradient(d, 0), float64(1-2*k))
		}
		for i := range d {
			if i%stride == 0 {
				sparse[k].Index, sparse[k].Value = append(sparse[k].Index, uint32(i)),
					append(sparse[k].Value, dense[k][i])
			} else {
				dense[k][i] = 0
			}
		}
	}
	v, isVAW := l.(*VovkAzouryWarmuth)
	s, isSparse := l.(SparseLearner)
	var err error
	var x float64
	k := 0
	round := func() {
		switch {
		case isVAW:
			_ = v.Features(dense[k])
			err = v.UpdateLabel(1)
		case isSparse && stride > 1:
			for _, i := range sparse[k].Index {
				x += s.At(int(i))
			}
			err = s.UpdateSparse(sparse[k])
		default:
			_ = l.Predict()
			err = l.Update(dense[k])
		}
		if err != nil {
			b.Fatal(err)
		}
		if k++; k == directions {
			k = 0
		}
	}
	for range 2 * directions {
		round()
	}
	b.ReportAllocs()
	for b.Loop() {
		round()
	}
	unit := "ns/coordinate"
	if stride > 1 {
		unit = "ns/nonzero"
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(sparse[0].Index)), unit)
}

// BenchmarkAgainstGonum times AdaGrad and FTRL beside hand-written loops of gonum's vector kernels
// that do the same arithmetic ("gonum"), and beside axpy and scale loops over the same vectors
// ("axpy"), which have none of AdaGrad's roots and quotients.
func BenchmarkAgainstGonum(b *testing.B) {
	for _, d := range []int{1000, 100000} {
		g := benchmarkGradient(d, 1)
		box := must(convex.NewCube(d, -1, 1))
		adagrad := must(NewAdaGrad(box, nil))
		b.Run(fmt.Sprintf("adagrad/d=%d/noregret", d), func(b *testing.B) {
			for b.Loop() {
				if err := adagrad.Update(g); err != nil {
					b.Fatal(err)
				}
			}
		})
		q, x, lower, upper, rate, work := make([]float64, d), make([]float64, d), make([]float64, d),
			make([]float64, d), make([]float64, d), make([]float64, d)
		for i := range d {
			lower[i], upper[i], rate[i] = -1, 1, math.Sqrt2
		}
		b.Run(fmt.Sprintf("adagrad/d=%d/gonum", d), func(b *testing.B) {
			for b.Loop() {
				copy(work, g)
				floats.Mul(work, g)
				floats.Add(q, work)
				for i, v := range q {
					work[i] = math.Sqrt(v)
				}
				floats.DivTo(work, g, work)
				floats.Mul(work, rate)
				floats.AddScaled(x, -1, work)
				for i, v := range x {
					x[i] = min(max(v, lower[i]), upper[i])
				}
			}
		})
		b.Run(fmt.Sprintf("adagrad/d=%d/axpy", d), func(b *testing.B) {
			for b.Loop() {
				floats.AddScaled(q, 1e-9, g)
				floats.AddScaled(x, 1e-9, rate)
				floats.AddScaled(x, 1e-9, lower)
				floats.AddScaled(x, 1e-9, upper)
			}
		})
		l := must(NewFTRL(must(convex.Restrict(must(convex.NewQuadratic(d)), must(convex.NewSpace(d)))), nil,
			SqrtWeight(1)))
		b.Run(fmt.Sprintf("ftrl/d=%d/noregret", d), func(b *testing.B) {
			for b.Loop() {
				_ = l.Predict()
				if err := l.Update(g); err != nil {
					b.Fatal(err)
				}
			}
		})
		theta, point := make([]float64, d), make([]float64, d)
		t := 0.0
		b.Run(fmt.Sprintf("ftrl/d=%d/gonum", d), func(b *testing.B) {
			var norm float64
			for b.Loop() {
				t++
				copy(point, theta)
				floats.Scale(1/math.Sqrt(t), point)
				norm += floats.Dot(g, g)
				floats.AddScaled(theta, -1, g)
			}
			_ = norm
		})
		b.Run(fmt.Sprintf("ftrl/d=%d/axpy", d), func(b *testing.B) {
			for b.Loop() {
				floats.ScaleTo(point, 0.5, theta)
				floats.AddScaled(theta, -1, g)
			}
		})
	}
}
