package scenario

import (
	"bufio"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/noregret/noregret"
)

// readCSV calls row for each record of a gzip-compressed CSV file, with its line number. It reports
// whether the file exists.
func readCSV(dir, name string, row func(line int, f []string) error) (found bool, err error) {
	if dir == "" {
		return false, nil
	}
	path := filepath.Join(dir, filepath.FromSlash(name))
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, noregret.Errorf(noregret.NotFound, path, "%w", err)
	}
	defer file.Close()
	z, err := gzip.NewReader(bufio.NewReader(file))
	if err != nil {
		return false, noregret.BadInputf(path, "not gzip: %w", err)
	}
	r := csv.NewReader(z)
	r.ReuseRecord = true
	for {
		f, err := r.Read()
		if err == io.EOF {
			return true, nil
		}
		line, _ := r.FieldPos(0)
		if err == nil {
			err = row(line, f)
		}
		if err != nil {
			return false, noregret.BadInputf(fmt.Sprintf("%s:%d", path, line), "%w", err)
		}
	}
}

// number parses a finite number.
func number(s string) (float64, error) {
	v, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || v-v != 0 {
		return 0, fmt.Errorf("%q: want a finite number", s)
	}
	return v, nil
}
