// Package experts plays the game of expert advice.
//
// # The game
//
// There are d experts. In round t the player chooses one of them, i_t, and then the losses of all
// are revealed, a vector g_t; the player pays that of its choice, g_{t,i}. Its regret is what it
// paid beyond what the best single expert would have: Σ g_{t,i_t} − min_i Σ g_{t,i}.
//
// A deterministic choice cannot have small regret: an adversary that lets only the chosen expert
// err makes the player pay T, and the best of d experts T/d at most. With a random choice it can. A
// learner on the simplex (Hedge and its kin in package oco) keeps a weight for each expert, x_t; if
// i_t is drawn from these weights, the player pays ⟨g_t, x_t⟩ in expectation, so that regret on the
// simplex becomes expected regret among experts:
//
//	hedge, _ := oco.NewAdaHedge(d, oco.DefaultAdaHedgeAlpha(d))
//	player, _ := experts.NewRandomized(hedge, experts.DefaultRandomizedOptions(1))
//	for range rounds {
//		i := player.Draw()
//		... follow expert i, see the losses g of all ...
//		if err := player.Update(g); err != nil { ... }
//	}
//
// # Which weights
//
// The weights come from a learner on the simplex of package oco. Hedge has three forms there:
// oco.NewExponentiatedGradient with a fixed rate and a prior, oco.NewEntropicFTRL for any horizon,
// and oco.NewAdaHedge, which needs neither horizon nor range. oco.NewExpertBetting has no rate, and
// a bound for every share of good experts (quantiles); oco.NewFixedShare follows a best expert that
// changes.
//
// [Specialists] plays with experts that sleep in some rounds: the regret to each counts the rounds
// in which it was awake. [Covering] and [Coin] are for learners that each begin with an interval of
// rounds, so that the regret is small on every interval. [Mixture] takes whole learners for
// experts, and so selects among models while they learn from a stream.
//
// # What is promised
//
// The losses of a round must be fixed before i_t is drawn. They may depend on earlier draws and on
// the weights. Then the expected regret is within the learner's bound, and with probability 1 − δ
// the regret is at most R·√(2T·ln(1/δ)) above it, for losses that lie in an interval of length R.
// An adversary that sees i_t itself is outside the theory: package regret has one, ExpertTrap, and
// refuses to play it against random draws.
package experts
