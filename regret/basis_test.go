package regret

import (
	"strings"
	"testing"
)

// TestCheckRank checks that a span that needs more than 8 GiB is refused with an error that states
// the memory.
func TestCheckRank(t *testing.T) {
	if err := checkRank(1<<24, 2); err != nil {
		t.Errorf("a plane is refused: %v", err)
	}
	want := "features: a span of 10000 dimensions in dimension 60000 needs 10.4 GiB of memory"
	if err := checkRank(60_000, 10_000); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
	rows := make([]Example, 10_000)
	for i := range rows {
		rows[i].Z = make([]float64, 0)
	}
	if err := checkSpan(rows, 0); err != nil {
		t.Errorf("empty rows: %v", err)
	}
	wide := make([]float64, 60_000)
	for i := range rows {
		rows[i].Z = wide
	}
	if err := checkSpan(rows, 0); err == nil {
		t.Error("10,000 rows of 60,000 features are accepted")
	}
	if err := checkSpan(rows, 100); err != nil {
		t.Errorf("100 rounds of them are refused: %v", err)
	}
}
