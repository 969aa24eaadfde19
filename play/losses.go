package play

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/memory"
)

// ReadLosses reads the losses of the game losses: comma-separated values (RFC 4180) whose first
// line names the arms. Each further line holds one round, with a finite loss for each arm. Name
// stands for the input in errors, whose place is "name:line". Losses of more than 8 GiB are
// refused.
func ReadLosses(name string, in io.Reader) (arms []string, rows [][]float64, err error) {
	c := csv.NewReader(in)
	c.ReuseRecord = true
	bad := func(line int, format string, args ...any) ([]string, [][]float64, error) {
		return nil, nil, noregret.BadInputf(fmt.Sprintf("%s:%d", name, line), format, args...)
	}
	for {
		record, err := c.Read()
		var parse *csv.ParseError
		switch {
		case err == io.EOF && arms == nil:
			return bad(1, "the file is empty: a line with the names of the arms is required")
		case err == io.EOF && rows == nil:
			return bad(2, "no round: at least one line of losses is required")
		case err == io.EOF:
			return arms, rows, nil
		case errors.As(err, &parse):
			return bad(parse.Line, "not valid CSV: %w", parse.Err)
		case err != nil:
			return nil, nil, err
		}
		line, _ := c.FieldPos(0)
		if arms == nil {
			for _, s := range record {
				arms = append(arms, strings.TrimPrefix(s, "\ufeff"))
			}
			continue
		}
		row := make([]float64, len(record))
		for i, s := range record {
			v, err := strconv.ParseFloat(s, 64)
			if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
				return bad(line, "the loss %.40q of arm %q must be a finite number", s, arms[i])
			}
			row[i] = v
		}
		rows = append(rows, row)
		if len(rows)&4095 == 0 {
			if err := memory.Check(name, "the losses", float64(len(rows))*float64(len(arms)+3)); err != nil {
				return nil, nil, err
			}
		}
	}
}
