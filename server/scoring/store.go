package scoring

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify/serving"
	"github.com/noregret/noregret/internal/atomicfile"
)

// store keeps the state of a service in a file, which is the old one or the new one whenever the
// process ends. A nil store keeps nothing.
type store struct {
	path    string
	every   int
	serving *serving.Service
	lock    *atomicfile.Lock

	mu      sync.Mutex
	unsaved int
	closed  bool
}

// openStore reads the state of a directory into a service, if there is one.
func openStore(dir string, every int, s *serving.Service) (*store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, noregret.Errorf(noregret.Usage, "data", "the directory cannot be made: %w", err)
	}
	lock, err := atomicfile.Hold(filepath.Join(dir, "lock"))
	if err != nil {
		return nil, noregret.Errorf(noregret.Usage, "data", "%s is in use by another service: %w", dir, err)
	}
	t := &store{path: filepath.Join(dir, "score.state"), every: every, serving: s, lock: lock}
	data, err := os.ReadFile(t.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return t, nil
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
	return t, nil
}

// changed saves the state if there are enough changes. After close it does nothing: the file may be
// that of another service then.
func (t *store) changed(n int) error {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.unsaved += n; t.closed || t.unsaved < t.every {
		return nil
	}
	return t.save()
}

func (t *store) save() error {
	data, err := t.serving.MarshalBinary()
	if err != nil {
		return err
	}
	if err := atomicfile.WritePrivate(t.path, data); err != nil {
		return err
	}
	t.unsaved = 0
	return nil
}

// close saves the state and lets go of the directory.
func (t *store) close() error {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil
	}
	t.closed = true
	return errors.Join(t.save(), t.lock.Release())
}
