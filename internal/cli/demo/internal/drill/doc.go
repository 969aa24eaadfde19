// Package drill lets three nodes of the decision service work, kills them with SIGKILL one after
// the other, and checks afterwards that nothing was lost.
//
// The nodes are processes of "noregret serve --cluster" on loopback addresses, with the NATS
// servers of their log in them. Simulated visitors go to random nodes: a visitor is decided for,
// exposed, and reports what happened. A report without an answer, or with 503, is sent again to any
// node until one acknowledges it, so that it may arrive several times. One acknowledged report in
// ten is sent once more.
//
//	c, err := drill.Start(ctx, drill.Options{Program: "noregret", Dir: dir, Kills: 4, Seed: 1})
//	...
//	defer c.Close()
//	r, err := c.Run(ctx)
//	...
//	err = r.Fault() // what broke a promise, nil for nothing
//
// What counts is asked of the nodes, not of the visitors: the log says which reports it has, and
// the state, whose digest is the same on all nodes, says how many it has counted. [Result.Fault]
// compares both with what was acknowledged. [Cluster.History] has every call with its times, for a
// checker of linearizability.
package drill
