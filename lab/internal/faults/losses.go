package faults

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/eventlog/jetstream"
)

// power lets all servers lose their power at once, and starts them again. If they flush only now
// and then, the nodes must notice that what was acknowledged is lost.
func power(ctx context.Context, c *cluster, l *load) error {
	for _, m := range c.machines {
		if err := m.losePower(); err != nil {
			return err
		}
	}
	for _, m := range c.machines {
		m.server.kill()
		if err := m.unmount(); err != nil {
			return err
		}
		if err := m.mount(); err != nil {
			return err
		}
	}
	for _, m := range c.machines {
		if err := m.server.start(); err != nil {
			return err
		}
	}
	for _, m := range c.machines {
		if err := c.healthy(ctx, m); err != nil {
			return err
		}
	}
	if c.sync == "always" {
		return l.flows(ctx)
	}
	lines := map[string]bool{}
	err := until(ctx, "all nodes stop, as what was acknowledged is lost", func() error {
		for _, m := range c.machines {
			said := m.node.said("what was acknowledged may be lost")
			if len(said) == 0 {
				return errors.New(m.node.name + " says nothing")
			}
			_, text, _ := strings.Cut(said[len(said)-1], "replaced: ")
			text, _, _ = strings.Cut(text, ";")
			lines[text] = true
		}
		return nil
	})
	if err != nil {
		return err
	}
	_, err = c.js.Stream(ctx, stream)
	return &lostError{slices.Sorted(maps.Keys(lines)), errors.Is(err, natsjs.ErrStreamNotFound)}
}

// lostError says that the nodes have noticed a loss, and how they have named it. The cluster is at
// its end.
type lostError struct {
	said []string
	all  bool // the stream is gone
}

func (e *lostError) Error() string { return "all nodes have stopped: " + strings.Join(e.said, "; ") }

// flip flips a bit in the middle of a file.
func flip(b []byte) []byte {
	b[len(b)/2] ^= 1
	return b
}

// truncate cuts off the second half of a file.
func truncate(b []byte) []byte { return b[:len(b)/2] }

// damaged are the words of a server about files that are not as it left them.
var damaged = []string{"corrupt", "rebuild", "outdated", "mismatch"}

// damage changes the files of a replica of the log while its server is down, reads the whole log
// through that server, and then lets it copy everything anew from the others.
func damage(change func([]byte) []byte) func(context.Context, *cluster, *load) error {
	return func(ctx context.Context, c *cluster, l *load) error {
		i, err := pick(ctx, c.streams, false)
		if err != nil {
			return err
		}
		m := c.machines[i]
		m.server.kill()
		blocks, err := filepath.Glob(filepath.Join(m.disk(), "jetstream", "$G", "streams", stream, "msgs", "*.blk"))
		if err != nil || len(blocks) == 0 {
			return fmt.Errorf("%d blocks, %w", len(blocks), err)
		}
		for _, name := range blocks {
			b, err := os.ReadFile(name)
			if err == nil && len(b) > 0 {
				err = os.WriteFile(name, change(b), 0o600)
			}
			if err != nil {
				return err
			}
		}
		warned := len(m.server.said(damaged...))
		if err := c.restart(ctx, m); err != nil {
			return err
		}
		l.note(fmt.Sprintf("the server says so %d times", len(m.server.said(damaged...))-warned))
		events := 0
		if err := c.read(ctx, i, func(eventlog.Record) error {
			events++
			return nil
		}); err != nil {
			return fmt.Errorf("reading through the damaged server: %w", err)
		}
		l.note(fmt.Sprintf("a reader at the damaged server gets all %d events", events))
		m.server.kill()
		if err := os.RemoveAll(filepath.Join(m.disk(), "jetstream")); err != nil {
			return err
		}
		return c.restart(ctx, m)
	}
}

// read reads the log of the nodes by a client of one server only, which answers itself what it can.
// It checks that no event is missing.
func (c *cluster) read(ctx context.Context, i int, visit func(eventlog.Record) error) (err error) {
	o := jetstream.DefaultOptions()
	o.Stream, o.Servers = stream, c.servers(i)[:1]
	o.Connect = []nats.Option{nats.IgnoreDiscoveredServers()}
	if o.Dir, err = os.MkdirTemp(c.dir, "reader"); err != nil {
		return err
	}
	log, err := jetstream.Open(ctx, o, eventlog.DefaultOptions())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	stats := log.Stats()
	next := stats.First
	for r, err := range log.Read(ctx, next) {
		if err == nil && r.Position != next {
			err = fmt.Errorf("position %d in the place of %d", r.Position, next)
		}
		if err == nil {
			err = visit(r)
		}
		if err != nil {
			return err
		}
		next++
	}
	if next <= stats.Last {
		return fmt.Errorf("the reader ends before position %d of %d", next, stats.Last)
	}
	return nil
}
