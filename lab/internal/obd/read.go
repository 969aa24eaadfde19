package obd

import (
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/noregret/noregret/bandit/offpolicy"
	"github.com/noregret/noregret/lab/internal/study"
)

// entry is a row of the Open Bandit data: which item was shown at which position.
type entry struct {
	row      offpolicy.Row
	position int
}

// arms is one more than the largest item of the logs.
func arms(logs ...[]entry) int {
	d := 0
	for _, log := range logs {
		for _, e := range log {
			d = max(d, e.row.Arm+1)
		}
	}
	return d
}

// readLog reads the file NAME.csv.gz of the data.
func readLog(dir, name string) (log []entry, err error) {
	path := filepath.Join(dir, name+".csv.gz")
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, study.Missing(dir, name+".csv.gz")
	} else if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	c := csv.NewReader(z)
	c.ReuseRecord = true
	var columns [4]int // of the item, the position, the click and the propensity
	for line := 1; ; line++ {
		record, err := c.Read()
		switch {
		case errors.Is(err, io.EOF) && len(log) == 0:
			return nil, fmt.Errorf("%s: no row", path)
		case errors.Is(err, io.EOF):
			return log, nil
		case err != nil:
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if line == 1 {
			for i, column := range []string{"item_id", "position", "click", "propensity_score"} {
				if columns[i] = slices.Index(record, column); columns[i] < 0 {
					return nil, fmt.Errorf("%s: no column %q", path, column)
				}
			}
			continue
		}
		item, err1 := strconv.Atoi(record[columns[0]])
		position, err2 := strconv.Atoi(record[columns[1]])
		click, err3 := strconv.ParseFloat(record[columns[2]], 64)
		propensity, err4 := strconv.ParseFloat(record[columns[3]], 64)
		if err := errors.Join(err1, err2, err3, err4); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, line, err)
		}
		log = append(log, entry{offpolicy.Row{Arm: item, Reward: click, Propensity: propensity}, position})
	}
}
