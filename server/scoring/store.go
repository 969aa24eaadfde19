package scoring

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify/serving"
	"github.com/noregret/noregret/internal/atomicfile"
)

// store keeps the state of a service in a file, which is the old one or the new one whenever the
// process ends. A nil store keeps nothing.
//
// One goroutine saves. It begins when half of every changes are unsaved, and requests wait for it
// only if they would be answered with every or more: so fewer are lost with the process, unless
// saves fail. Then requests do not wait, and it tries again after a pause.
type store struct {
	path    string
	every   int64
	serving *serving.Service
	lock    *atomicfile.Lock
	logger  *slog.Logger
	write   func(path string, data []byte) error // [atomicfile.WritePrivate], but for tests

	wake, end chan struct{}
	saver     sync.WaitGroup

	mu             sync.Mutex
	tried          sync.Cond // a save has ended
	changes, saved int64     // rows and labels in all, and those that the file has
	failing        bool      // the last save failed
	failures       uint64
	closed         bool
}

// The pauses after saves that fail: the first, and the longest. Each is twice the one before.
const (
	firstPause = time.Second
	mostPause  = time.Minute
)

// openStore reads the state of a directory into a service, if there is one.
func openStore(dir string, every int, s *serving.Service, logger *slog.Logger) (*store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, noregret.Errorf(noregret.Usage, "data", "the directory cannot be made: %w", err)
	}
	lock, err := atomicfile.Hold(filepath.Join(dir, "lock"))
	if err != nil {
		return nil, noregret.Errorf(noregret.Usage, "data", "%s is in use by another service: %w", dir, err)
	}
	t := &store{
		path: filepath.Join(dir, "score.state"), every: int64(every), serving: s, lock: lock, logger: logger,
		write: atomicfile.WritePrivate,
		wake:  make(chan struct{}, 1), end: make(chan struct{}),
	}
	t.tried.L = &t.mu
	data, err := os.ReadFile(t.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	case err != nil:
		err = noregret.BadInputf(t.path, "the state cannot be read: %w", err)
	default:
		if err = s.UnmarshalBinary(data); err != nil {
			e, ok := errors.AsType[*noregret.Error](err)
			if ok {
				err = noregret.Errorf(e.Code, t.path, "%s", e.Message)
			}
		}
	}
	if err != nil {
		return nil, errors.Join(err, lock.Release())
	}
	t.saver.Go(t.keepSaving)
	return t, nil
}

// changed says that n rows or labels have come. It returns when they may be answered. After close
// it does nothing: the file may be that of another service then.
func (t *store) changed(n int) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.changes += int64(n)
	mine := t.changes
	if mine-t.saved >= (t.every+1)/2 {
		t.signal()
	}
	for mine-t.saved >= t.every && !t.failing && !t.closed {
		t.tried.Wait()
	}
}

// signal asks for a save.
func (t *store) signal() {
	select {
	case t.wake <- struct{}{}:
	default: // it is asked for
	}
}

// keepSaving saves when it is asked to, until the end.
func (t *store) keepSaving() {
	pause := firstPause
	for {
		select {
		case <-t.wake:
		case <-t.end:
			return
		}
		if t.save() == nil {
			pause = firstPause
			continue
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-t.end:
			timer.Stop()
			return
		}
		pause = min(2*pause, mostPause)
		t.signal()
	}
}

// save saves what has come.
func (t *store) save() error {
	t.mu.Lock()
	changes := t.changes
	t.mu.Unlock()
	data, err := t.serving.MarshalBinary()
	if err == nil {
		err = t.write(t.path, data)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	again := t.failing
	if t.failing = err != nil; t.failing {
		t.failures++
		t.logger.Error("the state cannot be saved", "error", err, "unsaved", t.changes-t.saved)
	} else {
		t.saved = changes
		if again {
			t.logger.Info("the state is saved again")
		}
		if t.changes-t.saved >= (t.every+1)/2 {
			t.signal()
		}
	}
	t.tried.Broadcast()
	return err
}

// status returns the number of rows and labels that the file lacks, whether the last save failed,
// and how many have.
func (t *store) status() (unsaved int64, failing bool, failures uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.changes - t.saved, t.failing, t.failures
}

// close saves the state and lets go of the directory.
func (t *store) close() error {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	was := t.closed
	t.closed = true
	t.tried.Broadcast()
	t.mu.Unlock()
	if was {
		return nil
	}
	close(t.end)
	t.saver.Wait()
	return errors.Join(t.save(), t.lock.Release())
}
