package dense

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/noregret/noregret/internal/random"
)

// form is one of the two forms of the functions.
type form struct {
	name       string
	dot        func(w []float64, row []float32) float64
	addScaled  func(to []float64, g float64, row []float32)
	addScores  func(z, w []float64, row []float32)
	addOuter   func(to, g []float64, row []float32)
	addSquares func(to []float64, g float64, row []float32)
	products   func(to, factor, inverse, shift []float32)
	norm       func(row []float32) float64
	quadratic  func(w, u []float64) float64
	addQuad    func(to []float64, g float64, u []float64)
}

// forms are those of this build, which have vectors if it was built for them, and the forms in Go.
var forms = []form{
	{"built", Dot, AddScaled, AddScores, AddOuter, AddSquares, Products, SquaredNorm, Quadratic, AddQuadratic},
	{
		"go", goDot, goAddScaled, goAddScores, goAddOuter, goAddSquares, goProducts, goSquaredNorm, goQuadratic,
		goAddQuadratic,
	},
}

// textbook has the sums in the order of the doc comments, one product after the other.
var textbook = form{
	dot: func(w []float64, row []float32) float64 {
		return inFourSums(len(row), func(k int) float64 { return float64(w[k] * float64(row[k])) })
	},
	norm: func(row []float32) float64 {
		return inFourSums(len(row), func(k int) float64 { return float64(float64(row[k]) * float64(row[k])) })
	},
	addScaled: func(to []float64, g float64, row []float32) {
		for k, v := range row {
			to[k] += float64(g * float64(v))
		}
	},
	addScores: func(z, w []float64, row []float32) {
		for k, v := range row {
			for c := range z {
				z[c] += float64(w[k*len(z)+c] * float64(v))
			}
		}
	},
	addOuter: func(to, g []float64, row []float32) {
		for k, v := range row {
			for c := range g {
				to[k*len(g)+c] += float64(g[c] * float64(v))
			}
		}
	},
	addSquares: func(to []float64, g float64, row []float32) {
		for k, v := range row {
			to[k] += float64(float64(g*float64(v)) * float64(v))
		}
	},
	products: func(to, factor, inverse, shift []float32) {
		k := 0
		for a := range factor {
			for b := a; b < len(factor); b++ {
				p := float32(factor[a] * factor[b])
				p = float32(p * inverse[k])
				to[k] = p - shift[k]
				k++
			}
		}
	},
	quadratic: func(w, u []float64) float64 {
		var s [4]float64
		for i, x := range u {
			sum := 0.0
			for j := i &^ 3; j < len(u); j += 2 {
				two := float64(w[PairPlace(len(u), i, j)] * u[j])
				two += float64(w[PairPlace(len(u), i, j+1)] * u[j+1])
				sum += two
			}
			s[i%4] += float64(x * sum)
		}
		return (s[0] + s[1]) + (s[2] + s[3])
	},
	addQuad: func(to []float64, g float64, u []float64) {
		for i, x := range u {
			for j := i &^ 3; j < len(u); j++ {
				to[PairPlace(len(u), i, j)] += float64(float64(g*x) * u[j])
			}
		}
	},
}

// inFourSums adds terms in the order of Dot.
func inFourSums(n int, term func(k int) float64) float64 {
	var s [4]float64
	for k := range n {
		to := k % 4
		if k >= n/4*4 {
			to = 0
		}
		s[to] += term(k)
	}
	return (s[0] + s[1]) + (s[2] + s[3])
}

// extremes are numbers at the ends of their range, which over- and underflow in products and sums.
var extremes = []float64{
	0, math.Copysign(0, -1), 5e-324, -1e-310, 2.3e-308, 1e-160, -1e160, 1e300, math.MaxFloat64, -math.MaxFloat64,
	1e-45, -1.2e-38, math.MaxFloat32, -math.MaxFloat32, 1, -1, 1 << 53,
}

// numbers are n numbers, every share-th of them an extreme one, and one after them, which nobody
// may touch.
func numbers(rng *random.Source, n, share int) []float64 {
	skip := rng.IntN(4) // may not be aligned
	out := make([]float64, skip+n+1)
	for i := range out {
		out[i] = rng.NormFloat64()
		if rng.IntN(share) == 0 {
			out[i] = extremes[rng.IntN(len(extremes))]
		}
	}
	return out[skip : skip+n]
}

// sameBits takes one NaN for another, as the sign and the payload of one depend on the instruction.
func sameBits(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(a, b float64) bool {
		return math.Float64bits(a) == math.Float64bits(b) || a != a && b != b
	})
}

// The forms have the bits of the textbook's loops, at any length and place, also where numbers
// overflow or become subnormal, and leave what lies behind a destination.
func TestSameBits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := random.New(rapid.Uint64().Draw(t, "seed"), "numbers")
		share := rapid.SampledFrom([]int{1, 3, 30, 1 << 30}).Draw(t, "one in so many is extreme")
		for columns := range 71 {
			n := 1 + rng.IntN(40)
			row := toFloat32(numbers(rng, columns+3, share))[rng.IntN(4):][:columns]
			weights, few := numbers(rng, columns*n, share), numbers(rng, n, share)
			for _, f := range forms {
				check := func(name string, run func(f form) []float64) {
					if got, want := run(f), run(textbook); !sameBits(got, want) {
						t.Fatalf("%s, %s, %d columns, %d outputs: %v, want %v", name, f.name, columns, n, got, want)
					}
				}
				// changed is a copy with the number behind it, after a function has changed it.
				changed := func(x []float64, change func(x []float64)) []float64 {
					x = slices.Clone(x[:len(x)+1])
					change(x[: len(x)-1 : len(x)-1])
					return x
				}
				check("Dot", func(f form) []float64 { return []float64{f.dot(weights[:columns], row)} })
				check("SquaredNorm", func(f form) []float64 { return []float64{f.norm(row)} })
				check("AddScaled", func(f form) []float64 {
					return changed(weights[:columns], func(to []float64) { f.addScaled(to, few[0], row) })
				})
				check("AddScores", func(f form) []float64 {
					return changed(few, func(z []float64) { f.addScores(z, weights, row) })
				})
				check("AddOuter", func(f form) []float64 {
					return changed(weights, func(to []float64) { f.addOuter(to, few, row) })
				})
				check("AddSquares", func(f form) []float64 {
					return changed(weights[:columns], func(to []float64) { f.addSquares(to, few[0], row) })
				})
			}
		}
		for n := range 40 {
			k := n * (n + 1) / 2
			draw := func(n int) []float32 { return toFloat32(numbers(rng, n+3, share))[rng.IntN(4):][:n] }
			factor, inverse, shift, behind := draw(n), draw(k), draw(k), draw(k+1)
			made := func(f form) []float64 {
				to := slices.Clone(behind)
				f.products(to[:k:k], factor, inverse, shift)
				return toFloat64(to)
			}
			padded := Padded(n)
			pairs := PairPlace(padded, padded, padded)
			w, u, g := numbers(rng, pairs, share), numbers(rng, padded, share), numbers(rng, 1, share)[0]
			added := func(f form) []float64 {
				to := slices.Clone(w[:pairs+1])
				f.addQuad(to[:pairs:pairs], g, u)
				return to
			}
			for _, f := range forms {
				if got, want := made(f), made(textbook); !sameBits(got, want) {
					t.Fatalf("Products, %s, %d factors: %v, want %v", f.name, n, got, want)
				}
				got, want := f.quadratic(w, u), textbook.quadratic(w, u)
				if !sameBits([]float64{got}, []float64{want}) {
					t.Fatalf("Quadratic, %s, %d factors: %v, want %v", f.name, n, got, want)
				}
				if got, want := added(f), added(textbook); !sameBits(got, want) {
					t.Fatalf("AddQuadratic, %s, %d factors: %v, want %v", f.name, n, got, want)
				}
			}
		}
	})
}

// normals are n numbers such as weights and scaled values have.
func normals(name string, n int) []float64 {
	rng, out := random.New(1, name), make([]float64, n)
	for i := range out {
		out[i] = rng.NormFloat64()
	}
	return out
}

func toFloat32(x []float64) []float32 {
	out := make([]float32, len(x))
	for i, v := range x {
		out[i] = float32(v)
	}
	return out
}

func toFloat64(x []float32) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = float64(v)
	}
	return out
}

// A destination that is too short is refused before anything behind it is changed.
func TestTooShort(t *testing.T) {
	row := toFloat32(normals("row", 16))
	for _, f := range forms {
		for name, call := range map[string]func(){
			"dot":        func() { f.dot(make([]float64, 15), row) },
			"addScaled":  func() { f.addScaled(make([]float64, 15), 1, row) },
			"addScores":  func() { f.addScores(make([]float64, 6), make([]float64, 16*6-1), row) },
			"addOuter":   func() { f.addOuter(make([]float64, 16*6-1), make([]float64, 6), row) },
			"addSquares": func() { f.addSquares(make([]float64, 15), 1, row) },
			"products":   func() { f.products(make([]float32, 9), row[:4], row, row) },
			"quadratic":  func() { f.quadratic(make([]float64, 47), make([]float64, 8)) },
			"addQuad":    func() { f.addQuad(make([]float64, 47), 1, make([]float64, 8)) },
		} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s, %s: no panic", name, f.name)
					}
				}()
				call()
			}()
		}
	}
}

// Factors that are not padded have no pairs.
func TestNotPadded(t *testing.T) {
	for name, call := range map[string]func(){
		"Quadratic":    func() { Quadratic(make([]float64, 100), make([]float64, 9)) },
		"AddQuadratic": func() { AddQuadratic(make([]float64, 100), 1, make([]float64, 9)) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			call()
		}()
	}
}

func TestNoAllocation(t *testing.T) {
	row, w, z := toFloat32(normals("row", 21)), normals("weights", 21*6), normals("scores", 6)
	inverse, made := toFloat32(normals("inverse", 78)), make([]float32, 78)
	for _, f := range forms {
		sum := 0.0
		if n := testing.AllocsPerRun(100, func() {
			sum += f.dot(w, row)
			f.addScaled(w, 1e-9, row)
			f.addScores(z, w, row)
			f.addOuter(w, z, row)
			f.addSquares(w, 1e-9, row)
			f.products(made, row[:12], inverse, inverse)
			sum += f.norm(row)
			sum += f.quadratic(w, w[:8])
			f.addQuad(w, 1e-9, w[60:68])
		}); n != 0 {
			t.Errorf("%s: %v allocations", f.name, n)
		}
	}
}

// Rows that lie one after the other, as a design has them; MB/s is of their values.
func BenchmarkDense(b *testing.B) {
	const rows = 200
	for _, shape := range []struct{ columns, outputs int }{
		{13, 1}, {41, 1}, {150, 1}, {780, 1}, {41, 3}, {54, 7}, {36, 10}, {16, 26},
	} {
		columns, n := shape.columns, shape.outputs
		data := toFloat32(normals("rows", rows*columns))
		w, z := normals("weights", columns*n), normals("scores", n)
		for _, f := range forms {
			measure := func(name string, call func(row []float32)) {
				b.Run(fmt.Sprintf("%s/columns=%d/outputs=%d/form=%s", name, columns, n, f.name), func(b *testing.B) {
					b.SetBytes(int64(4 * columns))
					for i := 0; b.Loop(); i = (i + columns) % len(data) {
						call(data[i : i+columns])
					}
				})
			}
			if n == 1 {
				sum := 0.0
				measure("Dot", func(row []float32) { sum += f.dot(w, row) })
				measure("SquaredNorm", func(row []float32) { sum += f.norm(row) })
				measure("AddScaled", func(row []float32) { f.addScaled(w, 1e-9, row) })
				continue
			}
			measure("AddScores", func(row []float32) { f.addScores(z, w, row) })
			measure("AddOuter", func(row []float32) { f.addOuter(w, z, row) })
		}
	}
}

// Every pair of factors has a place of its own, and the places are as many as the last says.
func TestPairPlace(t *testing.T) {
	for n := range 70 {
		padded := Padded(n)
		if padded%4 != 0 || padded < n || padded > n+3 {
			t.Fatalf("%d factors are padded to %d", n, padded)
		}
		all := PairPlace(padded, padded, padded)
		seen := make([]bool, all)
		for i := range padded {
			for j := i &^ 3; j < padded; j++ {
				at := PairPlace(padded, i, j)
				if at < 0 || at >= all || seen[at] {
					t.Fatalf("%d factors: the pair %d, %d has the place %d of %d, or another has it", n, i, j, at, all)
				}
				seen[at] = true
			}
		}
		if slices.Contains(seen, false) {
			t.Fatalf("%d factors: some place of %d has no pair", n, all)
		}
	}
}

// All products of 9, 24 and 60 columns of a row, and their score and gradient without making them;
// MB/s is of the products.
func BenchmarkProducts(b *testing.B) {
	for _, n := range []int{9, 24, 60} {
		k := n * (n + 1) / 2
		factor, inverse, shift := toFloat32(normals("row", n)), toFloat32(normals("i", k)), toFloat32(normals("s", k))
		to, u := make([]float32, k), normals("row", Padded(n))
		w := normals("weights", PairPlace(len(u), len(u), len(u)))
		for _, f := range forms {
			measure := func(name string, call func()) {
				b.Run(fmt.Sprintf("%s/factors=%d/form=%s", name, n, f.name), func(b *testing.B) {
					b.SetBytes(int64(4 * k))
					for b.Loop() {
						call()
					}
				})
			}
			sum := 0.0
			measure("Products", func() { f.products(to, factor, inverse, shift) })
			measure("Quadratic", func() { sum += f.quadratic(w, u) })
			measure("AddQuadratic", func() { f.addQuad(w, 1e-9, u) })
		}
	}
}
