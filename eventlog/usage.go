package eventlog

import (
	"errors"
	"io/fs"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Usage is what a log takes on its disk, or where else it is stored, and what the disk has.
type Usage struct {
	// Bytes is the size of the log's files, with its snapshots.
	Bytes int64
	// Free is what the process may still write to the disk, and Total the disk's size, in bytes.
	// Both are 0 if it does not say. Snapshots leave [Reserve] bytes of it to the log.
	Free, Total uint64
	// Snapshot is when the latest snapshot was saved, by the clock of where it is stored; zero
	// without one.
	Snapshot time.Time
}

// Measure returns the usage of the log in dir, which may be open. It costs a look at each of its
// files.
func Measure(fs FS, dir string) (Usage, error) {
	fs = disk(fs)
	var u Usage
	if err := u.add(fs, dir); err != nil {
		return Usage{}, err
	}
	positions, err := listSnapshots(fs, dir)
	if err != nil && !missing(err) {
		return Usage{}, err
	}
	if n := len(positions); n > 0 {
		info, err := fs.Stat(fs.PathJoin(dir, snapshotName, snapshotFile(positions[n-1])))
		switch {
		case err == nil:
			u.Snapshot = info.ModTime()
		case !missing(err):
			return Usage{}, err
		}
	}
	switch d, err := fs.GetDiskUsage(dir); {
	case err == nil:
		u.Free, u.Total = d.AvailBytes, d.TotalBytes
	case !errors.Is(err, vfs.ErrUnsupported):
		return Usage{}, err
	}
	return u, nil
}

// add adds the sizes of the files below dir. Those that are removed meanwhile do not count.
func (u *Usage) add(fs FS, dir string) error {
	names, err := fs.List(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		path := fs.PathJoin(dir, name)
		info, err := fs.Stat(path)
		switch {
		case err == nil && info.IsDir():
			err = u.add(fs, path)
		case err == nil:
			u.Bytes += info.Size()
		}
		if err != nil && !missing(err) {
			return err
		}
	}
	return nil
}

// missing reports whether an error says that a file is not there.
func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// Usage implements [Log]. It costs a look at each of the log's files.
func (s *Store) Usage() (Usage, error) { return Measure(s.fs.FS, s.dir) }
