package server

import (
	"errors"
	"math"
	"os"
	"path/filepath"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/experiment/join"
	"github.com/noregret/noregret/internal/pages"
	"github.com/noregret/noregret/server/internal/access"
)

// need is what the units of an experiment that wait use: rows, which may be in the file, and what
// must be in memory.
type need struct{ rows, fixed int64 }

// openRoom returns the pool of the units that wait, nil if they have no file. It removes the file
// that a crash has left. The file is scratch: a restart makes the units anew from the log.
func openRoom(c *Config) *pages.Pool {
	path := filepath.Join(c.Data, "open.pages")
	_ = eventlog.RemoveScratch(c.FS, path) // on a disk that takes no writes it stays
	if c.OpenDisk == 0 {
		return nil
	}
	return pages.NewPool(c.OpenMemory, c.OpenDisk, func() (pages.File, error) {
		return eventlog.CreateScratch(c.FS, path)
	})
}

// closeRoom closes and removes the file of a pool.
func closeRoom(c *Config, pool *pages.Pool) error {
	if pool == nil {
		return nil
	}
	if err := pool.Close(); err != nil {
		return err
	}
	err := eventlog.RemoveScratch(c.FS, filepath.Join(c.Data, "open.pages"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// measure notes how much the units of an experiment use. Only the writer calls it.
func (i *intake) measure(name string) {
	rows, fixed := i.live.state.OpenBytes(name)
	i.mu.Lock()
	defer i.mu.Unlock()
	old := i.needs[name]
	i.waiting.Add(rows + fixed - old.rows - old.fixed)
	i.fixed += fixed - old.fixed
	if i.needs[name] = (need{rows, fixed}); rows+fixed == 0 {
		delete(i.needs, name)
	}
	if i.pool != nil && fixed != old.fixed {
		i.pool.SetLimit(max(i.memory-i.fixed, i.memory/2))
	}
}

// shortageOf says of what there is no more.
type shortageOf int

const (
	allRoom    shortageOf = iota // memory and disk
	onlyMemory                   // memory, while the disk takes no units
	fixedRoom                    // memory for what cannot be in the file
	openShare                    // the token's share
)

// room returns for how many units of an experiment there is room, what there is too little of for
// more, and how many units of the access token wait. The intake is locked.
func (i *intake) room(p *access.Principal, name string, d *definition.Definition,
) (units int64, of shortageOf, used int64) {
	each := experiment.UnitBytes(d)
	units = (i.memory + i.disk - i.waiting.Load() - i.held) / each
	if i.pool != nil && i.pool.Err() != nil {
		if n := (i.memory - i.pool.Stats().Memory - i.held) / each; n < units {
			units, of = n, onlyMemory
		}
	}
	if i.disk > 0 && i.needs[name].fixed > 0 && i.fixed >= i.memory/2 {
		units, of = 0, fixedRoom
	}
	if p == nil {
		return units, of, 0
	}
	key := opener{p.Name, name}
	used = i.holds[key]
	if o := i.opened[key]; o != nil {
		o.advance(i.now())
		used += o.sum()
	}
	most := int64(math.Max(p.OpenShare*float64(min(d.OpenTokens, (i.memory+i.disk)/each)), 1))
	if most-used < units {
		units, of = most-used, openShare
	}
	return units, of, used
}

// full returns the error for units without room. Used units of the access token wait.
func (i *intake) full(of shortageOf, p *access.Principal, used int64) error {
	switch of {
	case onlyMemory:
		return noregret.BadInputf("open_memory", "the units that wait for feedback use %d MiB of "+
			"memory, the maximum of the service, and cannot be written to the disk", i.memory>>20)
	case fixedRoom:
		return noregret.BadInputf("open_memory", "the contexts and identifiers of the units that wait for feedback "+
			"use %d MiB, the maximum of the service", i.memory>>21)
	case openShare:
		return noregret.BadInputf("open_share",
			"%d units of the access token %q wait for feedback, its share of the maximum", used, p.Name)
	}
	return noregret.BadInputf("open_memory",
		"the units that wait for feedback use %d MiB, the maximum of the service", (i.memory+i.disk)>>20)
}

// reserve keeps room for up to want units of an experiment until release is called. If it is for
// fewer, full is the reason.
func (i *intake) reserve(p *access.Principal, name string, want int) (got int, release func(), full error) {
	d, err := i.live.Definition(name) // the writer takes the lock of the state first, too
	if err != nil {
		return want, func() {}, nil // the fold refuses them
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	units, of, used := i.room(p, name, d)
	if got = int(max(min(int64(want), units), 0)); got < want {
		full = i.full(of, p, used)
	}
	bytes := int64(got) * experiment.UnitBytes(d)
	key := opener{experiment: name}
	if p != nil {
		key.token = p.Name
	}
	i.held += bytes
	i.holds[key] += int64(got)
	return got, func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.held -= bytes
		if i.holds[key] -= int64(got); i.holds[key] == 0 {
			delete(i.holds, key)
		}
	}, full
}

// admit removes the items of an event that must not begin to wait for feedback and calls refuse for
// each of them, with its index. The room of the others is kept until release is called.
func (i *intake) admit(p *access.Principal, e *join.Units, refuse func(k int, err error)) (release func()) {
	_, release, full := i.reserve(p, e.Experiment, len(e.Items))
	if full == nil {
		return release
	}
	release()
	waits, begin := i.waits(e)
	got, release, full := i.reserve(p, e.Experiment, begin)
	kept := e.Items[:0]
	for k := range e.Items {
		switch {
		case waits[k]:
		case got > 0:
			got--
		default:
			e.Rejected++
			refuse(k, full)
			continue
		}
		kept = append(kept, e.Items[k])
	}
	e.Items = kept
	return release
}

// waits reports which units of an event wait for feedback already, and how many do not. It keeps
// units that cannot be read back, as the writer then refuses the event as a whole.
func (i *intake) waits(e *join.Units) (waits []bool, begin int) {
	i.live.mu.RLock()
	defer i.live.mu.RUnlock()
	waits = make([]bool, len(e.Items))
	for k := range e.Items {
		already, err := i.live.state.Waits(e.Experiment, &e.Items[k])
		if err != nil {
			i.live.lost(err)
		}
		if waits[k] = already || err != nil; !waits[k] {
			begin++
		}
	}
	return waits, begin
}

// retry tries again to write units to the file, if that has failed.
func (i *intake) retry() {
	if i.pool != nil && i.pool.Err() != nil {
		i.pool.Retry()
	}
}

// shortage returns the problem of memory or disk that runs out, or "". The intake may be locked.
func (i *intake) shortage() string {
	switch {
	case i.pool != nil && i.pool.Err() != nil:
		return "memory: units that wait for feedback cannot be written to the disk; if they need more than the " +
			"memory for them, no further units are counted"
	case i.waiting.Load() > (i.memory+i.disk)/10*8:
		return "memory: the units of all experiments that wait for feedback use more than 80 % of what the " +
			"service has for them; at 100 % no further units are counted"
	}
	return ""
}
