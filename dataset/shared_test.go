package dataset

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

// sharedFile returns the path of a real data file kept beside the repository, or skips the test.
func sharedFile(t testing.TB, name string) string {
	t.Helper()
	path := filepath.Join("..", "..", "shared", "data", filepath.FromSlash(name))
	if _, err := os.Stat(path); err != nil {
		t.Skipf("the shared data set %s is not there", name)
	}
	return path
}

func load(t testing.TB, opt Options, inputs ...string) *Set {
	t.Helper()
	set, err := Load(context.Background(), inputs, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := set.Close(); err != nil {
			t.Error(err)
		}
	})
	return set
}

func TestSharedSVMLight(t *testing.T) {
	for _, c := range []struct {
		file      string
		rows      int64
		dim       int
		positives int64
	}{
		{"ijcnn1/ijcnn1.libsvm.gz", 49990, 22, 4853},
		{"ijcnn1/ijcnn1.t.libsvm.gz", 91701, 22, 8712},
		{"a9a/a9a.libsvm.gz", 32561, 123, 7841},
		{"a9a/a9a.t.libsvm.gz", 16281, 122, 3846},
		{"w8a/w8a.libsvm.gz", 49749, 300, 1479},
		{"phishing/phishing-first8404.libsvm.gz", 8404, 68, 4678},
	} {
		t.Run(c.file, func(t *testing.T) {
			i := load(t, Options{}, sharedFile(t, c.file)).Info()
			pos, err := i.Positive("")
			if err != nil {
				t.Fatal(err)
			}
			if i.Rows != c.rows || i.Dim != c.dim || i.Labels[pos].Rows != c.positives || i.Labels[pos].Name != "1" {
				t.Errorf("got %d rows, dim %d, labels %v; want %d, %d, %d positive", i.Rows, i.Dim, i.Labels, c.rows, c.dim, c.positives)
			}
			if i.Schema.Base != BaseOne {
				t.Errorf("base %q, want %q", i.Schema.Base, BaseOne)
			}
		})
	}
}
