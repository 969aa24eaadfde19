package train

import (
	"fmt"
	"strings"
	"testing"

	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/internal/cli/show"
)

// Of many findings of one kind the first are printed, and the number of the others.
func TestAddFindings(t *testing.T) {
	findings := []dataset.Finding{{Kind: dataset.Leaking, Column: "a", Message: "it tells"}}
	for i := range mostOfKind + 5 {
		findings = append(findings, dataset.Finding{Kind: dataset.Constant, Column: fmt.Sprint(i), Message: "constant"})
	}
	var table show.Table
	addFindings(&table, append(findings, dataset.Finding{Kind: dataset.Shift, Column: "b", Message: "apart"}))
	var b strings.Builder
	if err := table.Write(&b); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if got := strings.Join(strings.Fields(lines[len(lines)-2]), " "); len(lines) != mostOfKind+3 ||
		got != "constant and 5 more (--json has all)" {
		t.Errorf("%d lines, and before the last %q", len(lines), got)
	}
}
