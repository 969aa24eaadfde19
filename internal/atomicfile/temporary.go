package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/noregret/noregret"
)

// most temporary names of one target in one process.
const most = 10_000

// temporaryName returns a temporary name of target.
func temporaryName(target string, try int) string {
	dir, base := filepath.Split(target)
	return fmt.Sprintf("%s.%s.tmp%d-%d", dir, base, os.Getpid(), try)
}

// TargetOf returns the target's name for the name of a temporary file in the same directory, ""
// for other names.
func TargetOf(name string) string {
	if !strings.HasPrefix(name, ".") {
		return ""
	}
	i := strings.LastIndex(name, ".tmp")
	if i < 2 {
		return ""
	}
	pid, try, ok := strings.Cut(name[i+len(".tmp"):], "-")
	if !ok || !digits(pid) || !digits(try) {
		return ""
	}
	return name[1:i]
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// temporary creates a new file in the directory of target with at most the given mode, and locks it
// as long as it is open.
func temporary(target string, mode fs.FileMode) (*os.File, error) {
	for try := 0; ; try++ {
		name := temporaryName(target, try)
		Step("create", target)
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
		if errors.Is(err, fs.ErrExist) && try < most {
			continue
		}
		if err != nil {
			return nil, err
		}
		if kept(f, name) || try == most {
			return f, nil
		}
		_ = f.Close() // another process has taken it for a file of a dead one
	}
}

// kept locks a temporary file or directory that was made just now, and reports whether it still has
// its name. Where there are no locks, nobody removes it.
func kept(f *os.File, name string) bool { return lock(f) != nil || named(f, name) }

// named reports whether an open file has the given name.
func named(f *os.File, name string) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(name)
	return err == nil && os.SameFile(mine, there)
}

// Clean removes the temporary files of a target that processes have left which were killed. It
// waits for nobody and leaves the files of processes that run. The error names a file that cannot
// be removed, or whose process may run because the file system has no locks.
func Clean(target string) error {
	dir, base := filepath.Split(target)
	return clean(dir, func(name string) bool { return TargetOf(name) == base }, false)
}

// CleanDir is [Clean] of all targets in a directory.
func CleanDir(dir string) error {
	return clean(dir+string(filepath.Separator), func(name string) bool { return TargetOf(name) != "" }, false)
}

// cleanPrivate is [Clean] of all targets in the directory of target, for files that only their
// owner may read and write.
func cleanPrivate(target string) error {
	dir, _ := filepath.Split(target)
	return clean(dir, func(name string) bool {
		if TargetOf(name) == "" {
			return false
		}
		st, err := os.Lstat(dir + name)
		// The modes of Windows say nothing.
		return err == nil && (st.Mode().Perm()&^0o600 == 0 || runtime.GOOS == "windows")
	}, false)
}

// CleanTempDirs removes the directories of [MakeTempDir] of a target that processes have left which
// were killed.
func CleanTempDirs(target string) error {
	dir, base := filepath.Split(target)
	return clean(dir, func(name string) bool { return TargetOf(name) == base }, true)
}

// clean removes files, or directories, in a directory, which ends in a separator or is empty.
func clean(dir string, mine func(name string) bool, dirs bool) error {
	d, err := os.Open(filepath.Clean(dir))
	if err != nil {
		return err
	}
	names, err := d.Readdirnames(-1)
	_ = d.Close() // only read
	for _, name := range names {
		if mine(name) {
			err = errors.Join(err, removeDead(dir+name, dirs))
		}
	}
	return err
}

// errAlive is the error of a file whose process may run.
func errAlive(path string, err error) error {
	return noregret.Errorf(noregret.Usage, path, "a file of a writer that may run, as the file system has no locks: "+
		"remove it if no program uses it: %w", err)
}

// A TempDir is a temporary directory for its owner only, which [CleanTempDirs] of its
// target removes once its process is dead.
type TempDir struct {
	// Name is the path of the directory.
	Name string

	f *os.File
}

// MakeTempDir makes a temporary directory beside target. The caller moves its content to other
// places and calls Remove.
func MakeTempDir(target string) (*TempDir, error) {
	for try := 0; ; try++ {
		name := temporaryName(target, try)
		err := os.Mkdir(name, 0o700)
		if errors.Is(err, fs.ErrExist) && try < most {
			continue
		}
		if err != nil {
			return nil, err
		}
		f, err := os.Open(name)
		if err != nil {
			return nil, errors.Join(err, os.Remove(name))
		}
		if kept(f, name) {
			return &TempDir{name, f}, nil
		}
		_ = f.Close() // another process has taken it for a directory of a dead one
		if try == most {
			return nil, noregret.Errorf(noregret.Internal, name, "the temporary directory was removed by others")
		}
	}
}

// Remove removes the directory and what is left in it.
func (d *TempDir) Remove() error {
	if !locks {
		_ = d.f.Close()
	}
	err := os.RemoveAll(d.Name)
	_ = d.f.Close()
	return err
}
