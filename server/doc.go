// Package server is the decision service: HTTP around the fold of package experiment and the log of
// package eventlog.
//
//	s, err := server.New(server.DefaultConfig("data"))
//	l, err := s.Listen("127.0.0.1:8430")
//	err = s.Serve(ctx, l, nil, 30*time.Second) // until ctx ends; drains and closes
//
// # Where things are
//
// [Server] puts the parts together; each is a type with one job:
//
//   - writer appends groups of events to the log and folds them into the state.
//   - snapshotter saves snapshots of the state and drops old events.
//   - liveState answers questions about the state, under a read lock, with immutable values.
//   - policyTable holds the policies in force. Reading it takes no lock.
//   - experimentAPI, decisionAPI, feedbackAPI, logAPI and operationsAPI serve the API. A route is
//     an entry in the routes method of one of them. The OpenAPI document, openapi.json, is made of
//     these entries and of the types of their bodies.
//   - middleware authorizes requests, limits them and counts them; router finds their routes.
//
// Below server/internal, package dashboard has the pages, package access the access tokens, and
// package web what the API and the pages share.
//
// # How it works
//
// One goroutine, the writer, appends events to the log and folds them into the state, in order.
// Requests that write hand it a command and wait: it takes all waiting commands, appends them as
// one group with one flush of the disk, applies them, and answers. An answer therefore means that
// the events are durable, and their order is that of the log. Requests that change an experiment
// are checked against a copy of it before they become events.
//
// Deciding reads the table of policies, whose entries are replaced one by one: no lock, no write,
// no other goroutine.
//
// The state is recovered from the latest snapshot and the events after it ([Recover]). It is the
// same, bit for bit, as the fold of the whole log.
package server
