package eventlog

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/noregret/noregret"
)

// Report is the result of [Check].
type Report struct {
	Dir string `json:"dir"`
	// Base is the last position that was compacted away, Last the last one before the first damage:
	// the events from Base+1 to Last are intact and follow each other.
	Base uint64 `json:"base"`
	Last uint64 `json:"last"`
	// Acknowledged is the highest position that is certain to have been acknowledged (after a power
	// loss a higher one may have been), or 0 if the mark file is lost, which is a finding of its
	// own.
	Acknowledged uint64 `json:"acknowledged"`
	// Bytes is the size of the intact records.
	Bytes int64 `json:"bytes"`
	// Snapshots lists the snapshots, the oldest first.
	Snapshots []SnapshotReport `json:"snapshots"`
	// Findings lists the problems. A sound log has none.
	Findings []Finding `json:"findings"`
	// Readable lists the positions after the first damage that have intact records.
	Readable []Range `json:"readable,omitempty"`
}

// SnapshotReport is a snapshot in a [Report].
type SnapshotReport struct {
	Position uint64 `json:"position"`
	Bytes    int    `json:"bytes"` // of the state
	Problem  string `json:"problem,omitempty"`
}

// Finding is a problem of a log.
type Finding struct {
	// Position is the first position concerned, or 0 if the finding is not about a position.
	Position uint64 `json:"position,omitempty"`
	// Problem describes it in one sentence.
	Problem string `json:"problem"`
	// Harmless reports that no needed event or state is lost: the log can be opened and used.
	Harmless bool `json:"harmless,omitempty"`
}

// Damaged reports whether there is a finding that is not harmless.
func (r *Report) Damaged() bool { return r.Err() != nil }

// Err returns the first finding that is not harmless as an error that wraps ErrDamaged, or nil.
func (r *Report) Err() error {
	for _, f := range r.Findings {
		if !f.Harmless {
			return damaged(r.Dir, nil, "%s", f.Problem)
		}
	}
	return nil
}

// Check reads the whole log in dir and reports its problems. It changes nothing. It returns an
// error only if it cannot read the log: there is none (not_found), it is in use, the disk returns
// errors, or ctx has ended.
//
// It verifies every event's checksum, position and link to the previous one; both ends against the
// acknowledged position; and every snapshot. If pebble cannot open or read its files, Check
// searches their bytes for records, so that the report always states up to which position the log
// is intact.
func Check(ctx context.Context, fs FS, dir string) (*Report, error) {
	in, err := inspect(fs, dir)
	if err != nil {
		return nil, err
	}
	report, err := in.check(ctx)
	if err := errors.Join(err, in.close()); err != nil {
		return nil, err
	}
	return report, nil
}

// inspector reads a log without opening it.
type inspector struct {
	*Store // for its guard; this log is not open
	layout
	salvage   *salvage
	snapshots map[uint64]mark // the intact ones
	sums      map[uint64]uint32
	report    *Report
	end       mark // last record that was read through pebble
}

// inspect locks the log in dir.
func inspect(fs FS, dir string) (*inspector, error) {
	in := &inspector{
		Store:     newStore(fs, dir, DefaultOptions()),
		snapshots: map[uint64]mark{},
		sums:      map[uint64]uint32{},
		report:    &Report{Dir: dir, Snapshots: []SnapshotReport{}, Findings: []Finding{}},
	}
	there := false
	for _, name := range []string{markFileName, eventsName, snapshotName} {
		_, err := in.fs.Stat(in.path(name))
		there = there || err == nil
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, in.ioError("reading the directory", err)
		}
	}
	if !there {
		return nil, noregret.Errorf(noregret.NotFound, dir, "no log here: a log is a directory with %s, %s and %s",
			markFileName, eventsName, snapshotName)
	}
	if _, err := in.fs.Lock(in.path(lockName)); err != nil {
		return nil, lockError(dir, err)
	}
	return in, nil
}

func (in *inspector) close() error {
	fault := in.fs.readFault()
	err := in.fs.abandon()
	if fault != nil {
		return in.ioError("the disk cannot be read: copy what can be read to another one", fault)
	}
	return err
}

func (in *inspector) find(position uint64, format string, args ...any) {
	in.report.Findings = append(in.report.Findings, Finding{Position: position, Problem: fmt.Sprintf(format, args...)})
}

func (in *inspector) check(ctx context.Context) (*Report, error) {
	positions, err := listSnapshots(in.fs, in.dir)
	if err != nil {
		return nil, in.ioError("listing the snapshots", err)
	}
	for _, p := range positions {
		in.sums[p] = 0
	}
	if err := in.checkEvents(ctx); err != nil {
		return nil, err
	}
	if err := in.checkSnapshots(ctx, positions); err != nil {
		return nil, err
	}
	r := in.report
	r.Acknowledged = in.mark.position
	if r.Damaged() && in.salvage == nil {
		if err := in.search(ctx); err != nil {
			return r, err
		}
	}
	if !in.hasMark {
		// A crash while a log is created may leave it without a mark. A log with events has had
		// one.
		r.Findings = append(r.Findings, Finding{Problem: lostMark, Harmless: r.Last == 0 && len(r.Snapshots) == 0})
	}
	return r, nil
}

// lostMark is a problem because, without its mark, a log that ends early looks complete.
const lostMark = "the mark file, which records what was acknowledged, is missing or has no intact record: " +
	"events at the end may be lost without a trace"

// search indexes the records in the bytes, and moves the end to the last record of the run of
// intact records.
func (in *inspector) search(ctx context.Context) (err error) {
	in.salvage = &salvage{pieces: map[uint64][]piece{}}
	_, err = in.fs.Stat(in.path(eventsName))
	if err == nil {
		in.salvage, err = readSalvage(ctx, in.fs, in.path(eventsName))
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		if ctx.Err() != nil {
			return err
		}
		return in.ioError("reading the store", err)
	}
	for p := range in.sums {
		in.salvage.covered = max(in.salvage.covered, p)
	}
	run, end := in.salvage.walk(in.salvage.start())
	r := in.report
	r.Base, r.Last, r.Bytes = in.salvage.start().position, end.position, 0
	for _, p := range run {
		r.Bytes += int64(p.size)
		if _, ok := in.sums[p.position]; ok {
			in.sums[p.position] = p.sum
		}
	}
	r.Readable = in.salvage.beyond(end.position)
	return nil
}

// checkEvents opens the store and reads all events, up to the first damage.
func (in *inspector) checkEvents(ctx context.Context) error {
	var err error
	in.layout, err = readLayout(in.fs, in.dir)
	if err == nil && in.store {
		err = in.readAll(ctx)
	}
	if fault := in.fs.readFault(); fault != nil || ctx.Err() != nil {
		return errors.Join(err, ctx.Err())
	}
	if err == nil {
		return nil
	}
	if !errors.Is(err, ErrDamaged) {
		return err
	}
	if err := in.search(ctx); err != nil {
		return err
	}
	r, problem := in.report, problemOf(err)
	switch {
	case r.Last >= in.mark.position && len(r.Readable) == 0:
		in.find(0, "%s; the records themselves are whole, up to position %d", problem, r.Last)
	default:
		in.find(r.Last+1, "%s; the first record that is missing or damaged is that of position %d", problem, r.Last+1)
	}
	return nil
}

// problemOf returns the message of a damage error without place and prefix.
func problemOf(err error) string {
	if e, ok := errors.AsType[*noregret.Error](err); ok && len(e.Message) > len(ErrDamaged.Error())+2 {
		return e.Message[len(ErrDamaged.Error())+2:]
	}
	return err.Error()
}

// readAll reads all events through pebble.
func (in *inspector) readAll(ctx context.Context) error {
	db, err := in.pebble(true)
	if err != nil {
		return damaged(in.dir, err, "the store cannot be opened: %s", firstLine(err))
	}
	return in.guard(func() (err error) {
		defer func() { err = errors.Join(err, db.Close()) }()
		e := ends{}
		if e.base, err = readBase(db, in.dir); err != nil {
			return err
		}
		it, err := events(db, 0, noEnd)
		if err != nil {
			return readError(in.dir, e.base.position+1, err)
		}
		defer func() { err = errors.Join(err, it.Close()) }()
		c := chain{dir: in.dir, last: e.base}
		in.report.Base, in.report.Last = e.base.position, e.base.position
		for ok := it.First(); ok; ok = it.Next() {
			r, err := c.next(it)
			if err != nil {
				return err
			}
			if in.hasMark && r.Position == in.mark.position && c.last.sum != in.mark.sum {
				return damaged(in.dir, nil, "position %d: its checksum is %08x, but %08x was acknowledged", r.Position,
					c.last.sum, in.mark.sum)
			}
			in.report.Last = r.Position
			in.report.Bytes += int64(recordSize(r.Event))
			if _, ok := in.sums[r.Position]; ok {
				in.sums[r.Position] = c.last.sum
			}
			if r.Position%1024 == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
		}
		if _, ok := in.sums[e.base.position]; ok {
			in.sums[e.base.position] = e.base.sum
		}
		if err := it.Error(); err != nil {
			return readError(in.dir, c.last.position+1, err)
		}
		e.last, in.end = c.last, c.last
		if in.hasMark {
			return e.verifyAgainst(db, in.dir, in.mark)
		}
		return nil
	})
}

// checkSnapshots reads all snapshots.
func (in *inspector) checkSnapshots(ctx context.Context, positions []uint64) error {
	r := in.report
	usable := r.Base == 0
	for _, p := range positions {
		if err := ctx.Err(); err != nil {
			return err
		}
		size := 0
		saved, at, problem, err := readSnapshot(in.fs, in.dir, p)
		if err == nil && saved != nil {
			size = int(saved.Size)
			err = saved.Close()
		}
		if err != nil {
			return in.ioError("reading a snapshot", err)
		}
		if problem == "" && p >= r.Base && p <= r.Last && at.sum != in.sums[p] && !(p == r.Base && in.sums[p] == 0) {
			problem = "it belongs to another log"
		}
		if problem == "" {
			in.snapshots[p] = at
			usable = usable || p >= r.Base
		}
		r.Snapshots = append(r.Snapshots, SnapshotReport{Position: p, Bytes: size, Problem: problem})
	}
	for _, s := range r.Snapshots {
		if s.Problem != "" {
			in.find(0, "the snapshot %s: %s", snapshotFile(s.Position), s.Problem)
			r.Findings[len(r.Findings)-1].Harmless = usable
		} else if s.Position > r.Last {
			in.find(r.Last+1, "the snapshot %s covers positions after %d, which are missing", snapshotFile(s.Position),
				r.Last)
		}
	}
	if !usable && !slices.ContainsFunc(r.Findings, func(f Finding) bool { return !f.Harmless }) {
		in.find(0, "the events 1 to %d were compacted away and no whole snapshot covers them", r.Base)
	}
	return nil
}
