package experiment

import (
	"bytes"
	"encoding/base64"
	"io"

	"github.com/noregret/noregret/internal/strictjson"
)

// columnMarks are in the place of the columns of a cohort's rows while the rest of a snapshot is
// JSON in memory. The columns are written and read in pieces, as they may be larger than that.
type columnMarks struct {
	Unit   string `json:"unit"`
	Slot   string `json:"slot"`
	Mask   string `json:"mask"`
	Values string `json:"values"`
}

var (
	marks    = columnMarks{"@unit", "@slot", "@mask", "@values"}
	markText = []byte(`"unit":"@unit","slot":"@slot","mask":"@mask","values":"@values"`)
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

// cohort writes a cohort with its columns.
func (w *snapshotWriter) cohort(c *cohort) {
	b, err := strictjson.Encode(c)
	if err != nil {
		w.fail(err)
	}
	before, after, _ := bytes.Cut(b, markText)
	_, _ = w.Write(before)
	end := c.rows.size()
	for _, p := range []struct {
		name     string
		from, to int
	}{
		{`"unit":"`, unitAt, stateAt},
		{`","slot":"`, stateAt, maskAt},
		{`","mask":"`, maskAt, valuesAt},
		{`","values":"`, valuesAt, end},
	} {
		w.text(p.name)
		encode := base64.NewEncoder(base64.StdEncoding, w)
		for chunk := range c.rows.column(p.from, p.to) {
			_, _ = encode.Write(chunk)
		}
		_ = encode.Close() // w has the error
	}
	w.text(`"`)
	_, _ = w.Write(after)
}
