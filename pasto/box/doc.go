// Package box looks for a mixture of points of a box: settings that vary continuously in place of a
// given list of arms.
//
// Settings that are close have similar effects, so a [Learner] fits one smooth surface for each
// metric, a Gaussian process with a quadratic trend, to the observations at all points in use. A
// point's neighbours then inform it too, and points that have never been served can be compared
// with those in use. The learner serves the mixture that is best by a cautious bound on the
// surfaces, and beside it, with a share that falls as they become known, the mixture that an
// optimistic bound makes best. Points that either mixture needs are added; an optimal mixture of M
// metrics has at most M + 1.
//
// The learner deploys about as much of the gain as is known to be there: lab/docs/pasto.md compares
// it with a quadratic response surface on random problems. The means must not drift; what all
// groups of a round have in common, such as a season, cancels.
package box
