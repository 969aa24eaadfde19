package dense

// Dot is Σ_k w[k]·row[k]. Column k belongs to the sum s_(k mod 4), but the columns after the last
// multiple of four belong to s₀. The result is (s₀ + s₁) + (s₂ + s₃). w must be as long as row, or
// longer.
func Dot(w []float64, row []float32) float64 { return dot(w[:len(row)], row) }

// AddScaled adds g·row[k] to to[k] for every column k of row. to must be as long as row, or longer.
func AddScaled(to []float64, g float64, row []float32) { addScaled(to[:len(row)], g, row) }

// AddScores adds w[k·n+c]·row[k] to z[c], for every output c of the n = len(z) and one column k
// after the other. w must have n·len(row) elements or more.
func AddScores(z, w []float64, row []float32) { addScores(z, w[:len(z)*len(row)], row) }

// AddOuter adds g[c]·row[k] to to[k·n+c], for every column k and every output c of the n = len(g).
// to must have n·len(row) elements or more.
func AddOuter(to, g []float64, row []float32) { addOuter(to[:len(g)*len(row)], g, row) }

// AddSquares adds (g·row[k])·row[k] to to[k] for every column k of row. to must be as long as row,
// or longer.
func AddSquares(to []float64, g float64, row []float32) { addSquares(to[:len(row)], g, row) }

// Products writes factor[a]·factor[b]·inverse[k] - shift[k] to to[k] for all a ≤ b: those of the
// first factor with itself and all later ones, then those of the second, and so on. Each product
// and the difference is rounded to float32. to, inverse and shift must have n(n+1)/2 elements for n
// factors, or more.
func Products(to, factor, inverse, shift []float32) {
	n := len(factor) * (len(factor) + 1) / 2
	products(to[:n], factor, inverse[:n], shift[:n])
}

// Padded is the length of n factors for [Quadratic]: zeros follow them up to a multiple of four.
func Padded(n int) int { return (n + 3) &^ 3 }

// PairPlace is the place of the pair i ≤ j among the pairs of so many padded factors, and that of
// the pair (padded, padded) the number of all. Four i follow one another for each j from the first
// of them on, so that a few pairs are of j < i, whose weights must be 0.
func PairPlace(padded, i, j int) int {
	first := i &^ 3
	return first*(2*padded+4-first)/2 + 4*(j-first) + i - first
}

// Quadratic is Σ w[i,j]·u[i]·u[j] over the pairs of padded factors u, each weight in its
// [PairPlace]. The sum for an i is over its j by twos, of which two products are added first. Times
// u[i], it is added to one of four sums over all i, taken in turn, and these as those of [Dot]. It
// panics if u is not padded.
func Quadratic(w, u []float64) float64 { return quadratic(w[:pairs(len(u))], u) }

// AddQuadratic adds (g·u[i])·u[j] to to[i,j] for every pair of padded factors, also those of j < i.
// It panics if u is not padded.
func AddQuadratic(to []float64, g float64, u []float64) { addQuadratic(to[:pairs(len(u))], g, u) }

// pairs is the number of pairs of so many padded factors.
func pairs(padded int) int {
	if padded&3 != 0 {
		panic("dense: factors that are not padded")
	}
	return PairPlace(padded, padded, padded)
}

// SquaredNorm is Σ_k row[k]², in the order of [Dot].
func SquaredNorm(row []float32) float64 { return squaredNorm(row) }

// The forms in Go are unrolled: the loops would cost as much as the arithmetic.

func goDot(w []float64, row []float32) float64 {
	w = w[:len(row)]
	var a, b, c, d float64
	k := 0
	for ; k+4 <= len(row); k += 4 {
		a += float64(w[k] * float64(row[k]))
		b += float64(w[k+1] * float64(row[k+1]))
		c += float64(w[k+2] * float64(row[k+2]))
		d += float64(w[k+3] * float64(row[k+3]))
	}
	for ; k < len(row); k++ {
		a += float64(w[k] * float64(row[k]))
	}
	return (a + b) + (c + d)
}

func goAddScaled(to []float64, g float64, row []float32) {
	to = to[:len(row)]
	k := 0
	for ; k <= len(row)-4; k += 4 {
		a, v := (*[4]float64)(to[k:k+4]), (*[4]float32)(row[k:k+4])
		a[0] += float64(g * float64(v[0]))
		a[1] += float64(g * float64(v[1]))
		a[2] += float64(g * float64(v[2]))
		a[3] += float64(g * float64(v[3]))
	}
	for ; k < len(row); k++ {
		to[k] += float64(g * float64(row[k]))
	}
}

// goAddScores reads the row once for every four outputs, whose sums then stay in registers. It does
// not ask for zeros: the branch would cost more than the products.
func goAddScores(z, w []float64, row []float32) {
	n, c := len(z), 0
	for ; c <= n-4; c += 4 {
		to, at := (*[4]float64)(z[c:c+4]), c
		s0, s1, s2, s3 := to[0], to[1], to[2], to[3]
		for _, v := range row {
			u, wk := float64(v), (*[4]float64)(w[at:at+4])
			s0 += float64(wk[0] * u)
			s1 += float64(wk[1] * u)
			s2 += float64(wk[2] * u)
			s3 += float64(wk[3] * u)
			at += n
		}
		to[0], to[1], to[2], to[3] = s0, s1, s2, s3
	}
	if c <= n-2 {
		s0, s1, at := z[c], z[c+1], c
		for _, v := range row {
			u, wk := float64(v), (*[2]float64)(w[at:at+2])
			s0 += float64(wk[0] * u)
			s1 += float64(wk[1] * u)
			at += n
		}
		z[c], z[c+1] = s0, s1
		c += 2
	}
	if c < n {
		s, at := z[c], c
		for _, v := range row {
			s += float64(w[at] * float64(v))
			at += n
		}
		z[c] = s
	}
}

// goAddOuter reads the row once for every four outputs, too.
func goAddOuter(to, g []float64, row []float32) {
	n, c := len(g), 0
	for ; c <= n-4; c += 4 {
		g0, g1, g2, g3, at := g[c], g[c+1], g[c+2], g[c+3], c
		for _, v := range row {
			u, sum := float64(v), (*[4]float64)(to[at:at+4])
			sum[0] += float64(g0 * u)
			sum[1] += float64(g1 * u)
			sum[2] += float64(g2 * u)
			sum[3] += float64(g3 * u)
			at += n
		}
	}
	if c <= n-2 {
		g0, g1, at := g[c], g[c+1], c
		for _, v := range row {
			u, sum := float64(v), (*[2]float64)(to[at:at+2])
			sum[0] += float64(g0 * u)
			sum[1] += float64(g1 * u)
			at += n
		}
		c += 2
	}
	if c < n {
		g, at := g[c], c
		for _, v := range row {
			to[at] += float64(g * float64(v))
			at += n
		}
	}
}

func goAddSquares(to []float64, g float64, row []float32) {
	to = to[:len(row)]
	for k, v := range row {
		to[k] += float64(float64(g*float64(v)) * float64(v))
	}
}

func goSquaredNorm(row []float32) float64 {
	var a, b, c, d float64
	k := 0
	for ; k <= len(row)-4; k += 4 {
		v := (*[4]float32)(row[k : k+4])
		a += float64(float64(v[0]) * float64(v[0]))
		b += float64(float64(v[1]) * float64(v[1]))
		c += float64(float64(v[2]) * float64(v[2]))
		d += float64(float64(v[3]) * float64(v[3]))
	}
	for _, v := range row[k:] {
		a += float64(float64(v) * float64(v))
	}
	return (a + b) + (c + d)
}

func goProducts(to, factor, inverse, shift []float32) {
	for len(factor) > 0 {
		u, n, k := factor[0], len(factor), 0
		o, m, s := to[:n], inverse[:n], shift[:n]
		for ; k <= n-4; k += 4 {
			v, o := (*[4]float32)(factor[k:k+4]), (*[4]float32)(o[k:k+4])
			m, s := (*[4]float32)(m[k:k+4]), (*[4]float32)(s[k:k+4])
			o[0] = float32(float32(u*v[0])*m[0]) - s[0]
			o[1] = float32(float32(u*v[1])*m[1]) - s[1]
			o[2] = float32(float32(u*v[2])*m[2]) - s[2]
			o[3] = float32(float32(u*v[3])*m[3]) - s[3]
		}
		for ; k < n; k++ {
			o[k] = float32(float32(u*factor[k])*m[k]) - s[k]
		}
		to, inverse, shift, factor = to[n:], inverse[n:], shift[n:], factor[1:]
	}
}

func goQuadratic(w, u []float64) float64 {
	var a, b, c, d float64
	for len(u) >= 4 {
		var p, q, r, s float64
		for v := u; len(v) >= 2; v = v[2:] {
			w8, v := (*[8]float64)(w), (*[2]float64)(v)
			x, y := v[0], v[1]
			p += float64(w8[0]*x) + float64(w8[4]*y)
			q += float64(w8[1]*x) + float64(w8[5]*y)
			r += float64(w8[2]*x) + float64(w8[6]*y)
			s += float64(w8[3]*x) + float64(w8[7]*y)
			w = w[8:]
		}
		a += float64(u[0] * p)
		b += float64(u[1] * q)
		c += float64(u[2] * r)
		d += float64(u[3] * s)
		u = u[4:]
	}
	return (a + b) + (c + d)
}

func goAddQuadratic(to []float64, g float64, u []float64) {
	for len(u) >= 4 {
		a, b, c, d := float64(g*u[0]), float64(g*u[1]), float64(g*u[2]), float64(g*u[3])
		for v := u; len(v) >= 2; v = v[2:] {
			o, v := (*[8]float64)(to), (*[2]float64)(v)
			x, y := v[0], v[1]
			o[0] += float64(a * x)
			o[1] += float64(b * x)
			o[2] += float64(c * x)
			o[3] += float64(d * x)
			o[4] += float64(a * y)
			o[5] += float64(b * y)
			o[6] += float64(c * y)
			o[7] += float64(d * y)
			to = to[8:]
		}
		u = u[4:]
	}
}
