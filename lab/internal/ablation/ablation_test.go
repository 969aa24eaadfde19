package ablation

import (
	"io"
	"strings"
	"testing"

	"github.com/noregret/noregret/lab/internal/labtest"
)

// The table has a row for each rule, with a verdict, and the list one for each difference.
func TestAblate(t *testing.T) {
	var b strings.Builder
	args := []string{"--all", "--runs", "2", "--rules", "joint,spread", "--scenarios", "service,shocks,two-arms"}
	if err := labtest.Run(t.Context(), Command(), args, &b, io.Discard); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != 4+1+2+2*5 || !strings.HasPrefix(lines[2], "| joint ") ||
		!strings.Contains(lines[11], "two-arms, ") {
		t.Errorf("%s", b.String())
	}
	for _, args := range [][]string{{"--rules", "none"}, {"--scenarios", "none"}, {"--runs", "1"}} {
		if err := labtest.Run(t.Context(), Command(), args, &b, io.Discard); err == nil {
			t.Errorf("%v is accepted", args)
		}
	}
}
