// Package dp holds the parts of differential privacy: accounting, exact noise, the front end that
// clips, private sums over a stream, private selections, and the ledger of what was spent.
//
// # Claims
//
// A claim of privacy names who is protected ([Protection]: adjacency and unit) and how much
// ([Budget]: ε and δ in one accounting). A mechanism is made from both and states its cost as a
// [Charge]. Charges of the same protection add up; charges of different ones do not.
//
//	protection := dp.PerRecord()
//	budget, err := dp.GDPBudget(1, 1e-6)
//
// # From data to a release
//
//   - A [Lattice] clips real vectors and rounds them to integers. Privacy comes from the clip, never
//     from a property that the data or the loss are believed to have.
//   - A [Stream] releases the noisy prefix sums of clipped increments after every step: by the
//     binary counter, Honaker's refinement, doubling segments for unknown horizons, or the
//     square-root mechanism.
//   - A [Selector] chooses a candidate with a small score: by the exponential mechanism, or by
//     discrete Laplace noise.
//   - [DiscreteGaussian] and [DiscreteLaplace] are the exact noise below.
//
// Noise comes from crypto/rand. Only [WithInsecureDeterministicNoiseForTesting] takes a seed, and
// what it touches says that it is insecure. A comparison without privacy uses [NewZeroStream].
//
// # Accounting
//
//   - [GaussianDelta], [GaussianMu] and [GaussianEpsilon]: Gaussian differential privacy. μ² adds.
//   - [RhoEpsilon], [Rho] and [RhoDelta]: zCDP with the sharp conversion. ρ adds.
//   - [RenyiEpsilon] and [PureRenyi]: Rényi curves. Curves add.
//   - [ComposePure]: mechanisms with δ = 0.
//
// Costs are rounded up and budgets down.
//
// # What is not protected
//
// The number of records, the time at which a call returns, whatever a program logs, and the state
// of a stream, which holds the exact sums: see [Stream.MarshalBinary].
package dp
