package dp

import (
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/portable"
)

// noiseScale is the noise that a stream needs, in units of the lattice (for SquareRoot, of its
// 2^−20).
type noiseScale struct {
	sigma        uint64                 // of one draw
	base         func(level int) uint64 // of one draw in segment number level of Doubling
	coefficients []uint32               // of SquareRoot, times 2^20
	charge       Charge
}

// calibrate computes the noise and the charge of a stream. A unit moves the releases by a vector
// whose length, in standard deviations of the noise, is at most Δ·√weight/σ: the weight is the
// number of nodes that a record touches, or the largest squared norm of a column of the matrix.
func calibrate(c StreamConfig) (noiseScale, error) {
	var n noiseScale
	weight, unit := float64(levels(c.steps())), 1.0
	draws := weight * float64(c.Lattice.Dim()*c.Protection.Records) // that a unit touches
	switch c.Kind {
	case Doubling:
		weight = 1
		draws = float64(levels(MaxHorizon) * c.Lattice.Dim() * c.Protection.Records)
	case SquareRoot:
		if c.steps() > maxToeplitz {
			return n, noregret.BadInputf("horizon",
				"%d steps, the square-root mechanism keeps all of them and has at most %d: %w",
				c.steps(), maxToeplitz, ErrHorizon)
		}
		n.coefficients = toeplitz(int(c.steps()))
		weight, unit = columnNorm(n.coefficients), 1<<toeplitzBits
		// Each record of a unit counts, because in a bandit it may belong to a stream of its own.
		draws = float64(c.steps()) * float64(c.Lattice.Dim()*c.Protection.Records)
	}
	sensitivity := float64(c.Protection.steps()) * float64(c.Lattice.Limit()) * unit
	perSigma, distance, err := noisePerSensitivity(c.Budget, sensitivity*math.Sqrt(weight), draws)
	if err != nil {
		return n, err
	}
	scale := func(weight float64) float64 {
		return math.Ceil(sensitivity * math.Sqrt(weight) * perSigma * (1 + margin))
	}
	// Sums of increments and noise must stay below 2^61.
	largest, nodes := scale(weight), weight
	room := float64(c.Lattice.Limit()) * unit * float64(c.Lattice.Horizon())
	switch c.Kind {
	case Doubling:
		nodes = float64(levels(c.steps()))
		largest = scale(nodes) // and one finished segment per level
		nodes *= 2
	case SquareRoot:
		nodes = 1
		room = float64(c.Lattice.Limit()) * float64(c.Batch) * absoluteSum(n.coefficients)
	}
	if !(gaussianTails*largest*math.Sqrt(nodes) < 1<<61) || !(room < 1<<61) || largest > maxSigma {
		return n, noregret.BadInputf("spacing", "noise of %g units of a lattice of spacing %g can overflow: "+
			"want a coarser lattice: %w", largest, c.Lattice.Spacing(), ErrLattice)
	}
	n.sigma = uint64(scale(weight))
	n.base = func(level int) uint64 { return uint64(scale(float64(level + 1))) }
	n.charge = Charge{Protection: c.Protection, Accounting: c.Budget.accounting, Rho: c.Budget.Rho()}
	if c.Budget.accounting == GDP {
		n.charge.MuSq = 1 / (perSigma * perSigma)
		n.charge.Slack = distance
	}
	return n, nil
}

// noisePerSensitivity returns σ/Δ. In zCDP discrete Gaussian noise costs exactly what continuous
// noise does (Canonne, Kamath and Steinke 2020, theorem 4). In Gaussian differential privacy the
// continuous noise rounded to the lattice has the curve of Gaussian noise, because rounding is
// post-processing, and the discrete noise differs from it in each draw by at most roundingDistance
// in total variation. So the mechanism is within the distance draws·roundingDistance of one with
// Gaussian noise in all draws that a unit touches, and δ grows by at most 1 + e^ε times that.
func noisePerSensitivity(b Budget, sensitivity, draws float64) (perSigma, distance float64, err error) {
	if b.accounting == ZCDP {
		return 1 / math.Sqrt(2*b.cost), 0, nil
	}
	distance = float64(draws * roundingDistance(sensitivity/b.cost))
	slack := float64(distance * (1 + portable.Exp(b.epsilon)))
	if !(sensitivity/b.cost >= 2) || !(slack <= b.delta/100) {
		return 0, 0, noregret.BadInputf("spacing", "discrete noise on this lattice costs δ = %.3g of %.3g in Gaussian "+
			"differential privacy: want a finer lattice or ZCDPBudget: %w", slack, b.delta, ErrLattice)
	}
	mu, err := GaussianMu(b.epsilon, b.delta-slack)
	if err != nil {
		return 0, 0, err
	}
	return 1 / mu, distance, nil
}
