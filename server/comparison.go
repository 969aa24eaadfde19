package server

import (
	"maps"
	"slices"
	"sync"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/experiment"
)

// comparison compares the state of a node with that of the node that leads. Every event of
// [experiment.KindDigest] marks a position, whose digest the next event of the kind tells. The
// nodes compute it meanwhile.
type comparison struct {
	every   uint64 // events between two marks
	differs func(err error)
	running sync.WaitGroup

	mu   sync.Mutex
	last uint64            // the latest mark; 0 for none
	busy bool              // a digest is being computed
	own  map[uint64]string // by mark, of the latest ones
	told map[uint64]string // likewise, what the node that leads has told
}

// newComparison returns the comparison; differs gets the error of a state that is another one.
func newComparison(every uint64, differs func(err error)) *comparison {
	return &comparison{every: every, differs: differs, own: map[uint64]string{}, told: map[uint64]string{}}
}

// mostMarks bounds the marks whose digests are kept.
const mostMarks = 8

// mark notes an event of [experiment.KindDigest] that was the last one applied. The writer calls
// it.
func (d *comparison) mark(state *experiment.State, e experiment.DigestEvent) error {
	if e.Digest != "" {
		d.note(d.told, e.Position, e.Digest)
	}
	at := state.Position()
	d.mu.Lock()
	busy := d.busy
	d.last, d.busy = at, true
	d.mu.Unlock()
	if busy {
		return nil // this mark is not compared
	}
	frozen, err := state.Freeze()
	if err != nil {
		return err
	}
	d.running.Go(func() {
		digest, err := frozen.Digest()
		d.mu.Lock()
		d.busy = false
		d.mu.Unlock()
		if err == nil { // the next mark is computed anew
			d.note(d.own, at, digest)
		}
	})
	return nil
}

// note notes a digest in one of the maps, and compares it with that in the other one.
func (d *comparison) note(in map[uint64]string, position uint64, digest string) {
	d.mu.Lock()
	in[position] = digest
	for len(in) > mostMarks {
		delete(in, slices.Min(slices.Collect(maps.Keys(in))))
	}
	own, told := d.own[position], d.told[position]
	d.mu.Unlock()
	if own != "" && told != "" && own != told {
		d.differs(noregret.Errorf(noregret.Internal, "state", "the digest at position %d is %.16s, and that of the "+
			"node that led was %.16s", position, own, told))
	}
}

// due returns the event that the node that leads appends next, and whether it is time for it.
func (d *comparison) due(position uint64) (e experiment.DigestEvent, due bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if position < d.last+d.every || d.busy {
		return e, false
	}
	if e.Digest = d.own[d.last]; e.Digest != "" {
		e.Position = d.last
	}
	return e, true
}

// stateDiffers is the message of an outage that a restart does not end, unless the state begins
// anew.
const stateDiffers = "the state of this node is not that of the node that leads: it stops; keep its data directory, " +
	"and start it with one that has only its keys.json"

// mark notes an event of [experiment.KindDigest] that was applied.
func (w *writer) mark(e experiment.Event) error {
	d, err := experiment.OpenDigest(e)
	if err != nil {
		return nil // the fold has refused it
	}
	return w.digests.mark(w.live.state, d)
}

// compare appends an event of [experiment.KindDigest], if it is time for it, and returns its bytes.
func (w *writer) compare() (added int) {
	if w.node == nil || !w.leads.Load() || w.refusal() != nil {
		return 0
	}
	d, due := w.digests.due(w.live.state.Position())
	if !due {
		return 0
	}
	e, err := experiment.NewEvent(experiment.KindDigest, w.time(), d)
	if err != nil {
		return 0 // a number and a text can always be written
	}
	c := &command{made: true, answered: true, events: []experiment.Event{e}}
	if _, ok := w.store([]*command{c}); !ok {
		return 0
	}
	return sizeOf(c.events)
}
