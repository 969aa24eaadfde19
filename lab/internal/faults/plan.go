package faults

import (
	"context"
	"fmt"
	"time"
)

// fault is something that is brought about and ended, while clients send feedback.
type fault struct {
	name, about string
	needs       need
	run         func(ctx context.Context, c *cluster, l *load) error
}

// need is what a fault needs beside the programs.
type need int

const (
	nothing need = iota
	spaces       // networks and disks of the machines' own
	clocks       // programs that are compiled with clocks of their own
)

// faults are all faults, in the order in which they are tried.
func faults() []fault {
	return []fault{
		{"kill-node", "kill -9 of the node that leads", nothing, killNode(true)},
		{"kill-follower", "kill -9 of a node that follows", nothing, killNode(false)},
		{"kill-server", "kill -9 of the server that leads the stream", nothing, killServer(true)},
		{"kill-replica", "kill -9 of another server", nothing, killServer(false)},
		{"kill-servers", "kill -9 of all servers at once", nothing, killAll(func(m *machine) []*process {
			return []*process{m.server}
		})},
		{"kill-all", "kill -9 of all servers and nodes at once", nothing, killAll((*machine).processes)},
		{"stall-node", "SIGSTOP of the node that leads, until another one does: two leaders", nothing, stallNode},
		{"stall-server", "SIGSTOP of the server that leads the stream, until another one does", nothing, stallServer},
		{"cut-leader", "the machine whose server leads the stream is cut off", spaces, cut(true, true, true)},
		{"cut-replica", "another machine is cut off", spaces, cut(false, true, true)},
		{"cut-out", "what the leading server's machine sends is lost", spaces, cut(true, true, false)},
		{"cut-in", "what is sent to the leading server's machine is lost", spaces, cut(true, false, true)},
		{"cut-all", "all machines are cut off from each other, for 5 s", spaces, cutAll},
		{"flap", "the link of the leading server's machine goes down and up ten times, .5 s each", spaces, flap},
		{"full-leader", "the disk of the server that leads the stream is full", spaces, full(true)},
		{"full-replica", "the disk of another server is full", spaces, full(false)},
		{"flip", "a bit of each block of a replica flips, while its server is down", nothing, damage(flip)},
		{
			"cut-block", "half of each block of a replica is cut off, while its server is down", nothing,
			damage(truncate),
		},
		{
			"step-node", "the clock of the node that leads is set, an hour ahead and back",
			clocks, stepClock((*cluster).leads, true, (*machine).theNode),
		},
		{
			"step-follower", "the clock of a node that follows is set, an hour ahead and back",
			clocks, stepClock((*cluster).leads, false, (*machine).theNode),
		},
		{
			"step-server", "the clock of the server that leads the stream is set, an hour ahead and back",
			clocks, stepClock((*cluster).streams, true, (*machine).theServer),
		},
		{
			"step-lease", "the clock of the server that leads the bucket of the lease is set in the same way",
			clocks, stepClock((*cluster).leases, true, (*machine).theServer),
		},
		{
			"step-other", "the clock of a server that does not lead that bucket is set in the same way",
			clocks, stepClock((*cluster).leases, false, (*machine).theServer),
		},
		{
			"lease-ahead", "kill -9 of the node that leads, and that bucket's server goes an hour ahead at once",
			clocks, stepHandover(time.Hour),
		},
		{
			"lease-behind", "kill -9 of the node that leads, and that bucket's server goes an hour back at once",
			clocks, stepHandover(-time.Hour),
		},
		{
			"start-ahead", "kill -9 of the node that leads, which starts again with a clock an hour ahead",
			clocks, startOff(time.Hour),
		},
		{
			"start-behind", "kill -9 of the node that leads, which starts again with a clock an hour behind",
			clocks, startOff(-time.Hour),
		},
		{"power", "all servers lose their power at once", spaces, power},
	}
}

// other returns a machine that is not the one.
func other(i int) int { return (i + 1) % 3 }

// pick returns the machine that a search finds, or another one.
func pick(ctx context.Context, search func(context.Context) (int, error), found bool) (int, error) {
	i, err := search(ctx)
	if !found {
		i = other(i)
	}
	return i, err
}

// restart starts the server of a machine again and waits until it is healthy.
func (c *cluster) restart(ctx context.Context, m *machine) error {
	if err := m.server.start(); err != nil {
		return err
	}
	return c.healthy(ctx, m)
}

// killNode kills a node and starts it again.
func killNode(leader bool) func(context.Context, *cluster, *load) error {
	return func(ctx context.Context, c *cluster, l *load) error {
		i, err := pick(ctx, c.leads, leader)
		if err != nil {
			return err
		}
		n := c.machines[i].node
		n.kill()
		if err := l.flows(ctx); err != nil {
			return err
		}
		if err := n.start(); err != nil {
			return err
		}
		return c.ready(ctx, i)
	}
}

// killServer kills a server and starts it again.
func killServer(leader bool) func(context.Context, *cluster, *load) error {
	return func(ctx context.Context, c *cluster, l *load) error {
		i, err := pick(ctx, c.streams, leader)
		if err != nil {
			return err
		}
		m := c.machines[i]
		m.server.kill()
		if err := l.flows(ctx); err != nil {
			return err
		}
		return c.restart(ctx, m)
	}
}

// killAll kills some processes of all machines, and starts them again.
func killAll(of func(*machine) []*process) func(context.Context, *cluster, *load) error {
	return func(ctx context.Context, c *cluster, _ *load) error {
		for _, m := range c.machines {
			for _, p := range of(m) {
				p.kill()
			}
		}
		for _, m := range c.machines {
			for _, p := range of(m) {
				if err := p.start(); err != nil {
					return err
				}
			}
		}
		for i, m := range c.machines {
			if err := c.healthy(ctx, m); err != nil {
				return err
			}
			if err := c.ready(ctx, i); err != nil {
				return err
			}
		}
		return nil
	}
}

// stallNode stops the node that leads until another one does, and lets it go on: for a moment both
// believe that they lead.
func stallNode(ctx context.Context, c *cluster, l *load) error {
	i, err := c.leads(ctx)
	if err != nil {
		return err
	}
	n := c.machines[i].node
	if err := n.pause(); err != nil {
		return err
	}
	if err := until(ctx, "another node leads", func() error {
		if now, err := c.leads(ctx); err != nil || now == i {
			return fmt.Errorf("node %d, %w", now, err)
		}
		return nil
	}); err != nil {
		return err
	}
	if err := l.flows(ctx); err != nil {
		return err
	}
	return n.resume()
}

// stallServer does the same to the server that leads the stream.
func stallServer(ctx context.Context, c *cluster, l *load) error {
	i, err := c.streams(ctx)
	if err != nil {
		return err
	}
	s := c.machines[i].server
	if err := s.pause(); err != nil {
		return err
	}
	if err := l.flows(ctx); err != nil {
		return err
	}
	return s.resume()
}
