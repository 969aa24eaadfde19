// Package arch holds the architecture test: the rules of ARCHITECTURE.md that a machine can
// check. It has no code of its own; run it with
//
//	go test ./internal/arch
//
// The rules:
//
//   - The floors. Every package stands on a floor and imports only packages of lower
//     floors, so that each floor can be read, tested and used without those above it. The
//     packages under one top-level directory (dataset and dataset/synth) are one house and may
//     import each other. Tests may look up: a set may be tried out by the referee above.
//     Nothing outside lab, not even a test, imports lab.
//   - Every package has a package comment, every exported name a doc comment.
//   - No cgo: noregret builds for any platform from any other.
//   - A proof is about a deterministic object: on the floors of learners and what they
//     stand on (1 to 5), nothing reads a clock or draws from a global source of
//     randomness; math/rand version 1 is used nowhere.
//   - Only the command ends the process.
//   - Every public package has an example with checked output, and no example imports an internal
//     package. Packages policy and client need no other module.
//   - Lines are not too wide, and links between pages lead to files that exist.
//
// A new top-level directory gets its floor in floors_test.go.
package arch
