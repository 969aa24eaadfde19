package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
)

// The README shows what the demonstration prints, to the letter.
func TestREADMEShowsTheDemo(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	if status := run(context.Background(), []string{"demo"}, strings.NewReader(""), &out, &errs); status != 0 {
		t.Fatalf("status %d: %s", status, &errs)
	}
	if !strings.Contains(string(readme), "```text\n"+strings.TrimRight(out.String(), "\n")+"\n```") {
		t.Errorf("README.md does not show what noregret demo prints:\n%s", &out)
	}
}
