// Package printed holds the noise of private online Frank–Wolfe as the paper prints it (Han, Liang,
// Liang, Wang, Yao and Zhang, "On Private Online Convex Optimization"), for comparison only.
// Nothing here is private: the printed exponent of the norm and the printed scale of the Gamma
// distribution break the claim, and the noise is drawn from a seed in floating point. It is
// internal so that no program can use it, and unsafe by name. docs/privacy-learners.md lists what
// is wrong.
package printed
