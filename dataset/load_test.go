package dataset

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Rows beyond the memory limit go to a file that has no name or is removed; nothing else changes.
func TestSpoolIsTheSame(t *testing.T) {
	path := writeFile(t, "a.svm", generated(5000))
	dir := t.TempDir()
	mem := load(t, Options{}, path)
	spooled, err := Load(t.Context(), []string{path}, Options{MemoryLimit: 300 << 10, TempDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := spooled.st.(*fileStore); !ok {
		t.Fatalf("the rows are in a %T", spooled.st)
	}
	if d := cmp.Diff(mem.Info(), spooled.Info()); d != "" {
		t.Errorf("info (-memory +file):\n%s", d)
	}
	a, err := mem.Read()
	want := fingerprint(t, a, err)
	b, err := spooled.Read()
	if got := fingerprint(t, b, err); got != want {
		t.Error("stored order differs")
	}
	a, err = mem.Shuffle(1, 2)
	want = fingerprint(t, a, err)
	b, err = spooled.Shuffle(1, 2)
	if got := fingerprint(t, b, err); got != want {
		t.Error("shuffled order differs")
	}
	if err := spooled.Close(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
