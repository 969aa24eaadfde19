package main

import (
	"context"
	"strings"
	"testing"
)

// The table has a row for each scenario, with a verdict for each rule.
func TestAblate(t *testing.T) {
	var b strings.Builder
	args := []string{"-runs", "2", "-rules", "trust,spread", "-scenarios", "service,shocks"}
	if err := ablate(context.Background(), args, &b); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != 5 || !strings.HasPrefix(lines[2], "| service |") || !strings.HasPrefix(lines[4], "| verdict |") {
		t.Errorf("%s", b.String())
	}
	for _, args := range [][]string{{"-rules", "none"}, {"-scenarios", "none"}, {"-runs", "1"}, {"-workers", "0"}} {
		if err := ablate(context.Background(), args, &b); err == nil {
			t.Errorf("%v is accepted", args)
		}
	}
}
