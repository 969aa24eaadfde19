// Package cli is the command noregret: [Root] joins the groups of commands, which are packages of
// their own.
//
//	service    serve, experiment, log, alerts, audit, backup, restore
//	policy     evaluate-policy, doctor, plan
//	train      train, evaluate, predict, inspect, compare, cache, generate, algorithms, measures
//	play       play, learners, games, simulate
//	privacy    privacy plan, ledger and audit
//	demo       demo
//
// They stand on packages that know no command: command (what a command is, and how a tree of them
// runs), show (tables, numbers, JSON, pictures), files (checks of the files of a command line),
// dataflags and logflags (the flags of reading, and the reading), and budgets (privacy ledgers). A
// group imports no other group, so that each is built and tested alone; package clitest runs the
// commands of one.
package cli
