package experiment

import (
	"io"

	"github.com/noregret/noregret/experiment/join"
	"github.com/noregret/noregret/internal/strictjson"
)

// snapshotWriter writes parts of a snapshot. After an error it writes nothing.
type snapshotWriter struct {
	to  io.Writer
	n   int64
	err error
}

// Write implements [io.Writer].
func (w *snapshotWriter) Write(b []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	n, err := w.to.Write(b)
	w.n, w.err = w.n+int64(n), err
	return n, err
}

func (w *snapshotWriter) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

func (w *snapshotWriter) text(s string) { _, _ = w.Write([]byte(s)) }

func (w *snapshotWriter) value(v any) {
	b, err := strictjson.Encode(v)
	if err != nil {
		w.fail(err)
	}
	_, _ = w.Write(b)
}

// version writes a version with the columns of its rows.
func (w *snapshotWriter) version(v *join.Version) { w.fail(v.WriteJSON(w)) }
