// Package logflags has the flags of commands that read logged decisions, and reads the decisions as
// they say: CSV, JSON lines, the logs of Vowpal Wabbit, or an export of the service.
//
// [Flags.Survey] finds out the number of arms, and [Flags.EachRow] reads the log; both return its
// [Facts].
package logflags
