// Package dataflags has the flags of commands that read examples, and reads the examples as they
// say: svmlight, CSV, JSON lines, IDX or the binary cache, from files or standard input. It says on
// standard error which defaults were chosen for flags that were left out, and what was skipped.
//
// A command that learns the feature space from its data has all flags ([Flags.Register]); one that
// applies a model has those that the model does not determine ([Flags.RegisterWithModel]).
package dataflags
