package eventlog

import (
	"strings"

	"github.com/noregret/noregret"
)

// Reserve is how many bytes of the disk snapshots and scratch files leave to the log: about what it
// needs to convert its write-ahead log to a table.
const Reserve = 32 << 20

// Free returns how many bytes the process may still write to the disk of dir (fs nil: the machine's
// disk). known is false if the file system does not say.
func Free(fs FS, dir string) (free uint64, known bool) {
	u, err := disk(fs).GetDiskUsage(dir)
	return u.AvailBytes, err == nil
}

// roomFor returns a function that returns ErrNoRoom if the disk of dir has no room for a number of
// bytes beside the reserve.
func roomFor(fs FS, dir string) func(bytes int64) error {
	return func(bytes int64) error {
		if free, known := Free(fs, dir); known {
			return noRoom(dir, free, uint64(bytes)+Reserve)
		}
		return nil
	}
}

// noRoom returns ErrNoRoom if there is less room than needed.
func noRoom(dir string, free, need uint64) error {
	if free >= need {
		return nil
	}
	return noregret.Errorf(noregret.Internal, dir, "%w: %d MiB are free, want %d MiB", ErrNoRoom, free>>20,
		(need+1<<20-1)>>20)
}

// removeTemps removes the temporary files that a crash or a failure has left in a log, which may
// hold the last room of its disk, and returns how many. Those that cannot be removed stay.
func removeTemps(fs FS, dir string) (removed int) {
	for _, dir := range []string{dir, fs.PathJoin(dir, snapshotName)} {
		names, err := fs.List(dir)
		if err != nil {
			continue
		}
		for _, n := range names {
			if strings.HasSuffix(n, tempSuffix) && fs.Remove(fs.PathJoin(dir, n)) == nil {
				removed++
			}
		}
	}
	return removed
}
