// Package memlog is an event log in memory. It keeps the contract of [eventlog.Log], so that tests
// of a program that writes to a log need no disk, and can let the log fail:
//
//	storage := memlog.NewStorage()
//	log, err := storage.Open(eventlog.DefaultOptions())
//	storage.Break(3, false) // the third change from now on fails
//
// A [Storage] stands for what survives a process. A log is opened in it as in a directory, and
// [Storage.Crash] ends a log as a kill does. What was acknowledged is in the storage; whether an
// append that failed is in it too is decided in turn, so that a program meets both outcomes.
//
// [Storage.Join] opens further logs in one storage, as the nodes of a cluster share a replicated
// log, and [Leases] is their lease. [Log.Cut] cuts one of them off.
package memlog
