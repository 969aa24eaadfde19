package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/internal/atomicfile"
)

// Outbox keeps what a [Local] has still to send. A process that is killed and started again with
// the same outbox sends its last report again, with the same source and number, so that the service
// counts it once. One Local at a time may use an outbox. Its methods are called by one goroutine at
// a time.
type Outbox interface {
	// Load returns the bytes of the last Store, nil if there was none.
	Load() ([]byte, error)
	// Store replaces the bytes, which survive the process once it has returned nil.
	Store(data []byte) error
}

// FileOutbox is an [Outbox] in a file. The file is written atomically and flushed to the disk.
type FileOutbox struct {
	path string
	lock *atomicfile.Lock
}

// OpenFileOutbox opens the outbox in a file, which need not exist. Another process that has it open
// is an error where the system has locks of files (not on Windows). Close it after the [Local].
func OpenFileOutbox(path string) (*FileOutbox, error) {
	lock, err := atomicfile.Hold(path + ".lock")
	if err != nil {
		return nil, err
	}
	return &FileOutbox{path: path, lock: lock}, nil
}

// Load implements [Outbox].
func (f *FileOutbox) Load() ([]byte, error) {
	b, err := os.ReadFile(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return b, err
}

// Store implements [Outbox].
func (f *FileOutbox) Store(data []byte) error { return atomicfile.WriteBytes(f.path, data) }

// Close lets another process open the outbox.
func (f *FileOutbox) Close() error { return f.lock.Release() }

// outboxFormat is the number of the form of an outbox.
const outboxFormat = 1

// kept is what an outbox holds. Pending is the report whose fate is unknown, and Sums are those
// recorded since. Sequence is the number of the last report.
type kept struct {
	Format     int                 `json:"format"`
	Experiment string              `json:"experiment"`
	Source     string              `json:"source"`
	Sequence   uint64              `json:"sequence"`
	Pending    *api.Aggregate      `json:"pending,omitempty"`
	Sums       []api.AggregateItem `json:"sums,omitempty"`
	Units      *keptUnits          `json:"units,omitempty"` // of RecordOnce
}

// restore takes over what an earlier process has left in the outbox.
func (l *Local) restore() error {
	if l.options.Outbox == nil {
		return nil
	}
	b, err := l.options.Outbox.Load()
	if err != nil {
		return fmt.Errorf("outbox: %w", err)
	}
	if b == nil {
		return nil
	}
	var k kept
	if err := json.Unmarshal(b, &k); err != nil {
		return noregret.BadInputf("outbox", "damaged: %w", err)
	}
	switch {
	case k.Format != outboxFormat:
		return noregret.BadInputf("outbox", "format %d: want %d", k.Format, outboxFormat)
	case k.Experiment != l.name:
		return noregret.BadInputf("outbox", "it is of the experiment %q: want one outbox for each, this is for %q",
			k.Experiment, l.name)
	case k.Source == "" || k.Pending != nil && (k.Pending.Source != k.Source || k.Pending.Sequence != k.Sequence):
		return noregret.BadInputf("outbox", "damaged: the source or the number of the report does not fit")
	}
	l.source, l.sequence, l.pending = k.Source, k.Sequence, k.Pending
	for i := range k.Sums {
		s := &k.Sums[i]
		if s.Metrics == nil {
			s.Metrics = map[string]api.Sums{}
		}
		l.sums[sumKey{s.Version, s.Arm, s.HeldBack}] = s
	}
	return l.restoreUnits(k.Units)
}

// Keep writes what is recorded and not sent to the outbox. Once it has returned nil, it survives
// the process. Without an outbox it does nothing.
func (l *Local) Keep() error {
	if l.options.Outbox == nil {
		return nil
	}
	l.keeping.Lock()
	defer l.keeping.Unlock()
	k := kept{Format: outboxFormat, Experiment: l.name, Source: l.source}
	files, ok := l.options.Outbox.(UnitOutbox)
	var err error
	if ok {
		err = l.spill(files)
	}
	var b []byte
	if err == nil {
		l.mu.Lock()
		k.Sequence, k.Pending, k.Sums = l.sequence, l.pending, l.items()
		if ok {
			k.Units = l.known.kept()
		}
		b, err = json.Marshal(k)
		l.mu.Unlock()
	}
	if err == nil {
		err = l.options.Outbox.Store(b)
	}
	if err == nil && k.Units != nil {
		for l.known.removed+2 < k.Units.Now.File {
			l.known.removed++
			_ = files.Remove(l.known.removed) // one more is harmless
		}
	}
	if err != nil {
		return noregret.Errorf(noregret.Internal, "outbox", "what is not sent could not be kept: %w", err)
	}
	return nil
}

// keepOn keeps what is recorded at regular intervals, also while a report waits for the service.
func (l *Local) keepOn(ctx context.Context) {
	defer l.done.Done()
	t := time.NewTicker(l.options.Every)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			if err := l.Keep(); err != nil && l.options.Waiting != nil {
				l.options.Waiting(err)
			}
		}
	}
}
