// Package plan computes before an experiment how long it will take: the days until each guardrail
// is decided, the smallest effect that is detected in a number of days, and the days until most of
// the gain is served. It has two methods:
//
//   - in closed form, by the confidence sequences of package confseq at the sums that the expected
//     means and variances give, without noise: the day on which a typical run crosses the boundary;
//   - by simulation: the fold of package experiment plays the definition with random outcomes.
//
// The two differ where rounds, windows and the learner matter: only the simulation has them.
//
// A plan is the part "plan" of a definition: units a day, and the mean and spread of each metric
// under the control arm.
package plan
