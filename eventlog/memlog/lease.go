package memlog

import (
	"context"
	"sync"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/eventlog"
)

// Leases is the one lease of several processes, by a clock that a test moves. Its methods are safe
// for concurrent use.
type Leases struct {
	now   func() time.Time
	lasts time.Duration

	mu     sync.Mutex
	term   uint64
	by     *Lease // the holder, nil if the lease was released
	holder string
	until  time.Time
}

// NewLeases returns a lease that nobody holds, and that lasts for some time unless its holder keeps
// it.
func NewLeases(now func() time.Time, lasts time.Duration) *Leases {
	return &Leases{now: now, lasts: lasts}
}

// Lease returns the lease as a further process sees it.
func (l *Leases) Lease() *Lease { return &Lease{of: l} }

// Lease is a lease in memory, as one process sees it.
type Lease struct {
	of  *Leases
	cut bool // guarded by the mutex of of
}

var _ eventlog.Lease = (*Lease)(nil)

// Cut cuts the process's connection to the lease, or restores it. Without one, Hold and Release
// return errors.
func (p *Lease) Cut(cut bool) {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	p.cut = cut
}

// Hold implements [eventlog.Lease].
func (p *Lease) Hold(ctx context.Context, holder string) (eventlog.Tenure, error) {
	l := p.of
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := p.ready(ctx); err != nil {
		return eventlog.Tenure{}, err
	}
	now := l.now()
	free := l.by == nil || !now.Before(l.until)
	if free {
		l.term, l.by = l.term+1, p
	}
	if l.by == p {
		l.holder, l.until = holder, now.Add(l.lasts)
	}
	return eventlog.Tenure{Term: l.term, Holder: l.holder, Held: l.by == p}, nil
}

// Release implements [eventlog.Lease].
func (p *Lease) Release(ctx context.Context) error {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	if err := p.ready(ctx); err != nil {
		return err
	}
	if p.of.by == p {
		p.of.by = nil
	}
	return nil
}

// ready returns an error if ctx has ended or the connection is cut. The caller holds the mutex.
func (p *Lease) ready(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if p.cut {
		return noregret.Errorf(noregret.Internal, place, "the lease cannot be reached")
	}
	return nil
}
