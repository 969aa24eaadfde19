// Package world is the laboratory's engine of worlds with known truth: a law of arms and metrics
// over rounds, with seasons, growth, drift, late feedback, heavy tails and masks, and the draws of
// what units do. Every study of the laboratory whose units are made up takes their values from
// here. Heavy tails, shocks and seasons are those of package law, from which the games of "noregret
// play" and the scenarios of "noregret simulate" draw too.
//
// # Worlds and families
//
// A [World] is one problem with its truth: the objective, the arms' means, the traffic of each
// round, the distributions of the metrics over units. Arm 0 is the control, which holds every hard
// guardrail. A [Family] draws a world for each run from a seed; [Families] and [DriftFamilies] list
// them with the distributions of their means. The best mixture of a world is that of
// [scenario.Truth], which is certified.
//
// A world is played in one of three ways. [Sampler.Round] gives the groups of a round by arm, for
// learners that serve mixtures. [Sampler.Unit] gives the values of one unit, for the decision
// service. [Grouped] is a world for package scenario, where learners draw arms. Where the learner
// makes the arms, as on boxes of parameters, the study sets [Sampler.Law].
//
// # Masks
//
// An arm may be away in some rounds ([World.Away]): it joins later, is out of stock, is sold on
// weekdays only. Units may be of segments that may get some of the arms only ([World.Segments]).
// [World.Serve] says what units get then, and from which of them is learned, as the service decides
// among allowed arms; [Sampler.Allowed] says it of one unit. The truth of a round is the best that
// can be done under its masks.
//
// # The same draws for all
//
// All learners of a run play the same world side by side. In each round a learner names a mixture
// p; of N units each arm serves p_k·N, rounded up or down with one random number that all learners
// share. The outcome of a group of n units of an arm is a function of the seed, the run, the round,
// the arm and n alone. For each (run, round, arm, metric) there is one standard normal number z: a
// count of events is the binomial quantile at z, a mean of normal values is the mean plus z
// standard errors, and buyers come in one order with the same amounts. So learners that serve an
// arm the same number of units see the same outcome, those that serve it about as many see nearly
// the same, and adding a learner does not affect the others. Differences between learners are those
// of the same runs.
package world
