package eventlog

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/batchrepr"
	walrecord "github.com/cockroachdb/pebble/v2/record"
)

// salvage is an index of the records in the bytes of a store, made without pebble. Since every
// record holds its length, its position, its checksum and that of the previous record, it can be
// recognised anywhere.
type salvage struct {
	fs     FS
	dir    string // of the store
	pieces map[uint64][]piece
	base   mark // the highest base found
	based  bool // a base was found
	// covered is the highest position of a snapshot: only what one covers can have been compacted
	// away.
	covered uint64
}

// piece is an intact record in a file.
type piece struct {
	link
	file   string
	offset int64  // where it begins
	size   int    // its length
	data   []byte // its bytes, if they are scattered in the file
	order  uint64 // number of the file: the higher, the newer
}

func isTable(name string) bool { return strings.HasSuffix(name, ".sst") }

// readSalvage builds the index. It holds one file at a time in memory; the index takes about 100
// bytes per record.
func readSalvage(ctx context.Context, fs FS, dir string) (*salvage, error) {
	v := &salvage{fs: fs, dir: dir, pieces: map[uint64][]piece{}}
	names, err := fs.List(dir)
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	for _, name := range names {
		stem, ext, _ := strings.Cut(name, ".")
		number, err := strconv.ParseUint(stem, 10, 64)
		if err != nil || (ext != "sst" && ext != "log") {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		data, err := readFile(fs, fs.PathJoin(dir, name), 1<<40)
		if err != nil {
			return nil, err
		}
		v.scan(name, number, data)
		if ext == "log" {
			v.replay(name, number, data)
		}
	}
	return v, nil
}

// scan finds the records with contiguous bytes: all records of a table, most of a write-ahead log.
func (v *salvage) scan(name string, number uint64, data []byte) {
	for at := 0; ; {
		i := bytes.Index(data[at:], []byte("NR"))
		if i < 0 {
			return
		}
		at += i
		if n := wholeRecord(data[at:]); n > 0 {
			v.add(piece{link: linkOf(data[at:]), file: name, offset: int64(at), size: n, order: number})
			at += n
			continue
		}
		if end := at + markBytes; end <= len(data) {
			if m, ok := decodeMark(baseMagic, data[at:end]); ok {
				v.found(m)
			}
		}
		at++
	}
}

// replay finds the records in the complete batches of a write-ahead log, in which a record may be
// split into fragments.
func (v *salvage) replay(name string, number uint64, data []byte) {
	rr := openWAL(walrecord.NewReader, data, number)
	for {
		r, err := rr.Next()
		if err != nil {
			return
		}
		batch, err := io.ReadAll(r)
		if err != nil || len(batch) < batchrepr.HeaderLen {
			return
		}
		for br := batchrepr.Read(batch); ; {
			kind, key, value, ok, err := br.Next()
			if err != nil || !ok {
				break
			}
			if kind != pebble.InternalKeyKindSet {
				continue
			}
			if _, event := keyPosition(key); event && wholeRecord(value) == len(value) {
				v.add(piece{link: linkOf(value), file: name, size: len(value), data: value, order: number})
			} else if m, ok := decodeMark(baseMagic, value); ok {
				v.found(m)
			}
		}
	}
}

// openWAL calls walrecord.NewReader, one of whose parameters has a type internal to pebble.
func openWAL[N ~uint64](open func(io.Reader, N) *walrecord.Reader, data []byte, number uint64) *walrecord.Reader {
	return open(bytes.NewReader(data), N(number))
}

func linkOf(data []byte) link {
	return link{
		position: binary.LittleEndian.Uint64(data[16:]),
		previous: binary.LittleEndian.Uint32(data[12:]),
		sum:      binary.LittleEndian.Uint32(data[8:]),
	}
}

func (v *salvage) add(p piece) {
	for _, q := range v.pieces[p.position] {
		if q.link == p.link {
			return // the record is in the write-ahead log and in a table
		}
	}
	v.pieces[p.position] = append(v.pieces[p.position], p)
}

func (v *salvage) found(m mark) {
	if !v.based || m.position > v.base.position {
		v.base, v.based = m, true
	}
}

// start returns the base or, if it is lost and a snapshot covers the positions before it, the
// position before the first record. Otherwise the log was never compacted, so that the positions
// before the first record are damaged.
func (v *salvage) start() mark {
	if v.based || len(v.pieces) == 0 {
		return v.base
	}
	low := noEnd
	for p := range v.pieces {
		low = min(low, p)
	}
	if low <= 1 || low-1 > v.covered {
		return mark{}
	}
	return mark{low - 1, v.pieces[low][0].previous}
}

// walk returns the longest run of records after from in which each record holds the checksum of the
// previous one. Of several such records of one position it takes the newest.
func (v *salvage) walk(from mark) (run []piece, end mark) {
	for end = from; ; {
		best := -1
		next := v.pieces[end.position+1]
		for i, p := range next {
			if p.previous == end.sum && (best < 0 || p.order > next[best].order) {
				best = i
			}
		}
		if best < 0 {
			return run, end
		}
		run = append(run, next[best])
		end = mark{next[best].position, next[best].sum}
	}
}

// beyond returns the positions after end that have an intact record, as ranges.
func (v *salvage) beyond(end uint64) (out []Range) {
	var positions []uint64
	for p := range v.pieces {
		if p > end {
			positions = append(positions, p)
		}
	}
	slices.Sort(positions)
	for _, p := range positions {
		if n := len(out); n > 0 && out[n-1].Last+1 == p {
			out[n-1].Last = p
		} else {
			out = append(out, Range{p, p})
		}
	}
	return out
}

// copyTo durably writes the records of a run and their base to an empty store.
func (v *salvage) copyTo(ctx context.Context, db *pebble.DB, base mark, run []piece) error {
	b := db.NewBatch()
	if err := b.Set(baseKey, encodeMark(baseMagic, base), nil); err != nil {
		return err
	}
	var file string
	var data []byte
	for _, p := range run {
		value := p.data
		if value == nil {
			if file != p.file {
				var err error
				if data, err = readFile(v.fs, v.fs.PathJoin(v.dir, p.file), 1<<40); err != nil {
					return err
				}
				file = p.file
			}
			value = data[p.offset:][:p.size]
		}
		if err := b.Set(eventKey(p.position), value, nil); err != nil {
			return err
		}
		if b.Len() > 1<<20 {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := db.Apply(b, pebble.NoSync); err != nil {
				return err
			}
			b = db.NewBatch()
		}
	}
	if err := db.Apply(b, pebble.Sync); err != nil {
		return err
	}
	return db.Flush()
}

// dropped describes the intact records that do not lie after base and up to end.
func (v *salvage) dropped(base, end uint64) (out []DroppedKind, err error) {
	var positions []uint64
	for p := range v.pieces {
		if p <= base || p > end {
			positions = append(positions, p)
		}
	}
	slices.Sort(positions)
	var file string
	var data []byte
	for _, position := range positions {
		p := v.pieces[position][0]
		value := p.data
		if value == nil {
			if file != p.file {
				if data, err = readFile(v.fs, v.fs.PathJoin(v.dir, p.file), 1<<40); err != nil {
					return nil, err
				}
				file = p.file
			}
			value = data[p.offset:][:p.size]
		}
		r, _, problem := decodeRecord(value)
		if problem != "" {
			continue // it was intact when it was found
		}
		i := slices.IndexFunc(out, func(k DroppedKind) bool { return k.Kind == r.Kind })
		if i < 0 {
			i = len(out)
			out = append(out, DroppedKind{Kind: r.Kind, First: position, From: r.Time, To: r.Time})
		}
		k := &out[i]
		k.Events++
		k.Last, k.From, k.To = position, min(k.From, r.Time), max(k.To, r.Time)
	}
	return out, nil
}

// Range is a run of positions.
type Range struct {
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
}
