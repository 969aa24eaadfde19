package atomicfile

import (
	"os"

	"github.com/noregret/noregret"
)

// Lock is a file that one process at a time holds.
type Lock struct{ f *os.File }

// Hold makes a file, if need be, and holds it until Release or the end of the process. It returns
// an error if another process, or another Hold of this one, has it. On Windows and where the file
// system has no locks it holds nothing.
func Hold(path string) (*Lock, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if held(f) {
		_ = f.Close() // only opened
		return nil, noregret.Errorf(noregret.Usage, path, "another process holds it: end that process first")
	}
	return &Lock{f}, nil
}

// Release lets others hold the file, which stays.
func (l *Lock) Release() error { return l.f.Close() }
