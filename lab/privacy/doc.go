// Package privacy measures private learners and bandits on synthetic problems: linear regression in
// lp geometry ([Regression]) and a bandit with contexts ([Bandit]), as in the experiments of Han,
// Liang, Liang, Wang, Yao and Zhang, "On Private Online Convex Optimization".
//
// A study compares columns: the learner without noise, the noise as the paper prints it (which is
// not private), and sound calibrations. Data and noise come from seeds, so that a study gives the
// same numbers on every machine; with Secure the noise comes from the system's generator instead.
//
// The clips of the tight columns were set with knowledge of the generator. In practice they must
// come from public knowledge. lab/docs/privacy-learners.md has the tables.
package privacy
