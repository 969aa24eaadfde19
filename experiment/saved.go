package experiment

import (
	"bufio"
	"encoding/binary"
	"io"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/experiment/join"
	"github.com/noregret/noregret/internal/pages"
)

// savedMagic begins a state as [Frozen.Save] writes it.
const savedMagic = "noregret saved state 1\n"

// Save writes the state for a snapshot of the log. [State.Restore] reads it several times as fast
// as the JSON of [Frozen.WriteTo]: the units that wait for feedback are as they are in memory, and
// the rest is the same JSON (docs/formats/state.md). Save writes in pieces, so that it needs little
// memory for the units, and returns the number of bytes.
func (f *Frozen) Save(to io.Writer) (n int64, err error) {
	defer catchLost(&err)
	w := &snapshotWriter{to: to}
	w.text(savedMagic)
	w.integer(len(f.saved.Experiments), 4)
	for i := range f.saved.Experiments {
		cohorts := f.saved.Experiments[i].Cohorts
		w.integer(len(cohorts), 4)
		for _, c := range cohorts {
			w.integer(c.Len(), 8)
			w.integer(c.Width(), 4)
			for records := range c.Records() {
				_, _ = w.Write(records)
			}
		}
	}
	f.writeJSON(w, func(c *join.Version) { w.value(c) })
	return w.n, w.err
}

// integer writes a number of some bytes, little-endian.
func (w *snapshotWriter) integer(v, bytes int) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(v))
	_, _ = w.Write(b[:bytes])
}

// mostSavedRows is more than the units of an experiment that can wait.
const mostSavedRows = 1 << 27

// readSaved reads what [Frozen.Save] wrote: the rows of each cohort by experiment, and the JSON.
func readSaved(in *bufio.Reader, memory *pages.Pool) (rest []byte, columns [][]*join.Columns, err error) {
	r := savedReader{in: in, make: join.NewAssembler(memory)}
	defer r.make.Wait()
	r.expect(savedMagic)
	for experiments := r.integer(4, "experiments", math.MaxInt32); experiments > 0 && r.err == nil; experiments-- {
		var of []*join.Columns
		for cohorts := r.integer(4, "versions", math.MaxInt32); cohorts > 0 && r.err == nil; cohorts-- {
			of = append(of, r.rows())
		}
		columns = append(columns, of)
	}
	if r.err == nil {
		rest, r.err = io.ReadAll(in)
	}
	return rest, columns, r.err
}

// savedReader reads the parts of a saved state. After an error it reads nothing.
type savedReader struct {
	in   *bufio.Reader
	make *join.Assembler
	err  error
}

func (r *savedReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = noregret.BadInputf("snapshot", "cannot be read: "+format, args...)
	}
}

func (r *savedReader) read(b []byte) error {
	if r.err == nil {
		if _, err := io.ReadFull(r.in, b); err != nil {
			r.fail("a part is missing: %w", err)
		}
	}
	return r.err
}

func (r *savedReader) expect(text string) {
	b := make([]byte, len(text))
	if r.read(b) == nil && string(b) != text {
		r.fail("it begins with %q: want %q", b, text)
	}
}

// integer reads a number of some bytes, of at most a value.
func (r *savedReader) integer(bytes int, of string, most uint64) int {
	var b [8]byte
	if r.read(b[:bytes]) != nil {
		return 0
	}
	v := binary.LittleEndian.Uint64(b[:])
	if v > most {
		r.fail("%d %s: want at most %d", v, of, most)
		return 0
	}
	return int(v)
}

// rows reads the rows of a cohort and makes their index.
func (r *savedReader) rows() *join.Columns {
	t := &join.Columns{}
	n, width := r.integer(8, "rows", mostSavedRows), r.integer(4, "metrics", join.MostWidth)
	if n > 0 && width == 0 {
		r.fail("%d rows without metrics", n)
	}
	if n > 0 && r.err == nil {
		_ = t.Fill(r.make, n, width, r.read) // r has the error
	}
	return t
}
