//go:build !goexperiment.simd || !amd64

package dense

func dot(w []float64, row []float32) float64           { return goDot(w, row) }
func addScaled(to []float64, g float64, row []float32) { goAddScaled(to, g, row) }
func addScores(z, w []float64, row []float32)          { goAddScores(z, w, row) }
func addOuter(to, g []float64, row []float32)          { goAddOuter(to, g, row) }

func addSquares(to []float64, g float64, row []float32) { goAddSquares(to, g, row) }

func squaredNorm(row []float32) float64 { return goSquaredNorm(row) }

func quadratic(w, u []float64) float64                  { return goQuadratic(w, u) }
func addQuadratic(to []float64, g float64, u []float64) { goAddQuadratic(to, g, u) }

func products(to, factor, inverse, shift []float32) { goProducts(to, factor, inverse, shift) }
