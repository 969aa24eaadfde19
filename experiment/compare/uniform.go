package compare

import (
	"math"

	"github.com/noregret/noregret/internal/linalg"
	"github.com/noregret/noregret/internal/portable"
)

// uniformUnits is the number of units of an arm at which bounds for all rounds are about as narrow
// as they get. A number that does not depend on the data is needed.
const uniformUnits = 500

// Uniform makes the errors those of a bound that holds for all mixtures and in all rounds together,
// and returns the number β of them. It is for estimates of all rounds, of at most 128 arms.
//
// With S_t = Σ b_i − L_i·δ the noise of the sums after t rounds and L_t = Σ L_i, which is its
// covariance, exp(λ'S_t − λ'L_t·λ/2) is a supermartingale with mean at most 1 for each λ where the
// contrasts of a round are normal, or sub-Gaussian, with that covariance given the rounds before.
// Its mean over λ from N(0, I/r) is one too, and by Ville's inequality, with probability 1 − alpha,
// for all t
//
//	S_t'(L_t + r·I)⁻¹S_t ≤ β² = log det(I + L_t/r) + 2·log(1/alpha)
//
// (de la Peña, Klass and Lai, Annals of Probability 32, 2004; Abbasi-Yadkori, Pál and Szepesvári,
// NIPS 2011, Theorem 1). By the inequality of Cauchy and Schwarz |p'(δ̂ − δ)| is then at most β
// times the root of p'L⁻¹(L + r·I)L⁻¹p for all mixtures p, which is what [Chosen.Product] and Error
// have from then on. The assumption is that of known variances: L has the estimated ones, as the
// sequences of package confseq for unbounded values do. A scatter φ above 1 raises them.
//
// It costs O(K³).
func (e *Chosen) Uniform(alpha float64) (beta float64) {
	x := e.solved[0]
	n := len(x.index)
	if n == 0 || !(x.sigma > 0) {
		return 0
	}
	r := uniformUnits / x.sigma
	a := make([]float64, n*n)
	for i := range n {
		for j := i; j < n; j++ {
			a[i*n+j] = float64(r*x.Covariance(x.index[i], x.index[j])) / x.variance()
		}
		a[i*n+i]++
	}
	linalg.FactorizeAbove(a, n, 0)
	log := -float64(n) * portable.Log(r) // of det(I + L/r) = det(L/r)·det(I + r·L⁻¹)
	for i := range n {
		log += float64(2 * (portable.Log(x.factor[i*n+i]) + portable.Log(a[i*n+i]) - portable.Log(x.link[i])))
	}
	e.ridge = r / x.Scatter
	one, product := make([]float64, len(e.Known)), make([]float64, len(e.Known))
	for _, k := range x.index {
		one[k] = 1
		e.Product(product, one)
		e.Error[k], one[k] = math.Sqrt(product[k]), 0
	}
	return math.Sqrt(max(log, 0) + float64(2*portable.Log(1/alpha)))
}

// UniformLevel is by how much the mean of the control's level may be off in any round, by its
// units: the same bound in one dimension.
func (e *Chosen) UniformLevel(alpha float64) float64 {
	n := e.solved[0].units
	if !(n > 0) {
		return math.Inf(1)
	}
	square := (1 + uniformUnits/n) * (portable.Log(1+n/uniformUnits) + float64(2*portable.Log(1/alpha)))
	return float64(math.Sqrt(square) * e.Level.Units)
}
