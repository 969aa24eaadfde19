package logtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/internal/random"
)

// model is the expected state of the log: all events ever appended, and how many are certain.
type model struct {
	events []eventlog.Event // events[i] is at position i+1
	sure   int              // number of acknowledged events
	groups []int            // ends of the appended groups, to detect torn ones
	base   uint64
	// The base of a failed Compact, which may have taken effect.
	maybeBase uint64
	snapshots map[uint64]string // certainly saved
	maybeSnap map[uint64]string
	// unknown is the group whose append has failed, at the position unknownAt.
	unknown   []eventlog.Event
	unknownAt uint64
}

func newModel() *model {
	return &model{snapshots: map[uint64]string{}, maybeSnap: map[uint64]string{}}
}

// reconcile compares a freshly opened log with the model and resolves what was uncertain.
func (m *model) reconcile(log eventlog.Log) error {
	st := log.Stats()
	if st.Last < uint64(m.sure) || st.Last > uint64(len(m.events)) {
		return fmt.Errorf("it ends at %d, want %d (acknowledged) to %d (tried)", st.Last, m.sure, len(m.events))
	}
	if st.First != m.base+1 && st.First != m.maybeBase+1 {
		return fmt.Errorf("it begins at %d, want %d or %d", st.First, m.base+1, m.maybeBase+1)
	}
	torn := st.Last != 0
	for _, end := range m.groups {
		torn = torn && uint64(end) != st.Last
	}
	if torn {
		return fmt.Errorf("it ends at %d, inside a group: %v", st.Last, m.groups)
	}
	m.cut(int(st.Last))
	m.base = st.First - 1
	m.maybeBase = m.base
	snap, err := log.LatestSnapshot(context.Background())
	if err != nil {
		return err
	}
	want, ok := m.snapshots[snap.Position]
	if maybe, ok2 := m.maybeSnap[snap.Position]; ok2 && string(snap.State) == maybe {
		want, ok = maybe, true
	}
	if snap.Position > 0 && (!ok || want != string(snap.State)) {
		return fmt.Errorf("the snapshot at %d is %q, want %q", snap.Position, snap.State, want)
	}
	for p := range m.snapshots {
		if p > snap.Position {
			return fmt.Errorf("the latest snapshot is at %d, but one was saved at %d", snap.Position, p)
		}
	}
	m.snapshots, m.maybeSnap = map[uint64]string{}, map[uint64]string{}
	if snap.Position > 0 {
		m.snapshots[snap.Position] = string(snap.State)
	}
	return m.compare(log, m.base+1)
}

// cut notes that the log ends at a position.
func (m *model) cut(last int) {
	m.events, m.sure = m.events[:last], last
	for len(m.groups) > 0 && m.groups[len(m.groups)-1] > last {
		m.groups = m.groups[:len(m.groups)-1]
	}
}

// compare reads the log from a position and compares it with the model.
func (m *model) compare(log eventlog.Log, from uint64) error {
	next := from
	for r, err := range log.Read(context.Background(), from) {
		if err != nil {
			return err
		}
		if r.Position != next || int(next) > len(m.events) {
			return fmt.Errorf("position %d, want %d of %d", r.Position, next, len(m.events))
		}
		if want := m.events[next-1]; !same(r.Event, want) {
			return fmt.Errorf("position %d is %+v, want %+v", next, r.Event, want)
		}
		next++
	}
	if int(next) != m.sure+1 {
		return fmt.Errorf("reading ended before %d, want before %d", next, m.sure+1)
	}
	return nil
}

// player runs a random history against the model.
type player struct {
	*rapid.T
	bed     Bed
	log     eventlog.Log
	model   *model
	trace   []string
	lasting bool
	broken  bool // Break was called since the log was opened
	seen    map[string]int
}

func (p *player) did(what string, args ...any) {
	p.seen[what]++
	p.trace = append(p.trace, what+strings.Trim(fmt.Sprintf("%v", args), "[]"))
}

func (p *player) fatal(format string, args ...any) {
	p.Helper()
	p.Fatalf("after %s: %s", strings.Join(p.trace, " "), fmt.Sprintf(format, args...))
}

// draw draws a number from 0 to n-1.
func (p *player) draw(n int, what string) int { return rapid.IntRange(0, n-1).Draw(p.T, what) }

// group draws the events of an append.
func (p *player) group() []eventlog.Event {
	out := make([]eventlog.Event, 1+p.draw(4, "events"))
	for i := range out {
		size := p.draw(40, "size")
		if i == 0 && p.draw(10, "large") == 9 {
			size = 1000 * size // larger than a block of pebble's write-ahead log
		}
		payload := make([]byte, size)
		bits := random.New(rapid.Uint64().Draw(p.T, "payload"), "payload")
		for j := range payload {
			payload[j] = byte(bits.Uint64())
		}
		out[i] = eventlog.Event{
			Kind: rapid.SampledFrom([]string{"a", "b/c", "feedback"}).Draw(p.T, "kind"),
			Time: rapid.Int64().Draw(p.T, "time"), Payload: payload,
		}
	}
	return out
}

// crash ends the log and opens what is left.
func (p *player) crash() {
	p.did("crash")
	p.bed.Crash(rapid.Uint64().Draw(p.T, "lost"))
	p.open()
}

// open opens the log after the latest one has ended.
func (p *player) open() {
	p.bed.Break(0, false)
	p.broken = false
	var err error
	if p.log, err = p.bed.Open(options()); err != nil {
		p.fatal("open: %v", err)
	}
	p.opened()
}

// recover opens a log that has failed again, without closing it.
func (p *player) recover() {
	p.did("recover")
	p.bed.Break(0, false)
	p.broken = false
	if err := p.log.Reopen(p.Context()); err != nil {
		p.fatal("open again: %v", err)
	}
	p.opened()
}

// opened compares the log with the model. An append whose outcome is unknown is repeated.
func (p *player) opened() {
	m := p.model
	if err := m.reconcile(p.log); err != nil {
		p.fatal("opened: %v", err)
	}
	if m.unknown == nil {
		return
	}
	if err := p.log.AppendAt(p.Context(), m.unknownAt, m.unknown...); err != nil {
		p.fatal("the append that had failed, again: %v", err)
	}
	p.did("again")
	m.cut(int(m.unknownAt) - 1)
	m.events = append(m.events, m.unknown...)
	m.sure, m.unknown = len(m.events), nil
	m.groups = append(m.groups, m.sure)
	if err := m.compare(p.log, m.base+1); err != nil {
		p.fatal("after the append that had failed: %v", err)
	}
}

// step takes one random action and reports whether the log has failed.
func (p *player) step() (failed bool) {
	const most = 30
	switch op := rapid.SampledFrom(actions).Draw(p.T, "action"); op {
	case "append", "appendAt":
		return p.append(op == "appendAt")
	case "repeat":
		return p.repeat()
	case "read":
		from := p.model.base + 1 + uint64(p.draw(p.model.sure-int(p.model.base)+1, "from"))
		p.did(op, from)
		err := p.model.compare(p.log, from)
		if failed = errors.Is(err, eventlog.ErrFailed); err != nil && !failed {
			p.fatal("%v", err)
		}
	case "snapshot":
		return p.snapshot()
	case "compact":
		return p.compact()
	case "crash":
		p.crash()
	case "reopen":
		p.did(op)
		if p.log.Close() != nil {
			return true
		}
		if err := p.bed.Verify(p.Context(), false); err != nil {
			p.fatal("%v", err)
		}
		p.open()
	case "break":
		if p.broken {
			return false
		}
		n := 1 + p.draw(most, "changes")
		p.lasting, p.broken = rapid.Bool().Draw(p.T, "lasting"), true
		p.did(op, n)
		p.bed.Break(n, p.lasting)
	}
	return failed
}

// actions has each action as often as it is likely.
var actions = strings.Fields("append appendAt append appendAt append appendAt append appendAt repeat read snapshot " +
	"snapshot compact break crash reopen")

func (p *player) append(at bool) (failed bool) {
	m, group := p.model, p.group()
	next := uint64(m.sure + 1)
	p.did("append", len(group))
	var first, last uint64
	var err error
	if at {
		first, last = next, uint64(m.sure+len(group))
		err = p.log.AppendAt(p.Context(), next, group...)
	} else {
		first, last, err = p.log.Append(p.Context(), group...)
	}
	m.events = append(m.events, group...)
	m.groups = append(m.groups, len(m.events))
	if err != nil {
		if !errors.Is(err, eventlog.ErrFailed) || !p.bed.Met() {
			p.fatal("append: %v", err)
		}
		m.unknown, m.unknownAt = group, next
		return true
	}
	if first != next || last != uint64(m.sure+len(group)) {
		p.fatal("positions %d to %d, want %d to %d", first, last, next, m.sure+len(group))
	}
	m.sure = len(m.events)
	return false
}

// repeat repeats an append that is in the log, or tries one with another event, which is fenced.
// Neither changes anything.
func (p *player) repeat() (failed bool) {
	m := p.model
	if m.sure == int(m.base) {
		return false
	}
	first := int(m.base) + p.draw(m.sure-int(m.base), "first")
	var group []eventlog.Event
	size := 0 // two large events, of two appends, do not fit in one
	for _, e := range m.events[first:min(m.sure, first+1+p.draw(4, "events"))] {
		if size += len(e.Payload); size < options().MaxEventBytes {
			group = append(group, e)
		}
	}
	foreign := p.draw(2, "foreign") == 1
	if p.did("repeat", first+1, foreign); foreign {
		group[len(group)-1].Time++
	}
	err := p.log.AppendAt(p.Context(), uint64(first+1), group...)
	switch {
	case errors.Is(err, eventlog.ErrFailed):
		return true
	case foreign != errors.Is(err, eventlog.ErrFenced) || !foreign && err != nil:
		p.fatal("an append at position %d again, changed: %t: %v", first+1, foreign, err)
	case p.log.Stats().Last != uint64(m.sure):
		p.fatal("it ends at %d, want %d", p.log.Stats().Last, m.sure)
	}
	return false
}

func (p *player) snapshot() (failed bool) {
	m, low := p.model, max(1, p.model.base)
	for at := range m.snapshots {
		low = max(low, at)
	}
	if int(low) > m.sure {
		return false
	}
	at := low + uint64(p.draw(m.sure-int(low)+1, "position"))
	state := fmt.Sprintf("state %d %d", at, rapid.Uint32().Draw(p.T, "state"))
	p.did("snapshot", at)
	if err := p.log.SaveSnapshot(p.Context(), at, []byte(state)); err != nil {
		m.maybeSnap[at] = state
		if !p.bed.Met() {
			p.fatal("a snapshot failed, but the fault has not come yet: %v", err)
		}
		if err := p.bed.Verify(p.Context(), true); err != nil {
			p.fatal("after a snapshot that failed: %v", err)
		}
		return p.log.Stats().Failed != "" // the log goes on, unless it has met the fault itself
	}
	m.snapshots[at] = state
	delete(m.maybeSnap, at)
	return false
}

func (p *player) compact() (failed bool) {
	m, top := p.model, uint64(0)
	for at := range m.snapshots {
		top = max(top, at)
	}
	if top <= m.base {
		return false
	}
	at := m.base + 1 + uint64(p.draw(int(top-m.base), "position"))
	p.did("compact", at)
	m.maybeBase = at
	if p.log.Compact(p.Context(), at) != nil {
		return true
	}
	m.base = at
	return false
}

// Histories runs random histories of calls, crashes and faults against a model: acknowledged events
// are neither lost nor repeated nor reordered, groups that were not acknowledged are in the log as
// a whole or not at all, and an append with an unknown outcome can be repeated.
func Histories(t *testing.T, bed func(testing.TB) Bed) {
	seen := map[string]int{}
	history := func(rt *rapid.T) {
		p := &player{T: rt, bed: bed(t), model: newModel(), seen: seen}
		p.open()
		for range rapid.IntRange(1, 80).Draw(rt, "steps") {
			if !p.step() {
				continue
			}
			p.did("failed")
			if !p.bed.Met() {
				p.fatal("a call failed, but the fault has not come yet: %+v", p.log.Stats())
			}
			_, _, err := p.log.Append(p.Context(), event(1))
			if !errors.Is(err, eventlog.ErrFailed) && !errors.Is(err, eventlog.ErrClosed) {
				p.fatal("an append after the failure: %v", err)
			}
			if p.log.Health() == nil {
				p.fatal("a log that has failed is in good health")
			}
			if errors.Is(err, eventlog.ErrFailed) && rapid.Bool().Draw(rt, "recover") {
				p.recover()
			} else {
				p.crash()
			}
		}
		p.bed.Break(0, false)
		_ = p.log.Close() // a fault may have come last
		if err := p.bed.Verify(p.Context(), false); err != nil {
			p.fatal("at the end: %v", err)
		}
	}
	rounds := 1
	if os.Getenv("NOREGRET_FULL") == "1" {
		rounds = 10
	}
	for range rounds {
		rapid.Check(t, history)
	}
	t.Log(seen)
	for _, what := range []string{"crash", "failed", "recover", "again", "compact", "snapshot", "repeat", "reopen"} {
		if seen[what] == 0 {
			t.Errorf("no history has %q: %v", what, seen)
		}
	}
}
