// Package faults breaks a cluster of three machines and looks whether it has kept its promises.
//
// Each machine has a server of NATS, whose JetStream keeps the log in three copies, and a node of
// noregret, all in processes of their own: the programs that users run. While clients send
// feedback to the nodes and append to a second log beside it, a fault is brought about and ended.
// Then the clients wait for the last answer, and four things are checked:
//
//   - Nothing that was acknowledged is lost: all feedback is sent once more, and each item must be
//     a duplicate.
//   - Nothing counts twice: the nodes count as many items as were sent.
//   - The digests of the states of all nodes are the same at the same position.
//   - The history of the second log, as its writers have seen it, is one that a log could have:
//     porcupine looks for an order of all calls that fits their times and their results.
//
// As root on Linux each machine is a network namespace of its own, so that its links can be cut one
// by one and in one direction; the driver runs in namespaces of its own, with which all of it
// ends. Elsewhere the processes share the loopback address, and only those faults are brought about
// that are done to processes.
//
// For faults of clocks the programs are compiled with an overlay of package time: the wall clock of
// each process is ahead of the machine's by what a file says, and its sources are those that users
// compile.
//
// This is a part of the laboratory, not a test of package eventlog/jetstream, which has its own: it
// needs the programs that it runs, Linux, root, and two hours and a half. The module of the
// laboratory pins the server of NATS as a tool, and porcupine, so that the product depends on
// neither.
package faults
