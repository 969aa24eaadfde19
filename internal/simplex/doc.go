// Package simplex solves linear programs over distributions: it maximizes Σ_k g_k·p_k over the
// distributions p on n points that satisfy a few linear constraints ([Row]), by the revised simplex
// method in two phases.
//
// A program has many points and few rows. An iteration costs O(n·m + m³) for m rows, and a solution
// has at most m + 1 points of positive probability. Dual prices certify it ([Program.Prices]), and
// if no distribution satisfies the rows, the first phase finds one of least total violation.
//
// Rows and gains are scaled each by its own size, so that one tolerance serves rows in millions and
// in millionths. Where one point far outside would hide the others of its row, [Program.Refine]
// scales the row anew. Pivots are chosen by the largest reduced gain, and after many steps by
// Bland's rule (1977), which cannot cycle. Sums run in a fixed order, so results are the same on
// every machine.
//
// The use is: Reset, SetObjective, Feasible, then Maximize; Solution and Prices read the result.
// SetObjective and Maximize may be repeated: the basis is kept.
package simplex
