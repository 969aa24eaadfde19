package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/legible"
	"github.com/noregret/noregret/pasto/scenario"
)

// isNumber reports whether a label is a number.
func isNumber(s string) bool {
	_, err := strconv.ParseFloat(s, 64)
	return err == nil
}

// number is a float64 that is null in JSON if it is not finite.
type number float64

// MarshalJSON implements json.Marshaler.
func (n number) MarshalJSON() ([]byte, error) {
	if v := float64(n); v-v != 0 {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// members are a JSON object whose members keep their order.
type members []member

// member is a member of a JSON object.
type member struct {
	name  string
	value any
}

// MarshalJSON implements json.Marshaler.
func (o members) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, m := range o {
		name, err := json.Marshal(m.name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, name...), ':'), value...)
	}
	return append(b, '}'), nil
}

// String writes the number with four decimals, or "-" if it is not finite.
func (n number) String() string {
	if v := float64(n); v-v != 0 {
		return "-"
	}
	return strconv.FormatFloat(float64(n), 'f', 4, 64)
}

// inUnitsOf returns a function that writes numbers of the size of those given: with four decimals
// if these can show them, else with four significant digits.
func inUnitsOf(of ...scenario.Series) func(float64) string {
	top := 0.0
	for _, s := range of {
		for _, v := range s {
			if v-v == 0 {
				top = max(top, math.Abs(v))
			}
		}
	}
	if top == 0 || top >= 0.001 && top < 1e7 {
		return func(v float64) string { return number(v).String() }
	}
	return func(v float64) string {
		if v-v != 0 {
			return "-"
		}
		return strconv.FormatFloat(v, 'g', 4, 64)
	}
}

// numberOf returns the number that p points to, or NaN for nil.
func numberOf(p *float64) number {
	if p == nil {
		return number(math.NaN())
	}
	return number(*p)
}

// short writes a number with at most six significant digits.
func short(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

// whole writes a count or a sum of weights. Whole numbers keep all their digits.
func whole(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return short(v)
}

// listed names at most five labels.
func listed(names []string) string {
	const most = 5
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// legibleAll returns texts of which people can see every character.
func legibleAll(texts []string) []string {
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = legible.Text(text)
	}
	return out
}

// writeJSON prints an indented JSON value.
func writeJSON(w io.Writer, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(legible.JSON(b.Bytes()))
	return err
}

// table is a table of text. The first column and those in left are aligned left, the others right.
type table struct {
	rows [][]string
	left map[int]bool
	gap  bool // an empty line comes before the table
}

// add adds a row. A cell with characters that people cannot see, such as a line break in a reason
// or in the name of a file, is quoted: whatever it holds, it is one cell of one row.
func (g *table) add(cells ...string) {
	g.rows = append(g.rows, legibleAll(cells))
}

// write prints the table with two spaces between columns.
func (g *table) write(w io.Writer) error {
	var wide []int
	for _, row := range g.rows {
		for i, c := range row {
			if i == len(wide) {
				wide = append(wide, 0)
			}
			wide[i] = max(wide[i], utf8.RuneCountInString(c))
		}
	}
	var b strings.Builder
	if g.gap {
		b.WriteByte('\n')
	}
	for _, row := range g.rows {
		var line strings.Builder
		for i, c := range row {
			pad := strings.Repeat(" ", wide[i]-utf8.RuneCountInString(c))
			if i > 0 {
				line.WriteString("  ")
			}
			if i == 0 || g.left[i] {
				line.WriteString(c + pad)
			} else {
				line.WriteString(pad + c)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// keyValues prints lines of a name and a value under each other.
func keyValues(w io.Writer, pairs ...string) error {
	g := table{left: map[int]bool{1: true}}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			g.add(pairs[i], pairs[i+1])
		}
	}
	return g.write(w)
}

// outOfRange returns the usage error for a flag's value.
func outOfRange(flag string, value any, want string) error {
	return noregret.Errorf(noregret.Usage, flag, "%v is out of range, want %s", fmt.Sprint(value), want)
}

// count writes a number with its noun in the right form.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
