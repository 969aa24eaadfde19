// Package server is the decision service: HTTP around the fold of package experiment and the log of
// package eventlog.
//
//	s, err := server.New(server.Config{Data: "data"})
//	l, err := s.Listen("127.0.0.1:8430")
//	err = s.Serve(ctx, l, nil, 30*time.Second) // until ctx ends; drains and closes
//
// # How pages get at the data
//
// Add a row to the table in routes.go (method, pattern, role [Read], long for streams, handler) and
// the same path to openapi.yaml, or the test of the routes fails. In the handler:
//
//   - [Server.Experiments] lists names, states and versions.
//   - [Server.Report] is all that is known of one: mixture, arms with intervals, guardrails with limits and
//     intervals, regret against the best single arm, health, the history of versions with their mixtures,
//     values and observed means, and the last events (Notes). [Server.Definition] has units, directions and texts;
//     [Server.Optimum] the best mixture by what is known, with its certificate.
//   - [Server.Explain] says why a decision was what it was.
//   - [Server.Changed] is closed at the next change: the loop of a stream of server-sent events is "write the
//     report, wait for Changed, the request's context or [Server.Draining]".
//
// All of them take a read lock for as long as the report takes to make, and return values that
// nobody changes afterwards.
//
// # How it works
//
// One goroutine, the writer, appends events to the log and folds them into the state, in order.
// Requests that write hand it a command and wait: it takes all that wait, appends them as one group
// with one flush of the disk, applies them, and answers. So an answer means durable, and the
// position in the log is the order. Requests that change an experiment are checked against a copy
// of it before they become events.
//
// Deciding reads one atomic pointer to the table of policies: no lock, no write, no other
// goroutine.
//
// The state is recovered as the latest snapshot and the events behind it ([Recover]); it is the
// same, bit for bit, as the fold of the whole log.
package server
