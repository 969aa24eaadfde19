// Package definition reads and checks what an experiment is: its arms, metrics, objective,
// guardrails and schedule.
//
// [Parse] reads a [Definition] from YAML or JSON, fills in the defaults and refuses what breaks a
// rule; the place of its errors is file, line and path. It makes no learner and changes nothing, so
// a definition can be checked anywhere, such as in a command before anything is sent. What it
// accepts can begin. docs/formats/definition.md explains every field, and [Schema] is the JSON
// Schema.
package definition
