package study

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/noregret/noregret/internal/cli/show"
)

// Report is what a study has measured.
type Report struct {
	// Head is said before the tables, and Notes after them, in whole lines.
	Head   string  `json:"head,omitempty"`
	Tables []Table `json:"tables"`
	Notes  string  `json:"notes,omitempty"`
	// Data, if not nil, is the study's own form of JSON.
	Data any `json:"-"`
}

// Table is a table of results.
type Table struct {
	Title   string   `json:"title,omitempty"`
	Columns []string `json:"columns"`
	Rows    [][]Cell `json:"rows"`
	// Notes are said below the table, in whole lines.
	Notes string `json:"notes,omitempty"`
}

// Cell is a cell of a table: what text shows, the value that JSON has, and whether it is a number
// outside its tolerance.
type Cell struct {
	text  string
	value any
	off   bool
}

// MarshalJSON implements [json.Marshaler].
func (c Cell) MarshalJSON() ([]byte, error) { return json.Marshal(c.value) }

// Number is a cell with a number, which text shows in the given format. JSON has null for a number
// that is not finite.
func Number(format string, v float64) Cell {
	return Cell{text: fmt.Sprintf(format, v), value: show.Number(v)}
}

// Cell is a cell with the mean and the error, both in the given format.
func (e Estimate) Cell(format string) Cell {
	return Cell{text: fmt.Sprintf(format+" ± "+format, e.Mean, e.Error), value: map[string]show.Number{
		"mean": show.Number(e.Mean), "error": show.Number(e.Error),
	}}
}

// Compared is a measured number beside the one that a source states.
type Compared struct {
	// Estimate is what was measured. Its error is NaN if it is not known.
	Estimate
	// Low and High are the range that is stated, both the same for a number. Both are NaN if none
	// is stated, and one of them is infinite for a bound.
	Low, High float64
	// Within is the distance from the range that is allowed, +Inf for any.
	Within float64
}

// Beside is a measured number beside one that is stated and that it need not agree with, NaN for
// none.
func Beside(measured, stated float64) Compared {
	return Compared{Estimate{measured, math.NaN()}, stated, stated, math.Inf(1)}
}

// Agrees reports whether the number is within its tolerance, or nothing is stated.
func (c Compared) Agrees() bool {
	return c.Low != c.Low || c.Mean >= c.Low-c.Within && c.Mean <= c.High+c.Within
}

// Cell is a cell with the number and what is stated in brackets, all in the given format. A mark
// ! says that they do not agree.
func (c Compared) Cell(format string) Cell {
	cell, stated := c.Estimate.Cell(format), ""
	if c.Error != c.Error {
		cell.text = fmt.Sprintf(format, c.Mean)
	}
	switch {
	case c.Low != c.Low:
	case math.IsInf(c.High, 1):
		stated = fmt.Sprintf(" [at least "+format+"]", c.Low)
	case math.IsInf(c.Low, -1):
		stated = fmt.Sprintf(" [at most "+format+"]", c.High)
	case c.Low == c.High:
		stated = fmt.Sprintf(" ["+format+"]", c.Low)
	default:
		stated = fmt.Sprintf(" ["+format+" to "+format+"]", c.Low, c.High)
	}
	if cell.off = !c.Agrees(); cell.off {
		stated += " !"
	}
	cell.text += stated
	cell.value = map[string]any{
		"mean": show.Number(c.Mean), "error": show.Number(c.Error), "agrees": c.Agrees(),
		"stated": []show.Number{show.Number(c.Low), show.Number(c.High)},
	}
	return cell
}

// Add adds a row of cells; a value that is none is shown as fmt does.
func (t *Table) Add(values ...any) {
	row := make([]Cell, len(values))
	for i, v := range values {
		c, ok := v.(Cell)
		if !ok {
			c = Cell{text: fmt.Sprint(v), value: v}
		}
		row[i] = c
	}
	t.Rows = append(t.Rows, row)
}

// Write writes Markdown, or JSON.
func (r *Report) Write(w io.Writer, asJSON bool) error {
	switch {
	case asJSON && r.Data != nil:
		return show.JSON(w, r.Data)
	case asJSON:
		return show.JSON(w, r)
	}
	parts := []string{r.Head}
	for i := range r.Tables {
		parts = append(parts, r.Tables[i].markdown())
	}
	parts = slices.DeleteFunc(append(parts, r.Notes), func(p string) bool { return p == "" })
	_, err := io.WriteString(w, strings.Join(parts, "\n"))
	return err
}

// off is the number of cells that are outside their tolerance.
func (r *Report) off() (n int) {
	for i := range r.Tables {
		for _, row := range r.Tables[i].Rows {
			for _, c := range row {
				if c.off {
					n++
				}
			}
		}
	}
	return n
}

// markdown returns the table with its title and its notes. Columns are padded to one width.
func (t *Table) markdown() string {
	rows := [][]string{t.Columns}
	for _, row := range t.Rows {
		var cells []string
		for _, c := range row {
			cells = append(cells, strings.ReplaceAll(c.text, "|", `\|`))
		}
		rows = append(rows, cells)
	}
	wide := make([]int, len(t.Columns))
	for _, row := range rows {
		for i, c := range row {
			wide[i] = max(wide[i], utf8.RuneCountInString(c), 3)
		}
	}
	var b strings.Builder
	if t.Title != "" {
		fmt.Fprintf(&b, "### %s\n\n", t.Title)
	}
	for i, row := range rows {
		for j, c := range row {
			b.WriteString("| " + c + strings.Repeat(" ", wide[j]-utf8.RuneCountInString(c)+1))
		}
		b.WriteString("|\n")
		if i == 0 {
			for _, n := range wide {
				b.WriteString("| " + strings.Repeat("-", n) + " ")
			}
			b.WriteString("|\n")
		}
	}
	if t.Notes != "" {
		b.WriteString("\n" + t.Notes)
	}
	return b.String()
}
