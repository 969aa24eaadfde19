package faults

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/internal/atomicfile"
)

// The processes of one machine share its clock. So that some can have another one, they are
// compiled with a package time whose wall clock is ahead of the machine's by the seconds that a
// file says. Nothing else of the programs changes: times elapse, and timers end, as they do on a
// machine whose clock is set.

// aheadVariable names the file of a process that says by how many seconds its clock is ahead. The
// process reads it when it starts and then every 10 ms.
const aheadVariable = "LAB_FAULTS_AHEAD"

// aheadSource is the file that package time gets in addition.
//
//go:embed ahead.go.txt
var aheadSource string

// An overlay adds to the function of package time that reads the wall clock for all others.
const (
	readsWall = "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n"
	addsAhead = "\tsec += ahead.Load()\n"
)

// overlay writes, into dir, the replacement of package time in the Go tree at root, and returns the
// value of the flag -overlay of go build.
func overlay(dir, root string) (name string, err error) {
	file := func(name string) string { return filepath.Join(root, "src", "time", name) }
	b, err := os.ReadFile(file("time.go"))
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(b), readsWall); n != 1 {
		return "", noregret.Errorf(noregret.Internal, file("time.go"), "it has %q %d times: want it once, "+
			"as the clock of a program is set there; this release of Go has another package time", readsWall, n)
	}
	replaced := map[string]string{
		"time.go":  strings.Replace(string(b), readsWall, readsWall+addsAhead, 1),
		"ahead.go": aheadSource,
	}
	paths := map[string]string{}
	for name, text := range replaced {
		paths[file(name)] = filepath.Join(dir, name)
		if err := os.WriteFile(paths[file(name)], []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	if b, err = json.Marshal(map[string]any{"Replace": paths}); err != nil {
		return "", err
	}
	name = filepath.Join(dir, "overlay.json")
	return name, os.WriteFile(name, b, 0o600)
}

// setAhead writes the file that a process reads.
func setAhead(name string, ahead time.Duration) error {
	return atomicfile.WriteBytes(name, []byte(strconv.FormatInt(int64(ahead/time.Second), 10)))
}

// stepped is how long a clock stays as it is set: some times as long as the lease lasts, and the
// nodes look at it.
const stepped = 6 * time.Second

// set sets the clock of a process of a machine, and waits until its answers have the time of it.
func (c *cluster) set(ctx context.Context, m *machine, p *process, ahead time.Duration) error {
	if err := setAhead(p.ahead, ahead); err != nil {
		return err
	}
	port := 2
	if p == m.node {
		port = 3
	}
	return until(ctx, fmt.Sprintf("the clock of %s is ahead by %v", p.name, ahead), func() error {
		at, err := c.date(ctx, "http://"+m.at(port)+"/healthz")
		if off := time.Until(at) - ahead; err == nil && off.Abs() > 10*time.Second {
			err = fmt.Errorf("it is ahead of that by %v", off)
		}
		return err
	})
}

// hold lets a clock be as it is set for some time, and waits until feedback is acknowledged then.
func (l *load) hold(ctx context.Context) error {
	pause(ctx, stepped)
	return l.flows(ctx)
}

// writable waits until all nodes are ready, and take what is stored.
func (c *cluster) writable(ctx context.Context) error {
	for i := range c.machines {
		for _, path := range []string{"/readyz", "/readyz/writes"} {
			if err := until(ctx, c.machines[i].node.name+" is ready", func() error {
				return c.call(ctx, i, "GET", path, "", nil)
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

// date returns the time that an answer has.
func (c *cluster) date(ctx context.Context, url string) (at time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "GET", url, nil)
	if err != nil {
		return at, err
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return at, err
	}
	_ = resp.Body.Close() // the header is all of it that counts
	return http.ParseTime(resp.Header.Get("Date"))
}

// stepClock sets the clock of a process ahead by an hour, back by two, and right again, while it
// runs.
func stepClock(search func(*cluster, context.Context) (int, error), found bool, of func(*machine) *process,
) func(context.Context, *cluster, *load) error {
	return func(ctx context.Context, c *cluster, l *load) error {
		return c.onTime(ctx, func() error {
			i, err := pick(ctx, func(ctx context.Context) (int, error) { return search(c, ctx) }, found)
			if err != nil {
				return err
			}
			m := c.machines[i]
			for _, ahead := range []time.Duration{time.Hour, -time.Hour, 0} {
				if err := c.set(ctx, m, of(m), ahead); err != nil {
					return err
				}
				if err := errors.Join(l.hold(ctx), c.writable(ctx)); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// stepHandover kills the node that leads, and sets the clock of the server that leads the bucket of
// the lease before the lease ends: another node must lead.
func stepHandover(ahead time.Duration) func(context.Context, *cluster, *load) error {
	return func(ctx context.Context, c *cluster, l *load) error {
		return c.onTime(ctx, func() error {
			i, err := c.leases(ctx)
			if err != nil {
				return err
			}
			leader, err := c.leads(ctx)
			if err != nil {
				return err
			}
			m, n := c.machines[i], c.machines[leader].node
			n.kill()
			if err := c.set(ctx, m, m.server, ahead); err != nil {
				return err
			}
			if err := l.hold(ctx); err != nil {
				return err
			}
			if err := n.start(); err != nil {
				return err
			}
			if err := c.writable(ctx); err != nil {
				return err
			}
			return c.set(ctx, m, m.server, 0)
		})
	}
}

// startOff kills the node that leads and starts it again with another clock. Then it kills the node
// that leads meanwhile: the third one must lead.
func startOff(ahead time.Duration) func(context.Context, *cluster, *load) error {
	return func(ctx context.Context, c *cluster, l *load) error {
		return c.onTime(ctx, func() error {
			off, err := c.leads(ctx)
			if err != nil {
				return err
			}
			wrong := c.machines[off].node
			restart := func(ahead time.Duration) error {
				wrong.kill()
				if err := l.flows(ctx); err != nil {
					return err
				}
				if err := setAhead(wrong.ahead, ahead); err != nil {
					return err
				}
				return wrong.start()
			}
			if err := restart(ahead); err != nil {
				return err
			}
			if err := until(ctx, wrong.name+" says that its clock is wrong", func() error {
				err := c.call(ctx, off, "GET", "/readyz", "", nil)
				if err != nil && strings.Contains(err.Error(), "this node's clock is") {
					return nil
				}
				return fmt.Errorf("it is ready, or not for another reason: %w", err)
			}); err != nil {
				return err
			}
			if err := l.hold(ctx); err != nil {
				return err
			}
			if err := killNode(true)(ctx, c, l); err != nil {
				return err
			}
			now, err := c.leads(ctx)
			if err == nil && now == off {
				err = errors.New(wrong.name + " leads with a wrong clock")
			}
			if err == nil {
				err = restart(0)
			}
			if err != nil {
				return err
			}
			return c.writable(ctx)
		})
	}
}

// mostOff is by how much the time of an event may be before the fault during which it was appended,
// or after its end: a node does not lead with another clock than that of the servers, up to two
// seconds, and follows a step by a hundredth of the time that passes.
const mostOff = 4 * time.Second

// onTime returns an error if events that are appended during a fault have other times than those at
// which they were, or do not keep their order.
func (c *cluster) onTime(ctx context.Context, run func() error) error {
	begin, first := time.Now(), uint64(0)
	if err := c.read(ctx, 0, func(r eventlog.Record) error {
		first = r.Position
		return nil
	}); err != nil {
		return err
	}
	if err := run(); err != nil {
		return err
	}
	last := begin.Add(-mostOff)
	return c.read(ctx, 0, func(r eventlog.Record) error {
		if r.Position <= first {
			return nil
		}
		at := time.Unix(0, r.Time)
		if at.Before(last) || at.After(time.Now().Add(mostOff)) {
			return fmt.Errorf("event %d (%s) has the time %v: want %v at least and %v at most", r.Position, r.Kind, at,
				last, time.Now().Add(mostOff))
		}
		last = at
		return nil
	})
}
