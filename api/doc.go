// Package api has the JSON forms of the decision service: the bodies of its requests and answers
// that server, client and command share. docs/service.md describes the calls. Package policy has
// what decides. Package api imports no other module.
//
//   - Deciding: a [UnitContext] asks for a unit, a [Decision] answers.
//   - Reporting: a [FeedbackItem] reports an exposure or metrics by the token of a decision; a
//     source of high volume sends sums, an [Aggregate]. A [FeedbackResult] says what counts.
//   - Changing: [Applied] answers a definition, with a [Preview] if nothing was to be changed.
//   - Reading: a [Summary] in a list, the [Report] of an experiment with its [Lift], the
//     [Explanation] of a decision, the [Audit] trail, the [Alerts].
//   - Failing: every error is a [Problem].
//
// The types hold data. Their few methods count results and select parts of lists. Numbers that are
// not known are null, and times are in RFC 3339 form.
//
// The schemas of the OpenAPI document are made of these types (internal/typeschema): the comments
// are descriptions, and tags beside json have the bounds and the values of fields.
package api
