package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/noregret/noregret/internal/testsize"
)

// The README shows exactly what the demonstrations print, except for the port, and the picture.
func TestREADMEShowsTheDemos(t *testing.T) {
	testsize.NoRace(t)
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	command := built(t)
	plot := filepath.Join(t.TempDir(), "demo.svg")
	for _, args := range [][]string{{"demo", "--plot", plot}, {"demo", "classifier"}} {
		out, err := exec.Command(command, args...).Output()
		if err != nil {
			t.Fatalf("%q: %v: %s", args, err, out)
		}
		text := regexp.MustCompile(`127\.0\.0\.1:[0-9]+`).ReplaceAllString(string(out), "127.0.0.1:8431")
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
