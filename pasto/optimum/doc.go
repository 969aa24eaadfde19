// Package optimum solves the problem of package pasto for known means, with a certificate: the
// mixture p of arms that maximizes f(μp), under hard guardrails if the objective has any.
//
// [Maximize] is the entry point. It runs pairwise Frank–Wolfe steps with exact line search, and
// simplicial decomposition with the vertices of a linear program where guardrails are hard. The
// result states a Gap: no mixture's value is above Value + Gap. [BestSingle] is the deterministic
// solution, [CheckFeasible] tells whether guardrails can be held at all, and [ReduceSupport]
// moves a mixture to at most M + 1 arms with the same means.
//
// [Solver] and [HardSolver] are the same methods as workspaces that start from a given mixture and
// allocate nothing when used again. [Partial] works with them on the usable arms of a table:
// package confident solves its plug-in problem with it.
package optimum
