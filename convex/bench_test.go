package convex_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/noregret/noregret/convex"
	"gonum.org/v1/gonum/mat"
)

var dims = []int{10, 1000, 100000}

func BenchmarkProject(b *testing.B) {
	for _, kind := range []struct {
		name string
		make func(d int) convex.Set
	}{
		{"ball", func(d int) convex.Set { return must(convex.NewCenteredBall(d, 1)) }},
		{"l1-ball", func(d int) convex.Set { return must(convex.NewL1Ball(d, 1)) }},
		{"l1.5-ball", func(d int) convex.Set { return must(convex.NewCenteredLpBall(d, 1.5, 1)) }},
		{"box", func(d int) convex.Set { return must(convex.NewCube(d, -1, 1)) }},
		{"simplex", func(d int) convex.Set { return must(convex.NewSimplex(d)) }},
		{"capped-simplex", func(d int) convex.Set { return must(convex.NewCappedSimplex(d, 3/float64(d), 1)) }},
		{"halfspace", func(d int) convex.Set {
			return must(convex.NewHalfspace(slices.Repeat([]float64{1}, d), -1))
		}},
		{"affine-2", func(d int) convex.Set {
			return must(convex.NewAffine(mat.NewDense(2, d, normals(newRand(5), 2*d, 1)), []float64{1, 2}))
		}},
	} {
		for _, d := range dims {
			b.Run(fmt.Sprintf("%s/%d", kind.name, d), func(b *testing.B) {
				s := kind.make(d)
				v, x := normals(newRand(2), d, 3), make([]float64, d)
				b.ReportAllocs()
				for b.Loop() {
					s.Project(x, v)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(d), "ns/coordinate")
			})
		}
	}
}

func BenchmarkArgmax(b *testing.B) {
	for _, kind := range []struct {
		name string
		make func(d int) (convex.MirrorMap, convex.Set)
	}{
		{"softmax", func(d int) (convex.MirrorMap, convex.Set) {
			return must(convex.NewNegativeEntropy(d)), must(convex.NewSimplex(d))
		}},
		{"entropy-capped", func(d int) (convex.MirrorMap, convex.Set) {
			return must(convex.NewNegativeEntropy(d)), must(convex.NewCappedSimplex(d, 3/float64(d), 1))
		}},
		{"tsallis", func(d int) (convex.MirrorMap, convex.Set) {
			return must(convex.NewTsallis(d, 0.5)), must(convex.NewSimplex(d))
		}},
		{"log-barrier", func(d int) (convex.MirrorMap, convex.Set) {
			return must(convex.NewLogBarrier(d)), must(convex.NewSimplex(d))
		}},
		{"p-norm", func(d int) (convex.MirrorMap, convex.Set) {
			return must(convex.NewPNorm(d, convex.NearL1(d))), must(convex.NewSpace(d))
		}},
		{"diagonal-ball", func(d int) (convex.MirrorMap, convex.Set) {
			return must(convex.NewDiagonalQuadratic(positives(newRand(4), d))), must(convex.NewCenteredBall(d, 1))
		}},
	} {
		for _, d := range dims {
			b.Run(fmt.Sprintf("%s/%d", kind.name, d), func(b *testing.B) {
				reg := must(convex.Restrict(kind.make(d)))
				theta, x := normals(newRand(2), d, 1), make([]float64, d)
				b.ReportAllocs()
				for b.Loop() {
					reg.Argmax(x, theta)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(d), "ns/coordinate")
			})
		}
	}
}

func BenchmarkMahalanobis(b *testing.B) {
	for _, d := range []int{10, 100} {
		for _, set := range []convex.Set{
			must(convex.NewCenteredBall(d, 1)), must(convex.NewCube(d, -0.3, 0.3)), must(convex.NewSimplex(d)),
			must(convex.NewL1Ball(d, 1)),
		} {
			b.Run(fmt.Sprintf("%T/%s", set, set), func(b *testing.B) {
				r := newRand(6)
				w := must(convex.NewMahalanobis(d))
				s, c, x := rowMajor(spd(r, d, 4)), normals(r, d, 1), make([]float64, d)
				b.ReportAllocs()
				for b.Loop() {
					if _, err := w.Project(x, s, c, set, 1e-9); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
