package eventlog

import (
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/noregret/noregret"
)

// FS is the file system of a log. It is pebble's type, so that pebble's fault injection
// (vfs/errorfs) and crash clones (vfs.NewCrashableMem) can be used. A nil FS is the machine's file
// system.
type FS = vfs.FS

// disk returns fs, or the machine's file system, on which the log's files are private, if fs is nil
// or that file system itself.
func disk(fs FS) FS {
	if fs == nil || fs == vfs.Default {
		return private{vfs.Default}
	}
	return fs
}

// Options configure a [Store]. Begin with [DefaultOptions]; 0 is refused in every number. No option
// changes the format on disk: a log may be opened with different options each time.
type Options struct {
	// MaxEventBytes bounds the payload of one event, from 1 to 16 MiB.
	MaxEventBytes int
	// GroupEvents and GroupBytes bound the events written with one flush of the disk, and so those
	// of one Append: from 1 to 65536 events, and from MaxEventBytes plus 1 KiB to 64 MiB.
	GroupEvents int
	GroupBytes  int
	// QueueBytes bounds the events that wait for their flush, from GroupBytes to 1 GiB. Further
	// calls of Append block, which slows callers down to the speed of the disk.
	QueueBytes int
	// FlushBytes is the size at which pebble converts its write-ahead log to a table, and so bounds
	// the bytes replayed when the log is opened: from four times GroupBytes to 1 GiB.
	FlushBytes int
	// KeepSnapshots is the number of snapshots to keep, from 1 to 100.
	KeepSnapshots int
	// Skipped, unless nil, is called for each damaged snapshot that is passed over for an older one
	// or for the events alone, with the name of its file and the reason. It may be called again for
	// the same file, and must not use the log.
	Skipped func(file, reason string)
}

// DefaultOptions returns options for events of at most 1 MiB: groups of 4096 events and 4 MiB, a
// queue of 16 MiB, tables of 32 MiB and two snapshots.
func DefaultOptions() Options {
	return Options{
		MaxEventBytes: 1 << 20, GroupEvents: 4096, GroupBytes: 4 << 20, QueueBytes: 16 << 20, FlushBytes: 32 << 20,
		KeepSnapshots: 2,
	}
}

const (
	maxPayload = 16 << 20 // the format's bound, whatever the options
	maxState   = 1 << 40  // of a snapshot
)

// Validate returns an error that names the first option out of its range.
func (o Options) Validate() error {
	for _, c := range []struct {
		name           string
		value, lo, top int
	}{
		{"MaxEventBytes", o.MaxEventBytes, 1, maxPayload},
		{"GroupEvents", o.GroupEvents, 1, 1 << 16},
		{"GroupBytes", o.GroupBytes, o.MaxEventBytes + 1<<10, 64 << 20},
		{"QueueBytes", o.QueueBytes, o.GroupBytes, 1 << 30},
		{"FlushBytes", o.FlushBytes, 4 * o.GroupBytes, 1 << 30},
		{"KeepSnapshots", o.KeepSnapshots, 1, 100},
	} {
		if c.value < c.lo || c.value > c.top {
			return noregret.Errorf(noregret.Usage, "eventlog.Options", "%s is %d: it must be %d to %d", c.name,
				c.value, c.lo, c.top)
		}
	}
	return nil
}
