package offpolicy

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/noregret/noregret"
)

// NewCSV reads comma-separated values (RFC 4180) whose first line names the columns: arm,
// propensity and reward; optionally id, time (RFC 3339), propensity_0, propensity_1 and so on for
// the logging policy's probabilities of all arms, and target_0, target_1 and so on for the target
// policy's. Other columns are errors. Name stands for the input in errors.
func NewCSV(name string, in io.Reader) *Reader {
	d := &Reader{name: name}
	c := csv.NewReader(in)
	c.ReuseRecord = true
	var header *csvHeader
	d.next = func(r *Row) error {
		if header == nil {
			record, err := d.record(c)
			if err == io.EOF {
				d.line = 1
				return d.bad("the file is empty: a line with the names of the columns is required")
			}
			if err != nil {
				return err
			}
			if header, err = d.header(record); err != nil {
				return err
			}
		}
		record, err := d.record(c)
		if err != nil {
			return err
		}
		return d.row(header, record, r)
	}
	return d
}

// record reads a record and sets the line on which it begins.
func (d *Reader) record(c *csv.Reader) ([]string, error) {
	record, err := c.Read()
	var parse *csv.ParseError
	switch {
	case err == nil:
		d.line, _ = c.FieldPos(0)
		return record, nil
	case err == io.EOF:
		return nil, io.EOF
	case errors.As(err, &parse):
		d.line = parse.Line
		return nil, d.bad("not valid CSV: %w", parse.Err)
	default:
		return nil, noregret.Errorf(noregret.Internal, d.name, "cannot read: %w", err)
	}
}

// csvHeader says where the columns are, −1 for none.
type csvHeader struct {
	id, time, arm, propensity, reward int
	propensities, target              []int
}

func (d *Reader) header(record []string) (*csvHeader, error) {
	at := map[string]int{}
	record[0] = strings.TrimPrefix(record[0], "\ufeff")
	for i, name := range record {
		if _, ok := at[name]; ok {
			return nil, d.bad("the column %.40q occurs twice", name)
		}
		at[name] = i
	}
	take := func(name string) int {
		i, ok := at[name]
		if !ok {
			return -1
		}
		delete(at, name)
		return i
	}
	list := func(prefix string) (out []int) {
		for i := take(prefix + "0"); i >= 0; i = take(fmt.Sprintf("%s%d", prefix, len(out))) {
			out = append(out, i)
		}
		return out
	}
	h := &csvHeader{
		id: take("id"), time: take("time"), arm: take("arm"), propensity: take("propensity"), reward: take("reward"),
		propensities: list("propensity_"), target: list("target_"),
	}
	for i, name := range record { // in the order of the file, not of the map
		if j, ok := at[name]; ok && i == j {
			return nil, d.bad("the column %.40q is unknown or out of sequence: the columns are arm, propensity, "+
				"reward, "+
				"id, time, propensity_0, propensity_1 and so on, target_0, target_1 and so on", name)
		}
	}
	if h.arm < 0 || h.propensity < 0 || h.reward < 0 || len(at) > 0 {
		return nil, d.bad("the columns arm, propensity and reward are required")
	}
	return h, nil
}

func (d *Reader) row(h *csvHeader, record []string, r *Row) (err error) {
	*r = Row{}
	if h.id >= 0 {
		r.ID = record[h.id]
	}
	if h.time >= 0 {
		if r.Time, err = d.time(record[h.time]); err != nil {
			return err
		}
	}
	if r.Arm, err = strconv.Atoi(record[h.arm]); err != nil {
		return d.bad("the arm %.40q must be an integer", record[h.arm])
	}
	if r.Propensity, err = d.number("propensity", record[h.propensity]); err != nil {
		return err
	}
	if r.Reward, err = d.number("reward", record[h.reward]); err != nil {
		return err
	}
	if r.Propensities, err = d.numbers("propensity", h.propensities, record); err != nil {
		return err
	}
	r.Target, err = d.numbers("target", h.target, record)
	return err
}

func (d *Reader) numbers(what string, columns []int, record []string) ([]float64, error) {
	if len(columns) == 0 {
		return nil, nil
	}
	out := make([]float64, len(columns))
	for k, i := range columns {
		x, err := d.number(what, record[i])
		if err != nil {
			return nil, err
		}
		out[k] = x
	}
	return out, nil
}

func (d *Reader) number(what, text string) (float64, error) {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		return 0, d.bad("the %s %.40q must be a finite number", what, text)
	}
	return x, nil
}
