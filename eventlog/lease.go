package eventlog

import (
	"context"
	"time"
)

// Lease names the one process, of several on one replicated log, that should append to it. It
// spares the others the attempt; what keeps their events out is [Appender].AppendAt, because a
// process can be stopped at any point and go on after its lease has ended.
//
// A Lease belongs to one process. It is safe for concurrent use.
type Lease interface {
	// Hold takes the lease if nobody holds it, keeps it if this process does, and otherwise tells
	// who does. The holder is what the others are told of this process, by convention the address
	// at which they reach it. A process that wants to hold the lease calls Hold several times
	// within the time that it lasts. After an error this process may hold it or not; it calls Hold
	// again, and appends nothing meanwhile if it must not be mistaken.
	Hold(ctx context.Context, holder string) (Tenure, error)
	// Release ends the lease if this process holds it, so that another one need not wait for its
	// end.
	Release(ctx context.Context) error
}

// Tenure is what a [Lease] says at one time.
type Tenure struct {
	// Term is larger than that of every earlier holder. It does not change while one process keeps
	// the lease.
	Term uint64
	// Holder is what the holder has told of itself.
	Holder string
	// Held says that this process is the holder.
	Held bool
}

// LeaseClock is implemented by a [Lease] whose storage has a clock of its own. It tells a process
// whether its own clock is right before it gives events their time.
type LeaseClock interface {
	// Now returns the time of what keeps the lease.
	Now(ctx context.Context) (time.Time, error)
}
