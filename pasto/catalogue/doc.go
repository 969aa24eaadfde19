// Package catalogue lists the learners of package pasto by name and makes them: the default, the
// paper's algorithm and its variants, and the baselines that look for a single arm.
package catalogue
