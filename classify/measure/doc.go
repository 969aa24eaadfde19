// Package measure holds the performance measures of binary classifiers: their values on a confusion
// matrix, and the functions that a learner needs to maximize them directly.
//
// Every measure is a function of the confusion counts ([Confusion]); most are functions
// of P, the mean reward on positives, and N, the mean reward on negatives. With
// 0/1 rewards P is the true positive rate and N the true negative rate. θ = n₋/n₊ is the
// class ratio. Two families have learners of their own (Narasimhan, Kar and Jain 2015):
//
//   - [Concave] measures Ψ(P, N), concave and monotone (min, H-mean, Q-mean, G-mean,
//     balanced accuracy, ...): the SPADE learner uses their concave conjugate Ψ* and their
//     sufficient dual region A, for which Ψ(P, N) = min over (α, β) in A of αP + βN - Ψ*(α, β).
//   - [Ratio] measures (a₀ + a₁P + a₂N)/(b₀ + b₁P + b₂N), pseudo-linear (F-beta, Jaccard,
//     Cohen's kappa, ...): the AMP and STAMP learners alternate between a level v and
//     a classifier trained with the weights of the level.
//
// The rest (Matthews' correlation, Fowlkes–Mallows) are not quasi-concave: they can be evaluated,
// differentiated and used to tune a threshold.
//
// A new measure needs one small file, with a type that has the methods of its family, and a line in
// the table of [Parse].
package measure
