// Package loss holds the concave rewards (and, later, the convex losses) that learners are
// trained on.
//
// A reward scores the margin m = y·z of a prediction z ∈ ℝ for a label y ∈ {-1, +1}. It is
// concave and non-decreasing in m, equals 1 for a confident right answer, and its
// gradient with respect to the weights of a linear score z = ⟨w, x⟩ is y·r'(m)·x. The
// [Hinge], [Logistic] and [SquaredHinge] rewards are lower bounds of the 0/1 reward 1{m > 0},
// so a learner that maximizes a monotone measure of them maximizes a lower bound of the
// measure itself (Narasimhan, Kar and Jain 2015).
//
// [ZeroOne] is what measures are evaluated with; it is not concave and has no useful
// derivative, so no learner accepts it as its training reward.
package loss
