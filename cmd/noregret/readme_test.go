package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The README shows what the demonstrations print, to the letter but for the port, and the picture.
func TestREADMEShowsTheDemos(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	plot := filepath.Join(t.TempDir(), "demo.svg")
	for _, args := range [][]string{{"demo", "--plot", plot}, {"demo", "classifier"}} {
		var out, errs bytes.Buffer
		if status := run(context.Background(), args, strings.NewReader(""), &out, &errs); status != 0 {
			t.Fatalf("%q: status %d: %s", args, status, &errs)
		}
		text := regexp.MustCompile(`127\.0\.0\.1:[0-9]+`).ReplaceAllString(out.String(), "127.0.0.1:8431")
		if !strings.Contains(string(readme), "```text\n"+strings.TrimRight(text, "\n")+"\n```") {
			t.Errorf("README.md does not show what noregret %q prints:\n%s", args, text)
		}
	}
	want, err := os.ReadFile("../../docs/demo.svg")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(plot); err != nil || !bytes.Equal(got, want) {
		t.Errorf("docs/demo.svg is not what noregret demo --plot draws: %v", err)
	}
}
