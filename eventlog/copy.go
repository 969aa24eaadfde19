package eventlog

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/noregret/noregret"
)

// Copy appends the events of a log to another one and saves its snapshots there, so that the fold
// of both is the same. It returns the number of events appended. As with [Import] each event keeps
// its position, and a copy that was interrupted is repeated: what the other log has is compared. A
// log that has dropped its first events needs one that begins after them (see [Create]).
func Copy(ctx context.Context, from, to Log) (n uint64, err error) {
	c := newCopier(to)
	flush := func() error {
		err := c.flush(ctx)
		if errors.Is(err, ErrFenced) {
			return noregret.BadInputf("copy", "%w", err)
		}
		return err
	}
	for r, err := range from.Read(ctx, from.Stats().First) {
		if err == nil && !c.follows(r.Position) {
			err = noregret.BadInputf("copy", "position %d: the log to copy to continues with %d", r.Position, c.next)
		}
		if err == nil && c.full(r.Event) {
			err = flush()
		}
		if err != nil {
			return c.n, err
		}
		c.add(r.Event)
	}
	if err := flush(); err != nil {
		return c.n, err
	}
	return c.n, copySnapshots(ctx, from, to)
}

// copySnapshots saves the snapshots that the other log does not have yet.
func copySnapshots(ctx context.Context, from, to Log) (err error) {
	snapshots, err := from.OpenSnapshots(ctx)
	for _, s := range snapshots {
		if err == nil && s.Position > to.Stats().Snapshot {
			err = to.WriteSnapshot(ctx, s.Position, func(state io.Writer) error {
				_, err := io.Copy(state, s.State())
				return err
			})
		}
		err = errors.Join(err, s.Close())
	}
	return err
}

// copyBytes and copyEvents bound what is appended at once.
const (
	copyBytes  = 256 << 10
	copyEvents = 256
)

// copier appends events at their positions to a log that may have some of them.
type copier struct {
	log   Log
	end   uint64 // of the log at first
	next  uint64 // the position of the next event, 0 before the first one
	batch []Event
	size  int
	n     uint64 // events appended
}

func newCopier(log Log) *copier { return &copier{log: log, end: log.Stats().Last} }

// follows reports whether a position is that of the next event. The first one may be any that the
// log has, or the one behind its end.
func (c *copier) follows(position uint64) bool {
	if c.next == 0 {
		c.next = c.end + 1
		if 0 < position && position <= c.end {
			c.next = position
		}
	}
	return position == c.next
}

// full reports whether flush must come before add: what the log has and what it lacks are not
// appended at once.
func (c *copier) full(e Event) bool {
	return len(c.batch) > 0 && (c.size+recordSize(e) > copyBytes || len(c.batch) == copyEvents || c.next == c.end+1)
}

// add adds the next event.
func (c *copier) add(e Event) {
	c.batch, c.size, c.next = append(c.batch, e), c.size+recordSize(e), c.next+1
}

// flush appends what was added.
func (c *copier) flush(ctx context.Context) error {
	if len(c.batch) == 0 {
		return nil
	}
	first := c.next - uint64(len(c.batch))
	err := c.log.AppendAt(ctx, first, c.batch...)
	if errors.Is(err, ErrFenced) {
		return fmt.Errorf("positions %d to %d: the log has other events there, or has dropped its own; want an empty "+
			"log, or one with the events before these: %w", first, c.next-1, err)
	}
	if err != nil {
		return err
	}
	if first > c.end {
		c.n += uint64(len(c.batch))
	}
	c.batch, c.size = c.batch[:0], 0
	return nil
}
