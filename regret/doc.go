// Package regret is the referee: it plays learners against losses and reports their regret against
// the best fixed point and compares it with their theorem's bound.
//
// A [Game] yields one loss a round, a function of what came before and, if it is an adversary, of
// the point played. [Play] runs a [Player] in it (every learner of package oco is one) and returns
// a [Certificate]: the learner's loss, the loss of the best fixed point, found to a certified gap,
// the regret between them, the learner's bound and where the bound was tightest.
//
//	game, facts, err := entry.New(regret.GameParams{Rounds: 1000, Seed: 1}) // entry from FindGame("linear-ball")
//	learner := ... // made for game.Set() and facts
//	c, err := regret.Play(ctx, learner, game, 1000, regret.Options{})
//	fmt.Println(c.Regret, "of at most", c.Bound)
//
// # Memory
//
// Losses are not kept. A [Summary] holds what the best fixed point depends on: the sum of the
// subgradients for linear losses, the sum of the targets for squared distances, the moment matrix
// for least squares. Memory is then O(d) or O(d²) however many rounds there are, and sums are
// compensated, so that the regret of ten million rounds is exact to the last digits. Games without
// such a summary are replayed from their seed to find the comparator ([Replay]).
//
// # Lower bounds
//
// The adversaries of the theory's lower bounds are games too. [ExpertTrap], [Rademacher], [Minimax]
// and [BettingTrap] state the floor that they guarantee, [CoinAdversary] does so for bettors, and
// [LeaderTrap] and [DecreasingRate] are sequences on which one particular learner fails. Tests hold
// every learner to these floors: regret below one would be a defect of the referee.
//
// # Losses that change
//
// [Options.Dynamic] compares a player with the sequence of the losses' own minimizers instead of
// one fixed point ([Dynamics]): the dynamic regret, how much the losses changed ([Variation]), and
// the intervals of rounds in which the player was worst. [VariationOf] measures a sequence of
// losses by itself, and [EstimateVariation] the costs of a stream. The games [Varying] change
// within a budget: the patterns and the lower bounds of Besbes, Gur and Zeevi (2015), with noise in
// the players' feedback. [Options.Moving] takes any other sequence of comparators.
//
// The theorems on fixed points are those of the book, Orabona, "A Modern Introduction to Online
// Learning" (2019), chapters 1 to 7.
//
// # Bandits
//
// [Replicate] plays a [BanditPlayer], every player of package bandit for one, in independent runs
// of a game of [Arms] and reports the pseudo-regret and the realized regret with standard errors,
// beside a bound of the theory.
//
// # Games by name
//
// [Games] lists all of them with their options, and [GameEntry.New] makes one together with
// [Facts], what a learner may know about the game before the first round.
package regret
