package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/noregret/noregret"
)

// Label is a label with its counts in a set.
type Label struct {
	Name   string  `json:"name"`   // the token; the shortest decimal if it is a number
	Rows   int64   `json:"rows"`   // number of rows
	Weight float64 `json:"weight"` // sum of the rows' weights
}

// Info summarizes a set of examples. It is a copy that callers may change, except that Schema is
// shared and must not be written to.
type Info struct {
	Rows     int64   // number of rows
	NonZeros int64   // number of stored values
	Dim      int     // number of features; every index is below it
	Labels   []Label // in order of first appearance, indexed by class number
	NoLabel  int64   // number of rows without a label
	Weight   float64 // sum of all weights
	// Digest is "sha256:" or "xxh64:" and the hex digest of the decompressed input bytes in order;
	// "" until the end of a stream, and without a digest.
	Digest          string
	Schema          *Schema         // the feature space
	BadLines        int64           // number of lines that were skipped
	FirstBad        []error         // the errors of the first few of them
	IgnoredFeatures int64           // number of values dropped by UnseenIgnore
	IgnoredColumns  []IgnoredColumn // the first few columns that have some of them
	Weighted        bool            // whether a weight differs from 1
	Inputs          []string        // the names of the inputs as given
	FirstAt         []string        // the place of the first row with each label; nil for one input
	// Written is the format of the first input where it is read by way of Schema.Format: "ARFF" or
	// "JSON array"; else "".
	Written string
}

// IgnoredColumn is a column of which values were dropped by UnseenIgnore.
type IgnoredColumn struct {
	Name  string `json:"name"`            // of the column or key; "feature 7" for one that has a number only
	Value string `json:"value,omitempty"` // the first of the values, "" if it is not known or empty
	// Missing says that the first value is a missing number or date where training had none. It
	// counts as the value 0 there, of a centered column as the center.
	Missing bool `json:"missing,omitempty"`
}

// MaxIgnoredColumns bounds the number of columns in Info.IgnoredColumns.
const MaxIgnoredColumns = 6

// ignoredIn adds a column to those of which values were dropped, unless it is there or there are
// enough.
func ignoredIn(columns []IgnoredColumn, name, value []byte, missing bool) []IgnoredColumn {
	if len(columns) == MaxIgnoredColumns || slices.ContainsFunc(columns, func(c IgnoredColumn) bool {
		return c.Name == string(name)
	}) {
		return columns
	}
	return append(columns, IgnoredColumn{string(name), string(value), missing})
}

// maxFirstBad bounds the number of errors in Info.FirstBad.
const maxFirstBad = 5

// Positive returns the class number of the positive label. Every other label is negative.
//
// A name is looked up as written or as a number ("1.0" finds the label 1). If name is empty, there
// must be exactly two labels: of two numbers the larger is positive; otherwise the label with fewer
// rows is, or the one that sorts last if they tie. Anything else is a [noregret.BadInput] error
// that lists the labels with their counts.
func (i Info) Positive(name string) (class int, err error) {
	if name != "" {
		want, cerr := canonicalLabel([]byte(name))
		for c, l := range i.Labels {
			if l.Name == name || cerr == nil && l.Name == want {
				return c, nil
			}
		}
		return 0, noregret.BadInputf(i.Place(),
			"no row has the positive label %q; the labels are %s", name, i.listLabels())
	}
	if len(i.Labels) == 1 {
		return 0, noregret.BadInputf(i.Place(), "every row has the label %q; two classes are needed",
			i.Labels[0].Name)
	}
	if len(i.Labels) != 2 {
		return 0, noregret.BadInputf(i.Place(),
			"%d labels where two are needed: %s; name the positive one (--positive)", len(i.Labels), i.listLabels())
	}
	a, b := i.Labels[0], i.Labels[1]
	x, errx := strconv.ParseFloat(a.Name, 64)
	y, erry := strconv.ParseFloat(b.Name, 64)
	second := false
	switch {
	case errx == nil && erry == nil:
		second = y > x
	case a.Rows != b.Rows:
		second = b.Rows < a.Rows
	default:
		second = b.Name > a.Name
	}
	if second {
		return 1, nil
	}
	return 0, nil
}

// Place is where an error about all inputs is: the names of the first few, and how many more there
// are.
func (i Info) Place() string {
	names := slices.Clone(i.Inputs[:min(len(i.Inputs), mostNamed)])
	for k, n := range names {
		if n == stdinName {
			names[k] = "standard input"
		}
	}
	if more := len(i.Inputs) - len(names); more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names, ", "), more)
	}
	return strings.Join(names, ", ")
}

const mostNamed = 3 // inputs in the place of an error

// fromSeveral reports whether labels are known to come from several files.
func (i Info) fromSeveral() bool {
	file := func(place string) string { return place[:max(0, strings.LastIndexByte(place, ':'))] }
	return slices.ContainsFunc(i.FirstAt, func(at string) bool { return file(at) != file(i.FirstAt[0]) })
}

// listLabels lists at most 12 labels with their counts, and where each is first if that differs.
func (i Info) listLabels() string {
	if len(i.Labels) == 0 {
		return "none"
	}
	const most = 12
	var s []string
	for k, l := range i.Labels {
		if k == most {
			s = append(s, fmt.Sprintf("and %d more", len(i.Labels)-most))
			break
		}
		text := fmt.Sprintf("%q (%d", l.Name, l.Rows)
		if i.fromSeveral() {
			text += ", first at " + i.FirstAt[k]
		}
		s = append(s, text+")")
	}
	return strings.Join(s, ", ")
}

// count adds the rows of b to the counts.
func (i *Info) count(b *Block) {
	i.Rows += int64(b.Len())
	i.NonZeros += int64(len(b.Index))
	for r := range b.Class {
		i.countLabel(b, r)
	}
}

// countRow adds row r of b to the counts.
func (i *Info) countRow(b *Block, r int) {
	i.Rows++
	i.NonZeros += int64(b.Offset[r+1] - b.Offset[r])
	i.countLabel(b, r)
}

func (i *Info) countLabel(b *Block, r int) {
	w := b.RowWeight(r)
	i.Weight += w
	if w != 1 {
		i.Weighted = true
	}
	c := b.Class[r]
	if c == NoClass {
		i.NoLabel++
		return
	}
	i.Labels[c].Rows++
	i.Labels[c].Weight += w
}

// clone returns a copy that shares only the schema with i.
func (i Info) clone() Info {
	i.Labels = slices.Clone(i.Labels)
	i.FirstBad = slices.Clone(i.FirstBad)
	i.Inputs = slices.Clone(i.Inputs)
	i.FirstAt = slices.Clone(i.FirstAt)
	i.IgnoredColumns = slices.Clone(i.IgnoredColumns)
	return i
}

// withoutCounts returns the Info of a view whose rows are not counted yet.
func (i Info) withoutCounts() Info {
	v := i.clone()
	v.Rows, v.NonZeros, v.NoLabel, v.Weight, v.Weighted = 0, 0, 0, 0, false
	for c := range v.Labels {
		v.Labels[c].Rows, v.Labels[c].Weight = 0, 0
	}
	return v
}

// labelFault returns an error if a token is not a valid label: it is empty, NaN, infinite or a
// number out of the range of float64. The error has no code and no place.
func labelFault(tok []byte) error {
	if len(tok) == 0 {
		return errors.New("the label is empty")
	}
	if !utf8.Valid(tok) {
		return fmt.Errorf("the label: %w", notUTF8(tok))
	}
	if isNonFinite(tok) {
		return fmt.Errorf("label %s: a label must be a finite number or a name", quote(tok))
	}
	if v, ok := number(tok); ok && math.IsInf(v, 0) {
		return fmt.Errorf("label %s: the number is out of the range of float64", quote(tok))
	}
	return nil
}

// LabelName returns the name of a label as it is written: of a number its shortest decimal, so that
// +1 and 1.0 are 1, or all its digits where it is a whole number that float64 does not hold; of
// other texts the text. A label that is empty, not finite or not UTF-8 is a [noregret.BadInput]
// error.
func LabelName(text string) (string, error) {
	name, err := canonicalLabel([]byte(text))
	if err != nil {
		return "", noregret.BadInputf("", "%w", err)
	}
	return name, nil
}

// canonicalLabel is LabelName. The error has no code.
func canonicalLabel(tok []byte) (string, error) {
	if err := labelFault(tok); err != nil {
		return "", err
	}
	v, ok := number(tok)
	switch {
	case !ok:
		return string(tok), nil
	case v == 0: // and -0
		return "0", nil
	}
	if exact := float64(1 << 53); v >= exact || v <= -exact {
		if digits, ok := wholeNumber(tok); ok && strconv.FormatFloat(v, 'f', 0, 64) != digits {
			return digits, nil // another number has the same value
		}
	}
	return strconv.FormatFloat(v, 'g', -1, 64), nil
}

// wholeNumber returns a number that is written as nothing but digits and perhaps a sign, without
// what does not count.
func wholeNumber(tok []byte) (digits string, ok bool) {
	digits = string(bytes.TrimLeft(bytes.TrimLeft(tok, "+-"), "0"))
	if strings.Trim(digits, "0123456789") != "" || digits == "" {
		return "", false
	}
	if tok[0] == '-' {
		digits = "-" + digits
	}
	return digits, true
}

// quote returns a token in quotes for a message, cut if it is long.
func quote(tok []byte) string {
	const most = 60
	if len(tok) > most {
		return strconv.Quote(string(tok[:most])) + "..."
	}
	return strconv.Quote(string(tok))
}
