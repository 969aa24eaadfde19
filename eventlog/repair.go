package eventlog

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/noregret/noregret"
)

// RepairOptions configure [Repair]. The zero value drops no acknowledged event.
type RepairOptions struct {
	// AcceptLoss is the largest number of acknowledged events that may be dropped. If more would be
	// lost, Repair changes nothing, and its error and report state the number.
	AcceptLoss uint64
	// FromSnapshot keeps the events after the latest intact snapshot instead of those before the
	// first damage. Use it if the damage lies in events that the snapshot covers: these are
	// dropped, and the state loses nothing.
	FromSnapshot bool
}

// RepairReport describes what [Repair] did, or would do if AcceptLoss were large enough.
type RepairReport struct {
	// Before is the result of the check before the repair.
	Before *Report `json:"before"`
	// Changed reports whether anything was changed.
	Changed bool `json:"changed"`
	// Kept is the range of positions in the log after the repair; Last is First-1 if there are
	// none.
	Kept Range `json:"kept"`
	// Lost counts the dropped positions after Kept that were acknowledged or have left traces.
	Lost uint64 `json:"lost"`
	// Unknown reports whether the mark file was lost. Acknowledged events after Kept that left no
	// trace are then unknown and not counted in Lost.
	Unknown bool `json:"unknown,omitempty"`
	// Covered counts the positions before Kept that were dropped because the snapshot covers them.
	Covered uint64 `json:"covered"`
	// Readable are the dropped positions with intact records. These remain in the files set aside.
	Readable []Range `json:"readable,omitempty"`
	// Dropped describes the dropped events that can be read, by kind, in the order of their first
	// positions. It has those that the snapshot covers, too.
	Dropped []DroppedKind `json:"dropped,omitempty"`
	// SetAside lists the new names, in the log's directory, of the files that were replaced.
	SetAside []string `json:"set_aside,omitempty"`
}

// DroppedKind describes the dropped events of one kind.
type DroppedKind struct {
	Kind   string `json:"kind"`
	Events uint64 `json:"events"`
	// First and Last are the lowest and the highest position.
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
	// From and To are the earliest and the latest time, in the unit of [Event].
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

const repairName = eventsName + ".repair"

// Repair repairs a damaged log: it truncates the log to the last intact record before the first
// damage or, with FromSnapshot, to the intact records after the latest snapshot. It drops nothing
// silently: the report counts the losses, acknowledged events are dropped only within AcceptLoss,
// and the old files are kept under other names. Repair does not change a sound log. A crash during
// a repair leaves the old log or a repaired one; repair again then.
func Repair(ctx context.Context, fs FS, dir string, o RepairOptions) (*RepairReport, error) {
	in, err := inspect(fs, dir)
	if err != nil {
		return nil, err
	}
	out, err := in.repair(ctx, o)
	if err != nil {
		removeHalf(disk(fs), dir) // not through in.fs, which may have failed
	}
	if failed := in.close(); failed != nil {
		return nil, failed
	}
	return out, err
}

// removeHalf removes the store that a repair has begun to write, unless it is in the place of the
// old one already. It may hold the last room of the disk.
func removeHalf(fs FS, dir string) {
	if _, err := fs.Stat(fs.PathJoin(dir, eventsName)); err == nil {
		_ = fs.RemoveAll(fs.PathJoin(dir, repairName)) // the next repair does
	}
}

func (in *inspector) repair(ctx context.Context, o RepairOptions) (*RepairReport, error) {
	if err := in.resume(); err != nil {
		return nil, in.ioError("finishing an earlier repair", err)
	}
	before, err := in.check(ctx)
	if err != nil {
		return nil, err
	}
	out := &RepairReport{Before: before, Kept: Range{before.Base + 1, before.Last}}
	if in.fs.readFault() != nil {
		return out, nil // close returns the error
	}
	out.Unknown = !in.hasMark && before.Damaged()
	if in.salvage == nil {
		if err := in.setSnapshotsAside(out, mark{before.Last, 0}, before.Base); err != nil {
			return out, err
		}
		return out, in.newMark(out)
	}
	base := in.salvage.start()
	if o.FromSnapshot {
		at, ok := mark{}, false
		for _, m := range in.snapshots {
			if m.position >= at.position {
				at, ok = m, true
			}
		}
		if !ok {
			return out, noregret.Errorf(noregret.Usage, in.dir,
				"no intact snapshot, so that FromSnapshot cannot be used")
		}
		out.Covered = at.position - min(base.position, at.position)
		base = at
	}
	run, end := in.salvage.walk(base)
	out.Kept = Range{base.position + 1, end.position}
	out.Readable = in.salvage.beyond(end.position)
	out.Lost = in.lost(run, end)
	if out.Dropped, err = in.salvage.dropped(base.position, end.position); err != nil {
		return out, in.ioError("reading the dropped events", err)
	}
	if out.Lost > o.AcceptLoss {
		return out, noregret.Errorf(noregret.Usage, in.dir,
			"the repair would drop %d acknowledged events, %d to %d, but only %d are allowed: nothing was changed",
			out.Lost, end.position+1, end.position+out.Lost, o.AcceptLoss)
	}
	if err := in.replace(ctx, out, base, end, run); err != nil {
		return out, in.ioError("repairing", err)
	}
	return out, nil
}

// newMark writes a new mark file for a log with intact events that has lost its own.
func (in *inspector) newMark(out *RepairReport) error {
	if !out.Unknown {
		return nil
	}
	if _, err := in.fs.Stat(in.path(markFileName)); err == nil {
		if err := in.aside(out, in.dir, markFileName); err != nil {
			return in.ioError("setting the mark file aside", err)
		}
	}
	if err := createMark(in.fs, in.dir, in.end); err != nil {
		return in.ioError("writing the mark file", err)
	}
	out.Changed = true
	return nil
}

// lost counts the positions after end that were acknowledged or, if the mark is lost, have a
// record.
func (in *inspector) lost(run []piece, end mark) uint64 {
	top := in.mark.position
	if !in.hasMark {
		for p := range in.salvage.pieces {
			top = max(top, p)
		}
	}
	for p := range in.snapshots {
		top = max(top, p)
	}
	n := top - min(top, end.position)
	for _, p := range run {
		if in.hasMark && p.position == in.mark.position && p.sum != in.mark.sum {
			n++ // not the acknowledged record
		}
	}
	return n
}

// resume completes a repair that was interrupted between its two renames.
func (in *inspector) resume() error {
	if _, err := in.fs.Stat(in.path(eventsName)); err == nil || !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if _, err := in.fs.Stat(in.path(repairName)); err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		return err
	}
	names, err := in.fs.List(in.dir)
	if err != nil {
		return err
	}
	for _, n := range names {
		if strings.HasPrefix(n, eventsName+damagedSuffix) {
			return in.move(repairName, eventsName)
		}
	}
	return nil
}

// move renames a file within the directory, durably.
func (in *inspector) move(from, to string) error {
	if err := in.fs.Rename(in.path(from), in.path(to)); err != nil {
		return err
	}
	return syncDir(in.fs, in.dir)
}

// aside renames a file or directory to a free name that marks it as damaged.
func (in *inspector) aside(out *RepairReport, dir, name string) error {
	for n := 1; ; n++ {
		to := fmt.Sprintf("%s%s-%d", name, damagedSuffix, n)
		if _, err := in.fs.Stat(in.fs.PathJoin(dir, to)); err == nil {
			continue
		} else if !errors.Is(err, os.ErrNotExist) {
			return err
		}
		if err := in.fs.Rename(in.fs.PathJoin(dir, name), in.fs.PathJoin(dir, to)); err != nil {
			return err
		}
		out.Changed = true
		if dir != in.dir {
			to = in.fs.PathJoin(snapshotName, to)
		}
		out.SetAside = append(out.SetAside, to)
		return syncDir(in.fs, dir)
	}
}

// replace writes the new store and exchanges it for the old one.
func (in *inspector) replace(ctx context.Context, out *RepairReport, base, end mark, run []piece) error {
	if err := in.fs.RemoveAll(in.path(repairName)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := makeDirs(in.fs, in.path(repairName)); err != nil {
		return err
	}
	db, err := in.pebbleAt(repairName, false)
	if err != nil {
		return err
	}
	err = in.guard(func() error { return errors.Join(in.salvage.copyTo(ctx, db, base, run), db.Close()) })
	if err != nil {
		return err
	}
	if _, err := in.fs.Stat(in.path(eventsName)); err == nil {
		if err := in.aside(out, in.dir, eventsName); err != nil {
			return err
		}
	}
	if err := in.move(repairName, eventsName); err != nil {
		return err
	}
	out.Changed = true
	if err := in.setSnapshotsAside(out, end, base.position); err != nil {
		return err
	}
	return createMark(in.fs, in.dir, end)
}

// setSnapshotsAside sets aside the snapshots that are damaged or cover events that the log no
// longer has.
func (in *inspector) setSnapshotsAside(out *RepairReport, end mark, base uint64) error {
	for _, s := range in.report.Snapshots {
		if s.Problem == "" && s.Position >= base && s.Position <= end.position {
			continue
		}
		if s.Problem == "" && s.Position < base {
			continue // old, but whole
		}
		if err := in.aside(out, in.path(snapshotName), snapshotFile(s.Position)); err != nil {
			return in.ioError("setting a snapshot aside", err)
		}
	}
	return nil
}
