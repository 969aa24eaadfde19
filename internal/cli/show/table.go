package show

import (
	"io"
	"strings"
	"unicode/utf8"
)

// Table is a table of text. The first column and those in Left are aligned left, the others right.
type Table struct {
	rows    [][]string
	Left    map[int]bool
	Without map[int]bool // columns that are not printed, not the first
	Gap     bool         // an empty line comes before the table
}

// Add adds a row. A cell with characters that people cannot see, such as a line break in a reason
// or in the name of a file, is quoted: whatever it holds, it is one cell of one row.
func (g *Table) Add(cells ...string) {
	g.rows = append(g.rows, LegibleAll(cells))
}

// Write prints the table with two spaces between columns.
func (g *Table) Write(w io.Writer) error {
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
	if g.Gap {
		b.WriteByte('\n')
	}
	for _, row := range g.rows {
		var line strings.Builder
		for i, c := range row {
			if g.Without[i] {
				continue
			}
			pad := strings.Repeat(" ", wide[i]-utf8.RuneCountInString(c))
			if i > 0 {
				line.WriteString("  ")
			}
			if i == 0 || g.Left[i] {
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

// KeyValues prints lines of a name and a value under each other.
func KeyValues(w io.Writer, pairs ...string) error {
	g := Table{Left: map[int]bool{1: true}}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			g.Add(pairs[i], pairs[i+1])
		}
	}
	return g.Write(w)
}
