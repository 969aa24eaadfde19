package dashboard

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"strings"
	"testing"
)

// TestVendored checks that the files of uPlot are those of the package uplot 1.6.32 of npm, and
// that every file of the pages is served or is a template.
func TestVendored(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"pages/uplot/uplot.js":  "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f",
		"pages/uplot/uplot.css": "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
		"pages/uplot/LICENSE":   "8f989229699b4fe2f1a0432d0e9edc338a8a911e250e2d1b01ecd770a5f5b1bd",
	} {
		b, err := pageFiles.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(b)
		if got := hex.EncodeToString(sum[:]); got != want {
			t.Errorf("%s: SHA-256 %s, want %s", name, got, want)
		}
	}
	served := map[string]bool{}
	for _, a := range assets {
		served[a.path] = true
	}
	err := fs.WalkDir(pageFiles, "pages", func(path string, e fs.DirEntry, err error) error {
		if !e.IsDir() && !strings.HasSuffix(path, ".html") && !served[path] {
			t.Errorf("%s is embedded and not served", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
