package dataset

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/noregret/noregret/internal/testsize"
)

// sharedFile returns the path of a real data file kept beside the repository, or skips the test.
func sharedFile(t testing.TB, name string) string {
	t.Helper()
	path := filepath.Join("..", "..", "shared", "data", filepath.FromSlash(name))
	if _, err := os.Stat(path); err != nil {
		t.Skipf("the shared data set %s is missing", name)
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
	testsize.NoRace(t)
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
				t.Errorf("got %d rows, dim %d, labels %v; want %d, %d, %d positive", i.Rows, i.Dim, i.Labels, c.rows,
					c.dim, c.positives)
			}
			if i.Schema.Base != BaseOne {
				t.Errorf("base %q, want %q", i.Schema.Base, BaseOne)
			}
		})
	}
}

func TestSharedCSV(t *testing.T) {
	testsize.NoRace(t)
	for _, c := range []struct {
		file      string
		opt       Options
		rows      int64
		dim       int
		positive  string
		positives int64
	}{
		{"covtype/covtype-sample10000.data.gz", Options{}, 10000, 54, "2", 4870},
		{"covtype/covtype-sample10000.data.gz", Options{}, 10000, 54, "4", 40},
		{"spambase/spambase-standardized.csv.gz", Options{}, 4601, 57, "", 1813},
		{"elec2/elec2.csv.gz", Options{}, 45312, 6, "", 19237},
		{"weather/weather.csv.gz", Options{}, 18159, 8, "", 5698},
		{"uci-imbalanced/page-blocks0.csv.gz", Options{}, 5472, 10, "", 559},
		{"uci-imbalanced/abalone19.csv.gz", Options{}, 4174, 8, "", 32},
		{"uci-imbalanced/satellite-anomaly.csv.gz", Options{}, 5100, 36, "", 75},
		{"uci-imbalanced/yeast.csv.gz", Options{}, 1484, 8, "3", 44},
		{"uci-imbalanced/letter-standardized.csv.gz", Options{}, 20000, 16, "0", 789},
		{
			"hillstrom/hillstrom.csv.gz",
			Options{LabelColumn: "visit", IgnoreColumns: []string{"conversion", "spend"}},
			64000, 21, "1", 9394,
		},
		{
			"obd/random-men.csv.gz",
			Options{LabelColumn: "click", IgnoreColumns: []string{"c1", "timestamp"}},
			10000, -1, "1",
			46,
		},
	} {
		t.Run(c.file+" "+c.positive, func(t *testing.T) {
			i := load(t, c.opt, sharedFile(t, c.file)).Info()
			pos, err := i.Positive(c.positive)
			if err != nil {
				t.Fatal(err)
			}
			if i.Rows != c.rows || c.dim >= 0 && i.Dim != c.dim || i.Labels[pos].Rows != c.positives {
				t.Errorf("got %d rows, dim %d, %d positive; want %d, %d, %d", i.Rows, i.Dim, i.Labels[pos].Rows, c.rows,
					c.dim, c.positives)
			}
			if i.Schema.Format != CSV {
				t.Errorf("format %q", i.Schema.Format)
			}
		})
	}
}

// Rows of the test part have kinds of attack (labels) that the training part lacks, and new values.
func TestSharedKDD(t *testing.T) {
	testsize.NoRace(t)
	train := load(t, Options{}, sharedFile(t, "kddcup99/kddcup.data_10_percent.gz")).Info()
	normal, err := train.Positive("normal.")
	if err != nil {
		t.Fatal(err)
	}
	// 38 numeric columns and 3 + 66 + 11 categories.
	if train.Schema.Format != CSV || train.Rows != 494021 || train.Dim != 118 || train.Labels[normal].Rows != 97278 {
		t.Errorf("got %s, %d rows, dim %d, %d normal", train.Schema.Format, train.Rows, train.Dim,
			train.Labels[normal].Rows)
	}
	test := sharedFile(t, "kddcup99/corrected.gz")
	i := load(t, Options{Schema: train.Schema, Unseen: UnseenIgnore}, test).Info()
	if i.Rows != 311029 || i.Dim != train.Dim || i.IgnoredFeatures == 0 {
		t.Errorf("%d rows, dim %d, %d ignored", i.Rows, i.Dim, i.IgnoredFeatures)
	}
	if _, err := readAll(Options{Schema: train.Schema}, test); err == nil {
		t.Error("unseen services were accepted")
	}
}

func TestSharedMNIST(t *testing.T) {
	testsize.NoRace(t)
	i := load(t, Options{}, sharedFile(t, "mnist/train-images-idx3-ubyte.gz")).Info()
	if i.Rows != 60000 || i.Dim != 784 || len(i.Labels) != 10 {
		t.Fatalf("%d rows, dim %d, %d labels", i.Rows, i.Dim, len(i.Labels))
	}
	for _, c := range []struct {
		digit string
		rows  int64
	}{{"0", 5923}, {"1", 6742}, {"5", 5421}} {
		p, err := i.Positive(c.digit)
		if err != nil || i.Labels[p].Rows != c.rows {
			t.Errorf("digit %s: %v, %v", c.digit, i.Labels[p], err)
		}
	}
}

func TestSharedMNISTPair(t *testing.T) {
	pair := load(t, Options{}, sharedFile(t, "mnist/t10k-images-idx3-ubyte.gz"),
		sharedFile(t, "mnist/t10k-labels-idx1-ubyte.gz"))
	if n := pair.Info().Rows; n != 10000 {
		t.Errorf("%d rows in the test part", n)
	}
}

// Both files together are one set in order, the same for any number of workers, spooled or not.
func TestSharedSeveralFiles(t *testing.T) {
	files, rows := []string{"ijcnn1/ijcnn1.libsvm.gz", "ijcnn1/ijcnn1.t.libsvm.gz"}, int64(49990+91701)
	if testsize.Short() {
		files, rows = []string{"a9a/a9a.libsvm.gz", "a9a/a9a.t.libsvm.gz"}, 32561+16281
	}
	for i := range files {
		files[i] = sharedFile(t, files[i])
	}
	a := load(t, Options{Workers: 1}, files...)
	b := load(t, Options{Workers: 2, MemoryLimit: 1 << 20}, files...)
	if a.Info().Rows != rows || a.Info().Digest != b.Info().Digest {
		t.Errorf("%d rows, digests %s and %s", a.Info().Rows, a.Info().Digest, b.Info().Digest)
	}
	r, err := a.Read()
	want := fingerprint(t, r, err)
	r, err = b.Read()
	if fingerprint(t, r, err) != want {
		t.Error("one and two workers differ")
	}
	r, err = a.Shuffle(1, 1)
	want = fingerprint(t, r, err)
	r, err = b.Shuffle(1, 1)
	if fingerprint(t, r, err) != want {
		t.Error("the shuffled orders differ")
	}
}
