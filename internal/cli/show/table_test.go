package show

import (
	"strings"
	"testing"
)

// TestTableIsLegible: a cell is one cell of one row, whatever it holds.
func TestTableIsLegible(t *testing.T) {
	row := []string{"a\nb", "\x1b[31mred", "1"}
	g := Table{Gap: true}
	g.Add("feature", "weight", "n")
	g.Add(row...)
	var b strings.Builder
	if err := g.Write(&b); err != nil {
		t.Fatal(err)
	}
	want := "\nfeature         weight  n\n\"a\\nb\"   \"\\x1b[31mred\"  1\n"
	if b.String() != want || row[0] != "a\nb" {
		t.Errorf("%q, want %q", b.String(), want)
	}
}
