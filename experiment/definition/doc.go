// Package definition reads and checks definitions of experiments: arms, metrics, objective,
// guardrails and schedule.
//
// [Parse] reads a [Definition] from YAML or JSON, fills in the defaults and returns an error if a
// rule is broken, with file, line and path as its place. It makes no learner, so a definition can
// be checked anywhere, such as in a command before anything is sent. An experiment can begin with
// every definition that Parse accepts. docs/formats/definition.md explains every field, and
// [Schema] is the JSON Schema.
package definition
