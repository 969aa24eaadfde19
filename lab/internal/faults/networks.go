package faults

import (
	"context"
	"errors"
	"os"
	"time"
)

// cut cuts off a machine until the other two have gone on without it: what it sends is lost, or
// what is sent to it, or both. Clients reach it all the time.
func cut(leader, out, in bool) func(context.Context, *cluster, *load) error {
	return func(ctx context.Context, c *cluster, l *load) error {
		i, err := pick(ctx, c.streams, leader)
		if err != nil {
			return err
		}
		all := func(do func(from, to int) error) (err error) {
			for j := range c.machines {
				if out && j != i {
					err = errors.Join(err, do(i, j))
				}
				if in && j != i {
					err = errors.Join(err, do(j, i))
				}
			}
			return err
		}
		if err := all(c.cut); err != nil {
			return err
		}
		return errors.Join(l.flows(ctx), all(c.mend))
	}
}

// cutAll cuts all machines off from each other: nobody has a majority.
func cutAll(ctx context.Context, c *cluster, _ *load) error {
	all := func(do func(from, to int) error) (err error) {
		for i := range c.machines {
			for j := range c.machines {
				if i != j {
					err = errors.Join(err, do(i, j))
				}
			}
		}
		return err
	}
	if err := all(c.cut); err != nil {
		return err
	}
	pause(ctx, 5*time.Second)
	return all(c.mend)
}

// flap sets the link of a machine down and up.
func flap(ctx context.Context, c *cluster, _ *load) error {
	i, err := c.streams(ctx)
	if err != nil {
		return err
	}
	for range 10 {
		for _, state := range []string{"down", "up"} {
			if err := c.link(i, state); err != nil {
				return err
			}
			pause(ctx, 500*time.Millisecond)
		}
	}
	return nil
}

// full takes all the room of a server's disk, until the others have gone on for a while, and starts
// the server again with room.
func full(leader bool) func(context.Context, *cluster, *load) error {
	return func(ctx context.Context, c *cluster, l *load) error {
		i, err := pick(ctx, c.streams, leader)
		if err != nil {
			return err
		}
		m := c.machines[i]
		if err := m.fill(); err != nil {
			return err
		}
		for range 20 {
			if err := l.flows(ctx); err != nil {
				return err
			}
		}
		m.server.kill()
		if err := os.Remove(m.ballast()); err != nil {
			return err
		}
		return c.restart(ctx, m)
	}
}
