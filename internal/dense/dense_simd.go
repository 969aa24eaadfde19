//go:build goexperiment.simd && amd64

package dense

import (
	"simd/archsimd"
	"unsafe"
)

// Mul rounds the products, which MulAdd would not do. A row's values are exact as float64. Each
// function clears the upper halves of the registers at its end: otherwise the legacy instructions
// that follow, to which the compiler turns scalar arithmetic, would wait for them.

// hasVectors reports whether the processor has the instructions.
var hasVectors = archsimd.X86.AVX2()

// Vectors are faster from these on.
const (
	leastColumns = 8 // of a row, for one output
	leastOutputs = 5
)

func load(w []float64) archsimd.Float64x4 { return archsimd.LoadFloat64x4((*[4]float64)(w)) }

func store(x archsimd.Float64x4, w []float64) { x.Store((*[4]float64)(w)) }

func loadRow(row []float32) archsimd.Float64x4 {
	return archsimd.LoadFloat32x4((*[4]float32)(row)).ConvertToFloat64()
}

// bitsOf is the same row. The compiler would load a float32 by a legacy instruction, in the middle
// of a loop.
func bitsOf(row []float32) []uint32 {
	return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(row))), len(row))
}

// spread is the float32 of the given bits in all four places.
func spread(bits uint32) archsimd.Float64x4 {
	return archsimd.BroadcastUint32x4(bits).AsFloat32x4().ConvertToFloat64()
}

func dot(w []float64, row []float32) float64 {
	n := len(row)
	if n < leastColumns || !hasVectors {
		return goDot(w, row)
	}
	w = w[:n]
	var sums archsimd.Float64x4
	k := 0
	for ; k <= n-8; k += 8 {
		a, v := (*[8]float64)(w[k:k+8]), (*[8]float32)(row[k:k+8])
		sums = sums.Add(load(a[:4]).Mul(loadRow(v[:4])))
		sums = sums.Add(load(a[4:]).Mul(loadRow(v[4:])))
	}
	if k <= n-4 {
		sums = sums.Add(load(w[k : k+4]).Mul(loadRow(row[k : k+4])))
		k += 4
	}
	var s [4]float64
	sums.Store(&s)
	archsimd.ClearAVXUpperBits()
	first := s[0]
	for ; k < n; k++ {
		first += float64(w[k] * float64(row[k]))
	}
	return (first + s[1]) + (s[2] + s[3])
}

func addScaled(to []float64, g float64, row []float32) {
	n := len(row)
	if n < leastColumns || !hasVectors {
		goAddScaled(to, g, row)
		return
	}
	to = to[:n]
	factor := archsimd.BroadcastFloat64x4(g)
	k := 0
	for ; k <= n-16; k += 16 {
		a, v := (*[16]float64)(to[k:k+16]), (*[16]float32)(row[k:k+16])
		store(load(a[:4]).Add(factor.Mul(loadRow(v[:4]))), a[:4])
		store(load(a[4:8]).Add(factor.Mul(loadRow(v[4:8]))), a[4:8])
		store(load(a[8:12]).Add(factor.Mul(loadRow(v[8:12]))), a[8:12])
		store(load(a[12:]).Add(factor.Mul(loadRow(v[12:]))), a[12:])
	}
	for ; k <= n-4; k += 4 {
		a := to[k : k+4]
		store(load(a).Add(factor.Mul(loadRow(row[k:k+4]))), a)
	}
	archsimd.ClearAVXUpperBits()
	for ; k < n; k++ {
		to[k] += float64(g * float64(row[k]))
	}
}

// Outputs are taken by eights and then by the rest of five to twelve, in two or three groups of
// four that overlap where they must: a pass loads the sums of all its groups before it stores any,
// so that outputs of two groups get the same value twice.

func addScores(z, w []float64, row []float32) {
	n := len(z)
	if n < leastOutputs || !hasVectors {
		goAddScores(z, w, row)
		return
	}
	bits, c := bitsOf(row), 0
	for ; n-c > 12; c += 8 {
		addScores2(z, w, bits, c, c+4)
	}
	if n-c > 8 {
		addScores3(z, w, bits, c, c+4, n-4)
	} else {
		addScores2(z, w, bits, c, n-4)
	}
	archsimd.ClearAVXUpperBits()
}

func addScores2(z, w []float64, bits []uint32, i, j int) {
	n, zi, zj := len(z), z[i:i+4], z[j:j+4]
	x, y := load(zi), load(zj)
	for _, v := range bits {
		u := spread(v)
		x = x.Add(load(w[i : i+4]).Mul(u))
		y = y.Add(load(w[j : j+4]).Mul(u))
		i, j = i+n, j+n
	}
	store(x, zi)
	store(y, zj)
}

func addScores3(z, w []float64, bits []uint32, i, j, k int) {
	n, zi, zj, zk := len(z), z[i:i+4], z[j:j+4], z[k:k+4]
	x, y, t := load(zi), load(zj), load(zk)
	for _, v := range bits {
		u := spread(v)
		x = x.Add(load(w[i : i+4]).Mul(u))
		y = y.Add(load(w[j : j+4]).Mul(u))
		t = t.Add(load(w[k : k+4]).Mul(u))
		i, j, k = i+n, j+n, k+n
	}
	store(x, zi)
	store(y, zj)
	store(t, zk)
}

func addOuter(to, g []float64, row []float32) {
	n := len(g)
	if n < leastOutputs || !hasVectors {
		goAddOuter(to, g, row)
		return
	}
	bits, c := bitsOf(row), 0
	for ; n-c > 12; c += 8 {
		addOuter2(to, g, bits, c, c+4)
	}
	if n-c > 8 {
		addOuter3(to, g, bits, c, c+4, n-4)
	} else {
		addOuter2(to, g, bits, c, n-4)
	}
	archsimd.ClearAVXUpperBits()
}

func addOuter2(to, g []float64, bits []uint32, i, j int) {
	n, gi, gj := len(g), load(g[i:i+4]), load(g[j:j+4])
	for _, v := range bits {
		u, a, b := spread(v), to[i:i+4], to[j:j+4]
		x, y := load(a).Add(gi.Mul(u)), load(b).Add(gj.Mul(u))
		store(x, a)
		store(y, b)
		i, j = i+n, j+n
	}
}

func addOuter3(to, g []float64, bits []uint32, i, j, k int) {
	n, gi, gj, gk := len(g), load(g[i:i+4]), load(g[j:j+4]), load(g[k:k+4])
	for _, v := range bits {
		u, a, b, c := spread(v), to[i:i+4], to[j:j+4], to[k:k+4]
		x, y, t := load(a).Add(gi.Mul(u)), load(b).Add(gj.Mul(u)), load(c).Add(gk.Mul(u))
		store(x, a)
		store(y, b)
		store(t, c)
		i, j, k = i+n, j+n, k+n
	}
}

func addSquares(to []float64, g float64, row []float32) {
	n := len(row)
	if n < leastColumns || !hasVectors {
		goAddSquares(to, g, row)
		return
	}
	to = to[:n]
	factor := archsimd.BroadcastFloat64x4(g)
	k := 0
	for ; k <= n-4; k += 4 {
		a, v := to[k:k+4], loadRow(row[k:k+4])
		store(load(a).Add(factor.Mul(v).Mul(v)), a)
	}
	archsimd.ClearAVXUpperBits()
	goAddSquares(to[k:], g, row[k:])
}

func squaredNorm(row []float32) float64 {
	n := len(row)
	if n < leastColumns || !hasVectors {
		return goSquaredNorm(row)
	}
	var sums archsimd.Float64x4
	k := 0
	for ; k <= n-4; k += 4 {
		v := loadRow(row[k : k+4])
		sums = sums.Add(v.Mul(v))
	}
	var s [4]float64
	sums.Store(&s)
	archsimd.ClearAVXUpperBits()
	for _, v := range row[k:] {
		s[0] += float64(float64(v) * float64(v))
	}
	return (s[0] + s[1]) + (s[2] + s[3])
}

// products takes eight products of a factor at a time. The last ones begin where they must
// to end with the factors, so that some are written twice.
func products(to, factor, inverse, shift []float32) {
	if hasVectors {
		for len(factor) >= 8 {
			u, n := archsimd.BroadcastFloat32x8(factor[0]), len(factor)
			o, m, s := to[:n], inverse[:n], shift[:n]
			k := 0
			for ; k <= n-8; k += 8 {
				eightProducts(o, u, factor, m, s, k)
			}
			if k < n {
				eightProducts(o, u, factor, m, s, n-8)
			}
			to, inverse, shift, factor = to[n:], inverse[n:], shift[n:], factor[1:]
		}
		archsimd.ClearAVXUpperBits()
	}
	goProducts(to, factor, inverse, shift)
}

func eightProducts(to []float32, u archsimd.Float32x8, factor, inverse, shift []float32, k int) {
	v, m := (*[8]float32)(factor[k:k+8]), (*[8]float32)(inverse[k:k+8])
	s := archsimd.LoadFloat32x8((*[8]float32)(shift[k : k+8]))
	u.Mul(archsimd.LoadFloat32x8(v)).Mul(archsimd.LoadFloat32x8(m)).Sub(s).Store((*[8]float32)(to[k : k+8]))
}

func quadratic(w, u []float64) float64 {
	if !hasVectors {
		return goQuadratic(w, u)
	}
	var sums archsimd.Float64x4
	bits := wideBitsOf(u)
	for len(bits) >= 4 {
		var four archsimd.Float64x4
		for v := bits; len(v) >= 2; v = v[2:] {
			w8, v := (*[8]float64)(w), (*[2]uint64)(v)
			x, y := load(w8[:4]).Mul(wideSpread(v[0])), load(w8[4:]).Mul(wideSpread(v[1]))
			four = four.Add(x.Add(y))
			w = w[8:]
		}
		sums = sums.Add(load(u[:4]).Mul(four))
		u, bits = u[4:], bits[4:]
	}
	var s [4]float64
	sums.Store(&s)
	archsimd.ClearAVXUpperBits()
	return (s[0] + s[1]) + (s[2] + s[3])
}

func addQuadratic(to []float64, g float64, u []float64) {
	if !hasVectors {
		goAddQuadratic(to, g, u)
		return
	}
	bits, scale := wideBitsOf(u), archsimd.BroadcastFloat64x4(g)
	for len(bits) >= 4 {
		four := scale.Mul(load(u[:4]))
		for v := bits; len(v) >= 2; v = v[2:] {
			o, v := (*[8]float64)(to), (*[2]uint64)(v)
			store(load(o[:4]).Add(four.Mul(wideSpread(v[0]))), o[:4])
			store(load(o[4:]).Add(four.Mul(wideSpread(v[1]))), o[4:])
			to = to[8:]
		}
		u, bits = u[4:], bits[4:]
	}
	archsimd.ClearAVXUpperBits()
}

// wideBitsOf and wideSpread are bitsOf and spread for float64.
func wideBitsOf(u []float64) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(u))), len(u))
}

func wideSpread(bits uint64) archsimd.Float64x4 {
	return archsimd.BroadcastUint64x4(bits).AsFloat64x4()
}
