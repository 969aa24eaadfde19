// Package box looks for a mixture of points of a box: settings that vary continuously in place of a
// given list of arms. It is column generation on top of the learner of package confident.
package box
