// Package loss holds convex losses and concave rewards: what learners minimize and maximize.
//
// A [Function] is the convex loss of one round, as a function of the learner's point: value and
// subgradient. Implement its three methods for a loss of your own. Those of this package also state
// their constants ([Curvature]): Lipschitz on a ball, smoothness, strong convexity. An [Example] is
// the loss of a linear prediction ⟨z, x⟩ for a label y under a [Scalar] loss: [Squared],
// [Absolute], [HingeLoss], [SquaredHingeLoss], [LogisticLoss], [Huber], [Quantile], [LogLoss], each
// with its conjugate. A [SparseExample] costs O(nnz). [Linear], [SquaredDistance], [Ridge], [Max],
// [Composite] and [Weighted] make others.
//
// A [Reward] is what classifiers are trained with. It scores the margin m = y·z of a prediction z
// ∈ ℝ for a label y ∈ {-1, +1}. It is concave and non-decreasing in m, equals 1 for a confident
// right answer, and its gradient with respect to the weights of a linear score z = ⟨w, x⟩ is
// y·r'(m)·x. The [Hinge], [Logistic] and [SquaredHinge] rewards are lower bounds of the 0/1 reward
// 1{m > 0}, so a learner that maximizes a monotone measure of them maximizes a lower bound of the
// measure itself (Narasimhan, Kar and Jain 2015). The losses of the same names are 1 minus them, up
// to the logistic's base.
//
// [ZeroOne] is for evaluating measures. It is not concave and has no useful derivative, so no
// learner accepts it as its training reward.
package loss
