// Package aggregate releases sums of bounded feedback with noise, so that whoever learns from the
// sums learns in a differentially private way: for every arm and metric of an experiment the sum of
// all values so far, after every round.
//
// # What is protected
//
// A unit is a user. The values of a unit's feedback are protected, in all of its decisions that
// count, of which there are at most [Config].Contribution in the whole run. The adjacency is
// replace-one on values: two data sets are neighbours if all values of one unit may differ. That
// the unit took part, its arms, its rounds and the number of decisions of every arm and round are
// the same in both: they are public and not protected. What is released may determine later
// decisions (adaptive continual observation).
//
// # Use
//
//	config := aggregate.DefaultConfig(4, []aggregate.Range{{0, 1}, {0, 50}}, 365)
//	config.Contribution, config.Epsilon, config.Delta = 3, 1, 1e-6
//	sums, err := aggregate.New(config)
//
// For each decision whose feedback counts, [Sums.Quantize] turns its values into integers, and the
// program adds them up for each arm and metric, exactly. Once a round is closed, [Sums.Step] takes
// the sums of that round and writes the noisy sums of all rounds so far. The program must count no
// more than Contribution decisions of any unit, and at most Batch decisions in a round.
//
// # Why it is private
//
// Quantize maps a value to an integer from −L to L, so that the values of one decision are a vector
// of l2 norm at most L·√M for M metrics, and two such vectors are at most 2·L·√M apart. That holds
// for every input. A round's sums are one increment of a stream of prefix sums (package dp), in
// dimension K·M for K arms. A unit with c decisions moves the increments of at most c rounds, by
// vectors whose norms add up to at most c·2·L·√M, whatever the arms and rounds are: the norm is
// largest where all its decisions are in one arm and round. The stream is linear, so it moves the
// releases, measured in the noise, by at most c·2·L·√M times the largest that one round with norm 1
// can. This is what dp.PerUser(c) charges for increments of norm L·√M.
//
// # Secrets
//
// What Step writes, charges, statements and deviations are public. The sums that it takes, and
// snapshots, are secret.
package aggregate
