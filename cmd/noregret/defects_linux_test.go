package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The flags of make defects: two commands to compare, and which defects.
var (
	defectsBefore = flag.String("before", "", "command in which TestDefects looks for the defects")
	defectsAfter  = flag.String("after", "", "command in which TestDefects requires that there are none")
)

// finding is what a reproducer has measured.
type finding struct {
	text    string
	mended  bool
	skipped bool
}

// found returns a finding.
func found(mended bool, format string, args ...any) finding {
	return finding{text: fmt.Sprintf(format, args...), mended: mended}
}

// defect is a defect of the service that was found from outside, and how to reproduce it.
type defect struct {
	id string
	// measures says what the reproducer does and measures.
	measures string
	// guards are the Go tests that would find the defect again.
	guards string
	// long reproducers take long or measure time, and are run by make defects only.
	long bool
	run  func(r *rig) finding
}

// clockDefects are those of steps of the clock, where a process can be given a clock of its own.
var clockDefects []defect

// allDefects returns the defects, those with letters first.
func allDefects() []defect {
	all := slices.Concat(memoryDefects, diskDefects, accessDefects, logDefects, httpDefects, timeDefects,
		clockDefects)
	place := func(d defect) string {
		if len(d.id) <= 2 {
			return d.id
		}
		return "others"
	}
	slices.SortStableFunc(all, func(a, b defect) int { return cmp.Compare(place(a), place(b)) })
	return all
}

// TestDefects runs each reproducer against the command, and requires that the defect is mended.
// With -before and -after (make defects) it runs all of them against two commands, and prints a
// table.
func TestDefects(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some 30 s")
	}
	if *defectsAfter == "" {
		t.Parallel()
	}
	all := allDefects()
	var table strings.Builder
	fmt.Fprintln(&table, "| defect | measured | before | after | test |\n| --- | --- | --- | --- | --- |")
	for _, d := range all {
		t.Run(d.id, func(t *testing.T) {
			if *defectsAfter == "" {
				if d.long {
					t.Skip("only by make defects")
				}
				if f := d.reproduce(t, built(t), false); !f.mended && !f.skipped {
					t.Errorf("%s: %s", d.measures, f.text)
				}
				return
			}
			before := finding{text: "not run"}
			if *defectsBefore != "" {
				before = d.reproduce(t, *defectsBefore, true)
			}
			after := d.reproduce(t, *defectsAfter, true)
			if !after.mended && !after.skipped {
				t.Errorf("%s: %s", d.measures, after.text)
			}
			if before.mended {
				before.text += " (not shown)"
			}
			fmt.Fprintf(&table, "| %s | %s | %s | %s | %s |\n", d.id, d.measures, before.text, after.text, d.guards)
		})
	}
	if *defectsAfter != "" {
		fmt.Print(table.String())
	}
}

// reproduce runs the reproducer against a command.
func (d defect) reproduce(t *testing.T, command string, full bool) (f finding) {
	t.Helper()
	name := "before"
	if command != *defectsBefore {
		name = "after"
	}
	f.text = "the reproducer failed"
	t.Run(name, func(t *testing.T) {
		defer func() {
			if t.Skipped() {
				f = finding{text: "not run", skipped: true}
			}
		}()
		f = d.run(newRig(t, command, full))
	})
	return f
}

// newRig returns a rig for a command.
func newRig(t *testing.T, command string, full bool) *rig {
	t.Helper()
	command, err := filepath.Abs(command)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, command: command, full: full, data: filepath.Join(t.TempDir(), "data")}
	r.help, _ = r.run("help", "serve")
	return r
}

// pick returns the number for make defects, or the smaller one of the usual tests.
func (r *rig) pick(full, usual int) int {
	if r.full {
		return full
	}
	return usual
}

// write writes a file beside the data directory and returns its path.
func (r *rig) write(name, text string) string {
	r.t.Helper()
	path := filepath.Join(filepath.Dir(r.data), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
	return path
}

// TestDefectsPage checks that docs/defects.md has a row of each defect, as make defects prints it.
func TestDefectsPage(t *testing.T) {
	b, err := os.ReadFile("../../docs/defects.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	for line := range strings.Lines(string(b)) {
		if c := strings.Split(strings.TrimSpace(line), " | "); len(c) == 5 && strings.HasPrefix(c[0], "| ") {
			rows[c[0]+" | "+c[1]] = c[4]
		}
	}
	for _, d := range allDefects() {
		if got := rows["| "+d.id+" | "+d.measures]; got != d.guards+" |" {
			t.Errorf("%s: the page has the tests %q, want %q: run make defects", d.id, got, d.guards)
		}
	}
}
