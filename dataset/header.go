package dataset

import (
	"slices"
	"strconv"
	"strings"
)

// hasHeader decides whether the first row names the columns. start is at the first row.
func (p *csvPlanner) hasHeader(start headRows, first, second []string) (bool, error) {
	switch p.opt.Header {
	case HeaderYes:
		return true, nil
	case HeaderNo:
		return false, nil
	}
	label := len(first) - 1
	if l := p.opt.LabelColumn; l != "" && l != "last" {
		for _, name := range first {
			if name == l && !isNumber(name) {
				return true, nil
			}
		}
		if n, err := strconv.Atoi(l); err == nil {
			label = n - 1
		}
	}
	if !looksLikeHeader(first, second, label) {
		return p.namesLabel(start, first)
	}
	data, err := p.beginsWithText(start, first)
	return !data, err
}

// namesLabel reports whether the first row has a name that a label has, which is not in the same
// column of the rows after it, as the label of a row would be, and the other columns are numbered
// one after the other, as a table without names of its own is written.
func (p *csvPlanner) namesLabel(start headRows, first []string) (bool, error) {
	name := usualLabel(first)
	if name == "" {
		return false, nil
	}
	at, last := slices.Index(first, name), -1
	for i, cell := range first {
		n, err := strconv.Atoi(cell)
		switch {
		case i == at || cell == "":
		case err != nil || n < 0 || last >= 0 && n != last+1:
			return false, nil
		default:
			last = n
		}
	}
	start.cells, start.buf = nil, nil
	_, _ = start.first() // first itself
	for n := range lookRows {
		row := start.next()
		if row == nil && p.partial {
			return false, errPlanLater
		}
		if row == nil {
			return n > 0, nil
		}
		if at < len(row) && row[at] == name {
			return false, nil
		}
	}
	return true, nil
}

// beginsWithText reports whether the first row is the data of a file of texts, although no cell is
// a number: it has words in a column of texts, and the cell of another column is there again in
// later rows, as a label is and the name of a column is not.
func (p *csvPlanner) beginsWithText(start headRows, first []string) (bool, error) {
	text := make([]guess, len(first)) // of the columns in which the first row has words
	sentence := func(cell string) bool { return strings.Contains(cell, " ") }
	waits := slices.ContainsFunc(first, sentence)
	start.cells, start.buf = nil, nil
	again := make([]bool, len(first))
	_, _ = start.first() // first itself
	for n := 1; waits; n++ {
		row := start.next()
		if row == nil && p.partial {
			return false, errPlanLater
		}
		if row == nil {
			break
		}
		waits = false
		for i := range min(len(row), len(first)) {
			if again[i] = again[i] || row[i] == first[i] && !isMissing([]byte(row[i])); !sentence(first[i]) {
				continue
			}
			if n <= lookRows {
				text[i].see([]byte(row[i]), p.opt, start.delim == ',')
			}
			waits = waits || n < lookRows && !text[i].settled || text[i].isText()
		}
	}
	for i := range first {
		if sentence(first[i]) && text[i].isText() {
			again[i] = false
			return slices.Contains(again, true), nil
		}
	}
	return false, nil
}

// looksLikeHeader implements HeaderAuto: the first row is a header if no cell except the label's is
// a number, or if a cell is not a number where the second row has one, or a date where it has a
// number. Missing cells do not count.
func looksLikeHeader(first, second []string, label int) bool {
	words, numbers := 0, 0
	for i, cell := range first {
		if i == label || isMissing([]byte(cell)) {
			continue
		}
		below := ""
		if len(second) == len(first) {
			below = second[i]
		}
		if looksLikeValue(cell) {
			if isNumber(below) && !isNumber(cell) && looksDated([]byte(cell)) {
				return true
			}
			numbers++
			continue
		}
		words++
		if looksLikeValue(below) {
			return true
		}
	}
	return words > 0 && numbers == 0
}

func isNumber(cell string) bool {
	_, ok := number([]byte(cell))
	return ok
}

// looksLikeValue reports whether a cell is a number in some notation, a date or a time of day, and
// so no name.
func looksLikeValue(cell string) bool {
	set, _ := notationsOf([]byte(cell))
	return set != 0 || isNumber(cell) || looksDated([]byte(cell))
}
