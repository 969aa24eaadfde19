// Package play brings learners and games together by name: it knows which learner can play which
// game, gives each learner what the game may tell it, runs the referee and collects the
// certificates.
//
// A learner or a game is named with options after colons, as in "ftrl-proximal:a=0.5:l1=0.1" or
// "linear-ball:dim=20". [ParseSpec] reads that; [Run] plays; [Learners] and [Games] list what there
// is.
package play
