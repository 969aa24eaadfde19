// Package embedded runs a server of NATS JetStream in this process, one of the few that keep the
// replicated log of a cluster of nodes, for those who have no NATS. The process itself uses
// [Server.Connect]. The other nodes know a common password, and have certificates if they speak
// TLS. So do commands that look after the log, if [Options.Clients] says where they reach it, on
// this machine and in the clear. Nobody else can connect to it.
//
// Every acknowledged write is on the disks of a majority of the nodes: the server flushes each one
// (sync_interval: always). A cluster has three or five nodes, which keep their names and addresses.
// After the loss of a disk a node begins with an empty directory and catches up by itself.
//
//	s, err := embedded.Start(ctx, embedded.Options{
//		Cluster: "shop", Node: "n0:6222", Peers: []string{"n0:6222", "n1:6222", "n2:6222"},
//		Password: password, Dir: "data/nats",
//	})
//	...
//	defer s.Close()
//	o := jetstream.DefaultOptions()
//	o.Connect = append(o.Connect, s.Connect())
package embedded
