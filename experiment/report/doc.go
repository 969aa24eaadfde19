// Package report explains reports of experiments to people.
//
// [Headline] says in one sentence what an experiment has gained, whether its guardrails hold, and
// what to do next. The functions are pure: they read a report and its definition, keep no state,
// and nothing of them is part of a digest. So they can change without changing what the log means.
package report
