package client

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/policy"
)

// UnitOutbox is an [Outbox] that has room for the units that [Local.RecordOnce] knows, in numbered
// files of bytes that grow at their end. With another Outbox a Local forgets its units when it
// ends.
type UnitOutbox interface {
	Outbox
	// Append writes bytes at an offset of a file, which it makes if there is none. What was behind
	// the offset does not matter any more. The bytes survive the process once it has returned nil.
	Append(file uint64, offset int64, data []byte) error
	// Read returns the first bytes of a file.
	Read(file uint64, size int64) ([]byte, error)
	// Remove removes a file, if there is one.
	Remove(file uint64) error
}

func (f *FileOutbox) unitFile(file uint64) string { return fmt.Sprintf("%s.units-%d", f.path, file) }

// Append implements [UnitOutbox].
func (f *FileOutbox) Append(file uint64, offset int64, data []byte) error {
	out, err := os.OpenFile(f.unitFile(file), os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = out.WriteAt(data, offset)
	if err == nil {
		err = out.Sync()
	}
	return errors.Join(err, out.Close())
}

// Read implements [UnitOutbox].
func (f *FileOutbox) Read(file uint64, size int64) ([]byte, error) {
	in, err := os.Open(f.unitFile(file))
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }() // only read
	b := make([]byte, size)
	_, err = in.ReadAt(b, 0)
	return b, err
}

// Remove implements [UnitOutbox].
func (f *FileOutbox) Remove(file uint64) error {
	err := os.Remove(f.unitFile(file))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// unitID names a unit of a version.
type unitID [8]byte

func idOf(d policy.Assignment) (id unitID) {
	b := binary.BigEndian.AppendUint64(nil, d.Version)
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(b, d.Unit))
	copy(id[:], sum[:])
	return id
}

// units are the latest units that were counted, in two halves: when the newer one is full, the
// older one is forgotten. So they are as many as fill one half, or up to twice as many. A unit and
// its sums are kept by the same Store of the outbox: its bytes are in there, until they are many
// and go to a file, of which the next Store says how long it is.
type units struct {
	half       int // units that fill a half, 0 for none
	now, older *unitHalf
	removed    uint64 // up to this one the files were removed; only who keeps uses it
}

// unitHalf is a half of the units that are known.
type unitHalf struct {
	keptHalf
	ids map[unitID]struct{}
}

// keptHalf is what an outbox holds of a half: the number of its file, how many bytes of the file
// belong to it, and the units behind these.
type keptHalf struct {
	File   uint64 `json:"file"`
	Size   int64  `json:"size,omitempty"`
	Recent []byte `json:"recent,omitempty"`
}

// keptUnits is what an outbox holds of the units.
type keptUnits struct {
	Now   keptHalf  `json:"now"`
	Older *keptHalf `json:"older,omitempty"`
}

// mostRecent bounds the bytes of units in the outbox itself, which each Store writes anew.
const mostRecent = 4096 * len(unitID{})

func newUnits(half int) units {
	return units{half: half, now: &unitHalf{keptHalf{File: 1}, map[unitID]struct{}{}}}
}

// knows reports whether a unit is known.
func (u *units) knows(id unitID) bool {
	_, known := u.now.ids[id]
	if !known && u.older != nil {
		_, known = u.older.ids[id]
	}
	return known
}

// add adds a unit that is not known.
func (u *units) add(id unitID) {
	if u.half == 0 {
		return
	}
	if len(u.now.ids) >= u.half {
		u.older = u.now
		u.now = &unitHalf{keptHalf{File: u.older.File + 1}, map[unitID]struct{}{}}
	}
	u.now.ids[id] = struct{}{}
	u.now.Recent = append(u.now.Recent, id[:]...)
}

// kept returns what an outbox holds, nil for nothing.
func (u *units) kept() *keptUnits {
	if u.half == 0 {
		return nil
	}
	k := &keptUnits{Now: u.now.keptHalf}
	if u.older != nil {
		k.Older = &u.older.keptHalf
	}
	return k
}

// spill moves units from the outbox to its files when they are many. Only the next Store says that
// they are there. The caller holds keeping.
func (l *Local) spill(to UnitOutbox) error {
	l.mu.Lock()
	halves := []*unitHalf{l.known.now}
	if l.known.older != nil {
		halves = append(halves, l.known.older)
	}
	l.mu.Unlock()
	for i, h := range halves {
		l.mu.Lock()
		b, least := h.Recent, mostRecent // who appends does not change these bytes
		l.mu.Unlock()
		if i > 0 && h.Size > 0 {
			least = 0 // the last ones of its file
		}
		if len(b) <= least {
			continue
		}
		if err := to.Append(h.File, h.Size, b); err != nil {
			return err
		}
		l.mu.Lock()
		h.Size, h.Recent = h.Size+int64(len(b)), slices.Clone(h.Recent[len(b):])
		l.mu.Unlock()
	}
	return nil
}

// restoreUnits takes over the units that an earlier process has left.
func (l *Local) restoreUnits(k *keptUnits) error {
	from, ok := l.options.Outbox.(UnitOutbox)
	if k == nil || !ok || l.known.half == 0 {
		return nil
	}
	read := func(k keptHalf) (*unitHalf, error) {
		b := k.Recent
		if k.Size > 0 {
			file, err := from.Read(k.File, k.Size)
			if err != nil {
				return nil, noregret.BadInputf("outbox", "damaged: the units that were counted: %w", err)
			}
			b = append(file, b...)
		}
		if len(b)%len(unitID{}) != 0 || k.Size < 0 {
			return nil, noregret.BadInputf("outbox", "damaged: the units that were counted have %d bytes", len(b))
		}
		h := &unitHalf{k, map[unitID]struct{}{}}
		for id := range slices.Chunk(b, len(unitID{})) {
			h.ids[unitID(id)] = struct{}{}
		}
		return h, nil
	}
	var err error
	if l.known.now, err = read(k.Now); err == nil && k.Older != nil {
		l.known.older, err = read(*k.Older)
	}
	// The earlier process may have ended before it removed the last one.
	l.known.removed = max(k.Now.File, 3) - 3
	return err
}

// RecordOnce is [Local.Record] for callers who may report a unit again, as they do without an
// answer. It counts nothing and reports false for a unit and policy version that are among the
// latest [LocalOptions.Remember], also of an earlier process that had the same outbox, if that is a
// [UnitOutbox]. A unit is durable as its sums are: with the next [Local.Keep].
func (l *Local) RecordOnce(d policy.Assignment, metrics map[string]float64) (counted bool, err error) {
	id := idOf(d)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known.knows(id) {
		return false, nil
	}
	if err := l.record(d, metrics); err != nil {
		return false, err
	}
	l.known.add(id)
	return true, nil
}
