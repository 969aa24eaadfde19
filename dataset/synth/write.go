package synth

import (
	"bufio"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/noregret/noregret"
)

// RowWriter writes examples as text. Call Flush after the last row. After an error of the
// underlying writer every call returns that error. A RowWriter is not safe for concurrent use. It
// does not allocate after its first row.
//
// Values are rounded to float32, the type of features in noregret, and written with the fewest
// digits (at most nine significant ones) that read back as that float32. So training on the file
// equals training on the generator's numbers rounded to float32.
type RowWriter struct {
	w       *bufio.Writer
	columns int
	row     func(b []byte, positive bool, x []float64) []byte
	buf     []byte
}

// NewSVMLightWriter returns a writer of svmlight (libsvm) lines: "+1" or "-1", then
// index:value for every feature that is not zero, indices from 1. It returns a
// [noregret.Usage] error if columns is less than 1.
func NewSVMLightWriter(w io.Writer, columns int) (*RowWriter, error) {
	if columns < 1 {
		return nil, noregret.Errorf(noregret.Usage, "synth", "%d columns: at least 1 is required", columns)
	}
	return &RowWriter{w: bufio.NewWriterSize(w, 1<<16), columns: columns, row: svmlightRow}, nil
}

// NewCSVWriter returns a writer of comma-separated values with a header: first the column
// "label", 1 for positive and 0 for negative, then the given columns. It returns a
// [noregret.Usage] error if there are no columns or a name is empty, a duplicate, "label" or needs
// quoting (comma, quote, line break, space at either end).
func NewCSVWriter(w io.Writer, columns []string) (*RowWriter, error) {
	if len(columns) == 0 {
		return nil, noregret.Errorf(noregret.Usage, "synth", "no columns: at least 1 is required")
	}
	for i, c := range columns {
		if c == "" || c == "label" || strings.TrimSpace(c) != c || strings.ContainsAny(c, ",\"\r\n") ||
			slices.Contains(columns[:i], c) {
			return nil, noregret.Errorf(noregret.Usage, "synth",
				"column %d has the name %q: names must be plain, unique and not \"label\"", i+1, c)
		}
	}
	r := &RowWriter{w: bufio.NewWriterSize(w, 1<<16), columns: len(columns), row: csvRow}
	r.buf = append(r.buf, "label,"+strings.Join(columns, ",")+"\n"...)
	_, err := r.w.Write(r.buf)
	return r, err
}

// Write writes one example. It returns a [noregret.Usage] error if x does not have one value per
// column, or else the error of the underlying writer.
func (r *RowWriter) Write(positive bool, x []float64) error {
	if len(x) != r.columns {
		return noregret.Errorf(noregret.Usage, "synth", "a row of %d values: %d are required", len(x), r.columns)
	}
	r.buf = r.row(r.buf[:0], positive, x)
	_, err := r.w.Write(r.buf)
	return err
}

// Flush writes buffered data to the underlying writer, which it does not close.
func (r *RowWriter) Flush() error { return r.w.Flush() }

func svmlightRow(b []byte, positive bool, x []float64) []byte {
	if positive {
		b = append(b, "+1"...)
	} else {
		b = append(b, "-1"...)
	}
	for j, v := range x {
		if float32(v) == 0 {
			continue
		}
		b = append(b, ' ')
		b = strconv.AppendInt(b, int64(j+1), 10)
		b = append(b, ':')
		b = appendValue(b, v)
	}
	return append(b, '\n')
}

func csvRow(b []byte, positive bool, x []float64) []byte {
	if positive {
		b = append(b, '1')
	} else {
		b = append(b, '0')
	}
	for _, v := range x {
		b = append(b, ',')
		b = appendValue(b, v)
	}
	return append(b, '\n')
}

func appendValue(b []byte, v float64) []byte {
	format := byte('e')
	if a := math.Abs(v); a == 0 || a >= 1e-4 && a < 1e9 {
		format = 'f' // 1306418 and not 1.306418e+06
	}
	return strconv.AppendFloat(b, float64(float32(v)), format, -1, 32)
}
