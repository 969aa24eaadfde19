package jetstream

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/internal/atomicfile"
)

// A snapshot is a file of this node: magic "NRS2", position uint64, the sequence number uint64 of
// the message that has the position, when the stream was created (int64, nanoseconds since the Unix
// epoch), the message's checksum uint32, the state, and the CRC-32C uint32 of all that.
const (
	snapshotDir    = "snapshots"
	snapshotMagic  = "NRS2"
	snapshotHeader = 32
	snapshotSuffix = ".snap"
)

// snapshotFile returns the name of the file of a snapshot.
func (l *Log) snapshotFile(position uint64) string {
	return filepath.Join(l.o.Dir, snapshotDir, fmt.Sprintf("%020d%s", position, snapshotSuffix))
}

// findSnapshots lists the snapshots of this node, or gets one from the bucket.
func (l *Log) findSnapshots(ctx context.Context) error {
	names, err := os.ReadDir(filepath.Join(l.o.Dir, snapshotDir))
	if err != nil {
		return noregret.Errorf(noregret.Internal, l.o.Dir, "%w", err)
	}
	l.snapshots = nil
	for _, n := range names {
		digits, ok := strings.CutSuffix(n.Name(), snapshotSuffix)
		if position, err := strconv.ParseUint(digits, 10, 64); ok && err == nil && len(digits) == 20 {
			l.snapshots = append(l.snapshots, position)
		}
	}
	slices.Sort(l.snapshots)
	if n := len(l.snapshots); n > 0 && l.snapshots[n-1] > l.last.position {
		return l.lost("it ends at position %d, but the snapshot %s covers %d", l.last.position,
			filepath.Base(l.snapshotFile(l.snapshots[n-1])), l.snapshots[n-1])
	}
	return l.download(ctx)
}

// SaveSnapshot implements [eventlog.Snapshotter].
func (l *Log) SaveSnapshot(ctx context.Context, position uint64, state []byte) error {
	return l.WriteSnapshot(ctx, position, func(w io.Writer) error {
		_, err := w.Write(state)
		return err
	})
}

// WriteSnapshot implements [eventlog.Snapshotter]. It removes the oldest snapshots beyond
// Options.KeepSnapshots. The last [eventlog.Reserve] bytes of the disk stay free.
func (l *Log) WriteSnapshot(ctx context.Context, position uint64, write func(io.Writer) error) error {
	l.snapMu.Lock()
	defer l.snapMu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	l.mu.Lock()
	err, base, last, latest, writes := l.writable(), l.base, l.last.position, uint64(1), l.stats.Groups > 0
	if n := len(l.snapshots); n > 0 {
		latest = l.snapshots[n-1]
	}
	latest = max(latest, base.position)
	l.mu.Unlock()
	switch {
	case err != nil:
		return err
	case position < latest || position > last:
		return noregret.Errorf(noregret.Usage, "snapshot", "position %d: it must lie between %d (the latest "+
			"snapshot or the first event) and %d (the last event)", position, latest, last)
	}
	at := base
	if position != base.position {
		m, err := l.at(ctx, &cursor{next: position})
		if err != nil {
			return err
		}
		at = point{position, m.sequence, m.sum}
	}
	if err := l.writeSnapshot(at, write); err != nil {
		return err
	}
	l.mu.Lock()
	if n := len(l.snapshots); n == 0 || l.snapshots[n-1] != position {
		l.snapshots = append(l.snapshots, position)
	}
	drop := max(0, len(l.snapshots)-l.events.KeepSnapshots)
	old := slices.Clone(l.snapshots[:drop])
	l.snapshots = slices.Delete(l.snapshots, 0, drop)
	l.mu.Unlock()
	for _, p := range old {
		_ = os.Remove(l.snapshotFile(p)) // an extra snapshot is harmless
	}
	l.tell(ctx, at)
	if l.begins > 0 {
		return l.upload(ctx, position)
	}
	if writes {
		_ = l.upload(ctx, position) // Compact looks at what the bucket has
	}
	return nil
}

// writeSnapshot writes the file of a snapshot.
func (l *Log) writeSnapshot(at point, write func(io.Writer) error) error {
	f, err := atomicfile.CreatePrivate(l.snapshotFile(at.position))
	if err != nil {
		return err
	}
	defer f.Abort()
	w := &sumWriter{to: f, dir: l.o.Dir}
	b := bufio.NewWriterSize(w, 1<<18)
	_, _ = b.Write(l.snapshotBegin(at)) // w has the error
	err = write(b)
	_ = b.Flush()
	if w.err == nil && err == nil {
		_, w.err = f.Write(binary.LittleEndian.AppendUint32(nil, w.sum))
	}
	if w.err == nil && err == nil {
		w.err = f.Commit()
	}
	if w.err != nil {
		return noregret.Errorf(noregret.Internal, l.o.Dir, "saving a snapshot: %w", w.err)
	}
	return err
}

// snapshotBegin returns what comes before the state.
func (l *Log) snapshotBegin(at point) []byte {
	b := append(make([]byte, 0, snapshotHeader), snapshotMagic...)
	b = binary.LittleEndian.AppendUint64(b, at.position)
	b = binary.LittleEndian.AppendUint64(b, at.sequence)
	b = binary.LittleEndian.AppendUint64(b, uint64(l.created))
	return binary.LittleEndian.AppendUint32(b, at.sum)
}

// sumWriter writes a snapshot, unless the disk of a directory has too little room, and computes the
// checksum. After an error it writes nothing.
type sumWriter struct {
	to  io.Writer
	dir string // "" for any room
	sum uint32
	n   int64
	err error
}

// Write implements [io.Writer].
func (w *sumWriter) Write(b []byte) (n int, err error) {
	if w.err != nil {
		return 0, w.err
	}
	if w.dir != "" {
		if free, known := eventlog.Free(nil, w.dir); known && free < eventlog.Reserve+uint64(len(b)) {
			w.err = noregret.Errorf(noregret.Internal, w.dir, "%w: %d MiB are free", eventlog.ErrNoRoom, free>>20)
			return 0, w.err
		}
	}
	n, w.err = w.to.Write(b)
	w.sum = crc32.Update(w.sum, castagnoli, b[:n])
	w.n += int64(n)
	return n, w.err
}

// readSnapshot opens a snapshot of this node and checks it as a whole. The problem says why it
// cannot be used.
func (l *Log) readSnapshot(position uint64) (s *eventlog.SavedSnapshot, at point, problem string, err error) {
	f, err := os.Open(l.snapshotFile(position))
	if err != nil {
		return nil, at, "", err
	}
	defer func() {
		if s == nil {
			_ = f.Close() // only read
		}
	}()
	info, err := f.Stat()
	if err != nil {
		return nil, at, "", err
	}
	size := info.Size() - snapshotHeader - sumBytes
	if size < 0 {
		return nil, at, "truncated", nil
	}
	sum := &sumWriter{to: io.Discard}
	if _, err := io.CopyN(sum, f, snapshotHeader+size); err != nil {
		return nil, at, "", err
	}
	var b [snapshotHeader]byte
	var end [sumBytes]byte
	_, err = f.ReadAt(b[:], 0)
	if err == nil {
		_, err = f.ReadAt(end[:], snapshotHeader+size)
	}
	if err != nil {
		return nil, at, "", err
	}
	at = point{
		binary.LittleEndian.Uint64(b[4:]), binary.LittleEndian.Uint64(b[12:]), binary.LittleEndian.Uint32(b[28:]),
	}
	switch {
	case string(b[:4]) != snapshotMagic:
		return nil, at, "does not begin with " + snapshotMagic, nil
	case sum.sum != binary.LittleEndian.Uint32(end[:]):
		return nil, at, "its checksum is wrong", nil
	case at.position != position:
		return nil, at, fmt.Sprintf("covers position %d", at.position), nil
	case int64(binary.LittleEndian.Uint64(b[20:])) != l.created:
		return nil, at, "it belongs to another log", nil
	}
	return eventlog.NewSavedSnapshot(position, size, &openState{f, l.life.Done(), l.place}, f.Close), at, "", nil
}

// openState is a snapshot's file behind the header. It can be read until the log is closed.
type openState struct {
	file   *os.File
	closed <-chan struct{} // of the log, as is the place
	place  string
}

// ReadAt implements [io.ReaderAt].
func (o *openState) ReadAt(b []byte, at int64) (int, error) {
	select {
	case <-o.closed:
		return 0, noregret.Errorf(noregret.Usage, o.place, "%w", eventlog.ErrClosed)
	default:
		return o.file.ReadAt(b, snapshotHeader+at)
	}
}

// choose opens the first of the snapshots that is whole and belongs to the log. It is nil if there
// is none and the log has all events.
func (l *Log) choose(ctx context.Context, newest bool) (*eventlog.SavedSnapshot, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l.mu.Lock()
	err, base, positions := l.usable(), l.base, slices.Clone(l.snapshots)
	l.mu.Unlock()
	if err != nil || !newest && base.position == 0 {
		return nil, err
	}
	if newest {
		slices.Reverse(positions)
	}
	problems := ""
	for _, p := range positions {
		if p < base.position {
			continue
		}
		saved, at, problem, err := l.readSnapshot(p)
		if err != nil {
			return nil, noregret.Errorf(noregret.Internal, l.o.Dir, "reading a snapshot: %w", err)
		}
		if problem == "" {
			if err := l.belongs(ctx, at, base); err == nil {
				return saved, nil
			} else if !errors.Is(err, eventlog.ErrDamaged) {
				return nil, errors.Join(err, saved.Close())
			}
			if err := saved.Close(); err != nil {
				return nil, err
			}
			problem = "it belongs to another log"
		}
		problems += fmt.Sprintf("; snapshot %d: %s", p, problem)
		if l.events.Skipped != nil {
			l.events.Skipped(l.snapshotFile(p), problem)
		}
	}
	if base.position > 0 {
		return nil, l.damaged("the events 1 to %d were dropped and no whole snapshot of this node covers them%s",
			base.position, problems)
	}
	return nil, nil
}

// belongs checks that the event before a snapshot's end is that of the log.
func (l *Log) belongs(ctx context.Context, at, base point) error {
	held := base
	if at.position != base.position {
		m, err := l.at(ctx, &cursor{next: at.position})
		if err != nil {
			return err
		}
		held = point{at.position, m.sequence, m.sum}
	}
	if held != at {
		return l.damaged("the snapshot at %d does not belong to it", at.position)
	}
	return nil
}

// ReadSnapshot implements [eventlog.Snapshotter].
func (l *Log) ReadSnapshot(ctx context.Context, read func(state io.Reader) error) (position uint64, err error) {
	return l.readChosen(ctx, true, read)
}

func (l *Log) readChosen(ctx context.Context, newest bool, read func(io.Reader) error) (position uint64, err error) {
	l.snapMu.Lock()
	defer l.snapMu.Unlock()
	s, err := l.choose(ctx, newest)
	if err != nil || s == nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return s.Position, read(s.State())
}

// LatestSnapshot implements [eventlog.Snapshotter].
func (l *Log) LatestSnapshot(ctx context.Context) (eventlog.Snapshot, error) {
	return l.snapshot(ctx, true)
}

// OldestSnapshot implements [eventlog.Snapshotter].
func (l *Log) OldestSnapshot(ctx context.Context) (eventlog.Snapshot, error) {
	return l.snapshot(ctx, false)
}

func (l *Log) snapshot(ctx context.Context, newest bool) (eventlog.Snapshot, error) {
	var b bytes.Buffer
	position, err := l.readChosen(ctx, newest, func(r io.Reader) error {
		_, err := b.ReadFrom(r)
		return err
	})
	return eventlog.Snapshot{Position: position, State: b.Bytes()}, err
}

// OpenSnapshots implements [eventlog.Snapshotter].
func (l *Log) OpenSnapshots(ctx context.Context) (out []*eventlog.SavedSnapshot, err error) {
	l.snapMu.Lock()
	defer l.snapMu.Unlock()
	for _, newest := range []bool{false, true} {
		s, err := l.choose(ctx, newest)
		switch {
		case err != nil:
			for _, o := range out {
				err = errors.Join(err, o.Close())
			}
			return nil, err
		case s == nil:
		case len(out) == 1 && out[0].Position == s.Position:
			if err := s.Close(); err != nil {
				return nil, errors.Join(err, out[0].Close())
			}
		default:
			out = append(out, s)
		}
	}
	return out, nil
}

// Usage implements [eventlog.Log]: the bytes of the stream and of this node's snapshots, and the
// room of this node's disk.
func (l *Log) Usage() (eventlog.Usage, error) {
	u, err := eventlog.Measure(nil, l.o.Dir)
	if err != nil {
		return eventlog.Usage{}, err
	}
	state, err := l.wire.look(l.life)
	if err != nil {
		return eventlog.Usage{}, l.errorf(noregret.Internal, "%w", err)
	}
	u.Bytes += int64(state.bytes)
	return u, nil
}
