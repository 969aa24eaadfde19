package dataset

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/noregret/noregret"
)

// packed returns the text uncompressed, compressed by gzip and compressed by zstd.
func packed(t testing.TB, text string) map[string]string {
	t.Helper()
	var g, z bytes.Buffer
	gw := gzip.NewWriter(&g)
	_, err := io.WriteString(gw, text)
	if err := errors.Join(err, gw.Close()); err != nil {
		t.Fatal(err)
	}
	zw, err := zstd.NewWriter(&z)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.WriteString(zw, text)
	if err := errors.Join(err, zw.Close()); err != nil {
		t.Fatal(err)
	}
	return map[string]string{"plain": text, "gzip": g.String(), "zstd": z.String()}
}

// The content decides, not the name, for files and for standard input.
func TestCompressionByContent(t *testing.T) {
	text := generated(500)
	want := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(text)))
	for name, data := range packed(t, text) {
		for _, opt := range []Options{{}, {Stdin: strings.NewReader(data)}} {
			path := writeFile(t, "data.bin", data)
			if opt.Stdin != nil {
				path = "-"
			}
			i, err := readAll(opt, path)
			if err != nil || i.Rows != 500 || i.Digest != want {
				t.Errorf("%s from %s: %v, %d rows, digest %s", name, path, err, i.Rows, i.Digest)
			}
		}
	}
}

func TestCompressedFaults(t *testing.T) {
	text := generated(3000)
	for name, data := range packed(t, text) {
		if name == "plain" {
			continue
		}
		for _, n := range []int{6, len(data) / 2, len(data) - 1} {
			path := writeFile(t, "x", data[:n])
			_, err := readAll(Options{Format: SVMLight}, path)
			if noregret.CodeOf(err) != noregret.BadInput ||
				!strings.HasPrefix(err.Error(), path+": the compressed file is ") {
				t.Errorf("%s cut at %d of %d: %v", name, n, len(data), err)
			}
		}
		broken := []byte(data)
		broken[len(broken)/2] ^= 0x55
		path := writeFile(t, "x", string(broken))
		if _, err := readAll(Options{Format: SVMLight, MaxBadLines: 1 << 40},
			path); noregret.CodeOf(err) != noregret.BadInput {
			t.Errorf("%s with a wrong byte: %v", name, err)
		}
	}
}

func TestFormatByContent(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       Format
	}{
		{"x", "1 1:2\n", SVMLight},
		{"x.csv", "# c\n+1 qid:3 1:2\n", SVMLight},
		{"x", "3:1 4:1\n", SVMLight},
		{"x", "1\n0\n", SVMLight},
		{"x", "1,2\n", CSV},
		{"x", "a\tb\n1\t2\n", CSV},
		{"x.csv.gz", "a\n", CSV},
		{"x", "\n {\"label\":1}\n", JSONL},
	} {
		i, err := readAll(Options{AllowNoLabel: true}, writeFile(t, c.name, c.text))
		if err != nil || i.Schema.Format != c.want {
			t.Errorf("%q in %s: %v, %v", c.text, c.name, i.Schema, err)
		}
	}
	path := writeFile(t, "x", "some words here\n")
	_, err := readAll(Options{}, path)
	if want := path +
		`: the format cannot be recognized from the first line "some words here"; name it (--format svmlight, csv, ` +
		`jsonl, vw, idx or cache)`; err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

func TestInputErrors(t *testing.T) {
	dir := t.TempDir()
	here := writeFile(t, "here", "1 1:1\n")
	for _, c := range []struct {
		inputs []string
		opt    Options
		want   string
		code   noregret.Code
	}{
		{nil, Options{}, `no input: name at least one file, or "-" for standard input`, noregret.Usage},
		{[]string{"-", "-"}, Options{}, `standard input ("-") is named twice: it can be read once`, noregret.Usage},
		{
			[]string{filepath.Join(dir, "no")},
			Options{},
			filepath.Join(dir, "no") + ": no such file",
			noregret.NotFound,
		},
		{
			[]string{"s3://bucket/a.csv"},
			Options{},
			"s3://bucket/a.csv: not a file: noregret-input s3://bucket/a.csv | noregret ... - (see " +
				"docs/how-to/sources.md)",
			noregret.NotFound,
		},
		{[]string{dir}, Options{}, dir + ": is a directory; name a file", noregret.BadInput},
		{
			[]string{here},
			Options{CachePath: here},
			"cache path \"" + here + "\": it is an input and would be overwritten; name another", noregret.Usage,
		},
		{
			[]string{"-"},
			Options{Bits: 32},
			fmt.Sprintf("number of hash bits 32: it must be 0 to %d", maxBits), noregret.Usage,
		},
		{
			[]string{"-"},
			Options{Format: "xml"},
			`format "xml": it must be one of ["auto" "svmlight" "csv" "jsonl" "vw" "idx" "cache"]`, noregret.Usage,
		},
		{[]string{"-"}, Options{Base: "2"}, `index base "2": it must be one of ["auto" "0" "1"]`, noregret.Usage},
		{
			[]string{"-"},
			Options{MaxBadLines: -1},
			"number of allowed bad lines -1: it must be 0 to 4611686018427387904",
			noregret.Usage,
		},
		{[]string{"-"}, Options{Workers: -1}, "number of workers -1: it must be 0 to 1024", noregret.Usage},
		{
			[]string{"-"},
			Options{LabelKey: "weight"},
			`label key and weight key are both "weight": they must differ`,
			noregret.Usage,
		},
		{
			[]string{"-"},
			Options{Schema: &Schema{Format: CSV}},
			"schema: missing \"\": it must be one of [\"error\" \"zero\" \"indicator\"]", noregret.BadInput,
		},
		{
			[]string{"-"},
			Options{Bits: 4, Schema: &Schema{Format: SVMLight, Base: BaseOne, Dim: 3}},
			"4 hash bits: the model was trained with 0; leave it out or give the same", noregret.Usage,
		},
		{
			[]string{"-"},
			Options{Stdin: strings.NewReader("\n# nothing\n"), Format: SVMLight},
			"standard input: the input has no examples", noregret.BadInput,
		},
	} {
		_, err := Load(t.Context(), c.inputs, c.opt)
		if err == nil || err.Error() != c.want || noregret.CodeOf(err) != c.code {
			t.Errorf("got  %v (%s)\nwant %s (%s)", err, noregret.CodeOf(err), c.want, c.code)
		}
	}
}

func idx(dims []int, body ...byte) string {
	s := []byte{0, 0, 8, byte(len(dims))}
	for _, d := range dims {
		s = append(s, 0, 0, byte(d>>8), byte(d))
	}
	return string(append(s, body...))
}

func TestIDX(t *testing.T) {
	images := writeFile(t, "a-images-idx3-ubyte", idx([]int{3, 2, 2}, 1, 0, 0, 4, 0, 0, 0, 0, 9, 8, 7, 255))
	labels := writeFile(t, "b", idx([]int{3}, 7, 3, 7))
	want := []string{"0 0:1 3:4", "1", "0 0:9 1:8 2:7 3:255"}
	for _, inputs := range [][]string{{images, labels}, {labels, images}} {
		for _, chunk := range []int{1, 8, 1 << 20} {
			set := load(t, Options{chunkBytes: chunk}, inputs...)
			r, err := set.Read()
			if d := cmp.Diff(want, show(t, r, err)); d != "" {
				t.Errorf("rows (-want +got):\n%s", d)
			}
			if i := set.Info(); i.Dim != 4 || cmp.Diff([]string{"7", "3"}, labelNames(i)) != "" {
				t.Errorf("dim %d, labels %v", i.Dim, i.Labels)
			}
		}
	}
	if i, err := readAll(Options{AllowNoLabel: true}, images); err != nil || i.NoLabel != 3 {
		t.Errorf("%v, %d rows without label", err, i.NoLabel)
	}
	for _, c := range []struct{ images, labels, want string }{
		{idx([]int{2, 2}, 1, 2, 3), idx([]int{2}, 1, 2), "IMG: the file is cut off: it ends 1 bytes early, or more"},
		{idx([]int{2, 2}, 1, 2, 3, 4, 5), idx([]int{2}, 1, 2), "IMG: bytes follow the 2 rows that its header states"},
		{idx([]int{2, 2}, 1, 2, 3, 4), idx([]int{3}, 1, 2, 3), "LAB: 3 labels for the 2 rows of IMG"},
		{
			idx([]int{2, 2}, 1, 2, 3, 4), idx([]int{2}, 1),
			"LAB: the file does not hold the 2 labels that its header states",
		},
		{idx([]int{2, 0}), idx([]int{2}, 1, 2), "IMG: sizes [2 0]: a row must have 1 to 2147483647 values"},
		{
			"\x00\x00\x0d\x02aaaabbbb", idx([]int{2}, 1, 2),
			"IMG: magic number 0x00000d02: only unsigned bytes (type 0x08) in 1 to 8 dimensions are read",
		},
	} {
		img, lab := writeFile(t, "i", c.images), writeFile(t, "l", c.labels)
		_, err := readAll(Options{}, img, lab)
		want := strings.NewReplacer("IMG", img, "LAB", lab).Replace(c.want)
		if err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
	want4 := images + ": rows have 4 values: there are more than 3; raise the largest dimension (--max-dim)"
	if _, err := readAll(Options{MaxDim: 3}, images, labels); err == nil || err.Error() != want4 {
		t.Errorf("got  %v\nwant %s", err, want4)
	}
	if _, err := readAll(Options{}, images); noregret.CodeOf(err) != noregret.NotFound {
		t.Errorf("without labels: %v", err)
	}
}

// Formats without names refuse options that name columns or keys, and so do their caches.
func TestNamesOfNamelessFormats(t *testing.T) {
	svm, vw := writeFile(t, "a.svm", "1 1:2\n-1 2:1\n"), writeFile(t, "a.vw", "1 |n a:2\n-1 |n b\n")
	images := writeFile(t, "i-images-idx3-ubyte", idx([]int{1, 1, 1}, 7))
	writeFile(t, "i-labels-idx1-ubyte", idx([]int{1}, 1))
	cache := filepath.Join(t.TempDir(), "a.cache")
	load(t, Options{CachePath: cache}, svm)
	for name, opt := range map[string]Options{
		"label": {LabelColumn: "c"}, "label-key": {LabelKey: "c"}, "weight-column": {WeightColumn: "c"},
		"weight-key": {WeightKey: "c"}, "categorical": {Categorical: []string{"c"}},
		"text": {TextColumns: []string{"c"}}, "center": {CenterColumns: []string{"c"}},
		"ignore-columns": {IgnoreColumns: []string{"c"}},
	} {
		for _, path := range []string{svm, vw, images, cache} {
			_, err := readAll(opt, path)
			if want := `there is no column "c" (--` + name + `): the input is `; err == nil ||
				!strings.Contains(err.Error(), want) {
				t.Errorf("%s, --%s: %v", filepath.Base(path), name, err)
			}
		}
	}
}

func TestProgress(t *testing.T) {
	path := writeFile(t, "a.svm", generated(1000))
	var last [3]int64
	calls := 0
	opt := Options{chunkBytes: 10_000, Progress: func(read, total, rows int64) {
		calls++
		if read < last[0] || rows < last[2] || read > total {
			t.Errorf("progress went from %v to %d of %d, %d rows", last, read, total, rows)
		}
		last = [3]int64{read, total, rows}
	}}
	if _, err := readAll(opt, path); err != nil {
		t.Fatal(err)
	}
	if calls < 10 || last[0] != last[1] {
		t.Errorf("%d calls, the last %v", calls, last)
	}
}

// TestMixedFormats: a further input of another format is refused, and the error names it and both
// formats. A named format, and an input that does not tell its format, are taken.
func TestMixedFormats(t *testing.T) {
	svm, labels := writeFile(t, "a.svm", "1 1:2\n-1 2:1\n"), writeFile(t, "labels", "1\n-1\n")
	csv, lines := writeFile(t, "b.txt", "a,label\n1,1\n"), writeFile(t, "c.txt", "{\"label\": 1, \"a\": 2}\n")
	for _, c := range []struct {
		inputs []string
		format Format
		want   string
	}{
		{[]string{svm, labels}, Auto, ""},
		{[]string{svm, csv}, SVMLight, ""},
		{[]string{svm, csv}, Auto, csv + ": the input looks like csv, but " + svm + " is svmlight: want inputs of one"},
		{[]string{svm, svm, lines}, Auto, lines + ": the input looks like jsonl, but " + svm + " is svmlight: "},
		{[]string{csv, svm}, Auto, svm + ": the input looks like svmlight, but " + csv + " is csv: "},
		{[]string{csv, lines}, Auto, lines + ": the input looks like jsonl, but " + csv + " is csv: "},
	} {
		_, err := readAll(Options{Format: c.format}, c.inputs...)
		if c.want == "" && err != nil {
			t.Errorf("%q: %v", c.inputs, err)
		}
		if c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)) {
			t.Errorf("%q: %v, want %s", c.inputs, err, c.want)
		}
	}
}
