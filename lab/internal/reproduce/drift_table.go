package reproduce

import (
	"fmt"
	"strconv"

	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/show"
	"github.com/noregret/noregret/lab/papers"
)

// driftTableJSON is a table as --json prints it.
type driftTableJSON struct {
	Name    string            `json:"name"`
	Setting string            `json:"setting"`
	Runs    int               `json:"runs"`
	Asked   int               `json:"runs_asked"`
	Columns []driftColumnJSON `json:"columns"`
	Rows    []driftRowJSON    `json:"rows"`
	Fits    []driftJSON       `json:"fits"`
}

type driftColumnJSON struct {
	Pattern int     `json:"pattern"`
	Noise   float64 `json:"noise"`
}

type driftRowJSON struct {
	Name   string        `json:"name"`
	Rounds int           `json:"rounds"`
	Values []show.Number `json:"values"`
	Errors []show.Number `json:"errors"`
	Paper  []float64     `json:"paper"`
}

// writeDriftTables prints the tables: every cell is the measured number and the published one in
// brackets.
func writeDriftTables(a *command.App, tables []papers.DriftTable, runs int, asJSON bool) error {
	if asJSON {
		return show.JSON(a.Stdout, driftTablesJSON(tables, runs))
	}
	for i, t := range tables {
		if t.Runs == 0 {
			return nil // interrupted in the first run
		}
		if i > 0 {
			fmt.Fprintln(a.Stdout)
		}
		fmt.Fprintf(a.Stdout, "%s, %s; published numbers in brackets\n\n", t.Name, show.RunsIn(t.Runs, runs))
		g := show.Table{Left: map[int]bool{}}
		head := []string{"loss %"}
		for _, c := range t.Columns {
			head = append(head, c.String())
		}
		g.Add(head...)
		for _, r := range t.Rows {
			name := r.Name
			if r.Rounds > 0 {
				name = strconv.Itoa(r.Rounds) + " " + name
			}
			row := []string{name}
			for j, v := range r.Values {
				row = append(row, fmt.Sprintf("%s [%s]", hundredths(v), hundredths(r.Paper[j])))
			}
			g.Add(row...)
		}
		if err := g.Write(a.Stdout); err != nil {
			return err
		}
	}
	return nil
}

// hundredths writes a number with two decimals.
func hundredths(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }

func driftTablesJSON(tables []papers.DriftTable, runs int) []driftTableJSON {
	numbers := func(v []float64) []show.Number {
		all := []show.Number{}
		for _, x := range v {
			all = append(all, show.Number(x))
		}
		return all
	}
	var all []driftTableJSON
	for _, t := range tables {
		j := driftTableJSON{Name: t.Name, Setting: t.Setting, Runs: t.Runs, Asked: runs}
		for _, c := range t.Columns {
			j.Columns = append(j.Columns, driftColumnJSON{int(c.Pattern), c.Noise})
		}
		for _, r := range t.Rows {
			j.Rows = append(j.Rows, driftRowJSON{r.Name, r.Rounds, numbers(r.Values), numbers(r.Errors), r.Paper})
		}
		for i := range t.Fits {
			j.Fits = append(j.Fits, driftCellJSON(&t.Fits[i], runs))
		}
		all = append(all, j)
	}
	return all
}
