// Package play brings learners and games together by name. It finds out which learner can play
// which game, makes each learner from the facts about the game, runs the referee and collects the
// certificates.
//
//	results, err := play.Run(ctx, play.Options{
//		Learners: []string{"ogd-fixed:eta=0.01..1:5", "ogd-adaptive"}, Game: "linear-ball:radius=2",
//		Rounds: 10000, Seed: 1, Runs: 20,
//	})
//	for _, s := range play.Summarize(results) {
//		fmt.Println(s.Learner, s.Regret.Mean, s.Regret.StandardError)
//	}
//
// # Names
//
// A learner or a game is named with options after colons, as in "ftrl-proximal:a=0.5:l1=0.1"
// ([ParseSpec]). A learner's option may be a range, as in "ogd-fixed:eta=0.01..1:5", which stands
// for a learner with each of five values ([ParseSweep]). [Learners] lists the learners with the
// games that they fit; regret.Games lists the games. A learner of expert advice has a randomized
// form, named "randomized-eg" after eg.
//
// # Losses that change
//
// Any learner has a restarted form: "restarted-adagrad:every=100" is made anew every 100 rounds,
// and without the option every for the batches that the horizon and the variation call for.
// restarted-ogd, retuned-ogd, ader, dyadic and adaptive, and egs and bgd, which see only the losses
// at their points, are learners of package drift. With [Options].Dynamic the certificates compare
// with the sequence of the losses' minimizers.
//
// # Runs
//
// In run r every learner plays the game made from the seed Seed + r, with its own copy of it, so
// that learners can be compared run by run. Results do not depend on the number of workers.
// [Summarize] summarizes the runs of each learner: means, standard errors and the largest share of
// the bound that was used.
//
// # Bandits
//
// [RunBandits] does the same for bandit algorithms, which see only the loss of the arm that they
// pull. [Bandits] lists them, and [BanditGames] their games: losses with given means, adversaries,
// the losses of a file, the decisions of a log. A [BanditResult] has the mean pseudo-regret over
// the runs with its standard error, the theorem's bound of the expected regret and the lower bound
// of Lai and Robbins.
//
// # User-defined learners and games
//
// Anything with the three methods of oco.Learner can be a learner, and anything that implements
// regret.Game a game. Put their constructors into an oco.Entry and a regret.GameEntry, hand these
// to [Run] in [Options], and name them like the others; the example of Run shows both.
package play
