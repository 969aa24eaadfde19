// Package box learns a mixture of points of a box, for settings that vary continuously instead of a
// fixed list of arms. It adds arms by column generation to the learner of package confident.
package box
