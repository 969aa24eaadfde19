package offpolicy

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/strictjson"
)

// Reader reads the rows of a log one by one. Make one with [NewJSONLines], [NewCSV], [NewDSJSON] or
// [NewExport]. Its errors have the place "name:line". It checks syntax; whether a row makes sense
// is for the [Doctor] and the [Evaluator] to say.
type Reader struct {
	name    string
	line    int // that was read last
	began   int // the line of the last row, where rows are not returned as they are read
	skipped int64
	next    func(r *Row) error
	err     error
}

// Read reads the next row into r. At the end of the log it returns [io.EOF]. An error of code
// bad_input is about the line. After an error r must not be used, and all later calls return the
// same error.
func (d *Reader) Read(r *Row) error {
	if d.err == nil {
		d.err = d.next(r)
	}
	return d.err
}

// Line is the number of the line that the last row began on, from 1.
func (d *Reader) Line() int {
	if d.began > 0 {
		return d.began
	}
	return d.line
}

// Skipped is the number of lines, or in an export of exposed units, that hold no decision to learn
// from, as [NewDSJSON] and [NewExport] say. It is 0 for other formats.
func (d *Reader) Skipped() int64 { return d.skipped }

// bad returns an error about the current line.
func (d *Reader) bad(format string, args ...any) error {
	return noregret.BadInputf(fmt.Sprintf("%s:%d", d.name, d.line), format, args...)
}

// maxLine is the longest line of JSON in bytes.
const maxLine = 16 << 20

// lines calls parse with each line of in. Parse reports whether it has read a row.
func (d *Reader) lines(in io.Reader, parse func(line []byte, r *Row) (bool, error)) {
	line := d.scanner(in)
	d.next = func(r *Row) error {
		for {
			text, err := line()
			if err != nil {
				return err
			}
			if ok, err := parse(text, r); ok || err != nil {
				return err
			}
			d.skipped++
		}
	}
}

// scanner returns a function that returns the lines of in one by one, and [io.EOF] after the last
// one. A line is valid until the next call.
func (d *Reader) scanner(in io.Reader) func() ([]byte, error) {
	s := bufio.NewScanner(in)
	s.Buffer(make([]byte, 0, 64<<10), maxLine)
	return func() ([]byte, error) {
		if s.Scan() {
			d.line++
			return s.Bytes(), nil
		}
		switch err := s.Err(); {
		case err == nil:
			return nil, io.EOF
		case errors.Is(err, bufio.ErrTooLong):
			d.line++
			return nil, d.bad("the line is longer than %d bytes", maxLine)
		default:
			return nil, noregret.Errorf(noregret.Internal, d.name, "cannot read: %w", err)
		}
	}
}

// jsonRow is the form of a row in JSON lines.
type jsonRow struct {
	ID           string    `json:"id,omitempty"`
	Time         string    `json:"time,omitempty"`
	Arm          int       `json:"arm"`
	Propensity   float64   `json:"propensity"`
	Reward       float64   `json:"reward"`
	Propensities []float64 `json:"propensities,omitempty"`
	Target       []float64 `json:"target,omitempty"`
}

// NewJSONLines reads one JSON object per line:
//
//	{"arm":2,"propensity":0.25,"reward":1}
//
// These members are required; "id", "time" (RFC 3339), "propensities" and "target" (an array with a
// number for each arm) are optional. Other members are errors. Name stands for the input in errors.
func NewJSONLines(name string, in io.Reader) *Reader {
	d := &Reader{name: name}
	d.lines(in, func(line []byte, r *Row) (bool, error) {
		var j jsonRow
		if err := strictjson.Decode(line, &j, strictjson.Rules{Required: true}); err != nil {
			return false, d.bad("%w", err)
		}
		at, err := d.time(j.Time)
		if err != nil {
			return false, err
		}
		*r = Row{
			ID: j.ID, Time: at, Arm: j.Arm, Propensity: j.Propensity, Reward: j.Reward,
			Propensities: j.Propensities, Target: j.Target,
		}
		return true, nil
	})
	return d
}

// time reads a time, which may be empty.
func (d *Reader) time(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return t, d.bad("the time %.40q must be of the form 2006-01-02T15:04:05Z (RFC 3339)", text)
	}
	return t, nil
}
