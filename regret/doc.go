// Package regret is the referee: it plays learners against losses and says how much they lost to the best they
// could have done, and to what their theorem promised.
//
// A [Game] yields one loss a round, a function of what came before and, if it is an adversary, of the point
// played. [Play] runs a [Player] in it (every learner of package oco is one) and returns a [Certificate]: the learner's loss, the loss of the best fixed
// point, found to a certified gap, the regret between them, the learner's bound and where the bound was tightest.
//
// Losses are not kept. A [Summary] holds what the best fixed point depends on: the sum of the subgradients for linear losses, the sum of the targets for squared distances, the
// moment matrix for least squares. Memory is then O(d) or O(d²) however many rounds there are, and sums are compensated, so that the regret of
// ten million rounds is exact to the last digits. Games without such a summary are played again from their seed while the comparator is sought.
//
// The adversaries of the theory's lower bounds are games too, each with the floor that it guarantees: [NewRademacher], [NewMinimax], [NewLeaderTrap] and so on. A learner that stays below
// a floor is not a better learner but a broken referee, and a test says so.
package regret
