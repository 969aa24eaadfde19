// Package contextual learns which of K arms is best in a context: a vector x of features that is
// known before the choice.
//
// # The problem
//
// In each round a context comes, the learner chooses an arm and sees the reward of that arm alone.
// The expected reward of arm k is assumed to be nearly linear in x. The regret compares with the
// arm that is best in each context, not with one best arm: so a contextual bandit learns that young
// visitors like one page and older ones another.
//
// # The learner of the decision service
//
// A [Learner] has one ridge regression for each arm. Observe takes rewards in any order; Seal
// returns a policy.Linear, which decides for units and their contexts with exact propensities, in
// any process. The rule is one of three:
//
//   - lin-ucb, the arm of the largest upper confidence bound (Li, Chu, Langford and Schapire 2010);
//   - lin-thompson, each arm with the probability that it is best (Thompson 1933; Agrawal and Goyal
//     2013);
//   - squarecb, inverse gap weighting of any regression (Abe and Long 1999; Foster and Rakhlin 2020).
//
// # Players
//
// A [Player] decides round by round: Draw returns an arm, its propensity and an ID; Update takes
// the reward of an ID, which may come later or never. [LinUCB], [LinThompson] and [SquareCB] have
// separate weights for each arm, or share one vector of weights among arms that have vectors of
// their own. Arms can be added, retired, and excluded from single rounds; the propensity is that of
// the distribution among the arms that remain. SquareCB works with any [Regressor]: [Ridge], or a
// learner of package oco by [NewDescent].
//
// The guarantees are functions: [LinUCB.Bound] and [LinUCBBound], [SquareCBBound] with
// [Ridge.SquareRegret]. lab/docs/contextual.md has measurements.
//
// Everything is deterministic given the calls. Nothing here is safe for concurrent use.
package contextual
