package study

import (
	"encoding/json"
	"fmt"
	"io"
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

// Cell is a cell of a table: what text shows and the value that JSON has.
type Cell struct {
	text  string
	value any
}

// MarshalJSON implements [json.Marshaler].
func (c Cell) MarshalJSON() ([]byte, error) { return json.Marshal(c.value) }

// Number is a cell with a number, which text shows in the given format. JSON has null for a number
// that is not finite.
func Number(format string, v float64) Cell { return Cell{fmt.Sprintf(format, v), show.Number(v)} }

// Cell is a cell with the mean and the error, both in the given format.
func (e Estimate) Cell(format string) Cell {
	return Cell{fmt.Sprintf(format+" ± "+format, e.Mean, e.Error), map[string]show.Number{
		"mean": show.Number(e.Mean), "error": show.Number(e.Error),
	}}
}

// Add adds a row of cells; a value that is none is shown as fmt does.
func (t *Table) Add(values ...any) {
	row := make([]Cell, len(values))
	for i, v := range values {
		c, ok := v.(Cell)
		if !ok {
			c = Cell{fmt.Sprint(v), v}
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

// markdown returns the table with its title and its notes. Columns are padded to one width.
func (t *Table) markdown() string {
	rows := [][]string{t.Columns}
	for _, row := range t.Rows {
		var cells []string
		for _, c := range row {
			cells = append(cells, c.text)
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
