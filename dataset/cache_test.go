package dataset

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/noregret/noregret"
)

// makeCache writes the cache of a small set with weights, missing labels and names.
func makeCache(t testing.TB) (path string, set *Set) {
	t.Helper()
	text := "a,c,w,y\n1,red,1,p\n0,blue,2.5,q\n3,,1,\n"
	path = filepath.Join(t.TempDir(), "x.cache")
	set = load(t, Options{WeightColumn: "w", AllowNoLabel: true, CachePath: path}, writeFile(t, "a.csv", text))
	return path, set
}

func TestCacheRoundTrip(t *testing.T) {
	path, set := makeCache(t)
	again := load(t, Options{AllowNoLabel: true}, path)
	want, got := set.Info(), again.Info()
	want.Inputs, got.Inputs = nil, nil
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("info (-want +got):\n%s", d)
	}
	r, err := set.Read()
	rows := show(t, r, err)
	r, err = again.Read()
	if d := cmp.Diff(rows, show(t, r, err)); d != "" {
		t.Errorf("rows (-want +got):\n%s", d)
	}
	s, err := Open(t.Context(), []string{path}, Options{AllowNoLabel: true})
	if d := cmp.Diff(rows, show(t, s, err)); d != "" {
		t.Errorf("streamed rows (-want +got):\n%s", d)
	}
	got = s.Info()
	got.Inputs = nil
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("streamed info (-want +got):\n%s", d)
	}
	if _, err := Load(t.Context(), []string{path}, Options{}); err == nil ||
		err.Error() != path+": 1 rows of the cache have no label" {
		t.Errorf("got %v", err)
	}
}

// A cache whose base was decided at the end holds indices as written; a reader must shift them,
// also when the rows did not fit into memory.
func TestCacheOfLateBase(t *testing.T) {
	text := writeFile(t, "a.svm", "1 1:1 5:2\n-1 2:3\n")
	for _, limit := range []int64{1, 1 << 20} {
		path := filepath.Join(t.TempDir(), "x.cache")
		a := load(t, Options{CachePath: path, MemoryLimit: limit}, text)
		for _, s := range []*Set{a, load(t, Options{}, path)} {
			r, err := s.Read()
			if d := cmp.Diff([]string{"0 0:1 4:2", "1 1:3"}, show(t, r, err)); d != "" || s.Info().Dim != 5 {
				t.Errorf("limit %d, dim %d (-want +got):\n%s", limit, s.Info().Dim, d)
			}
		}
	}
}

func readCacheFile(path string) error {
	s, err := openCacheSet(path, defaultWindow, nil)
	if err != nil {
		return err
	}
	err = s.eachBlock(func(int64, *Block) {})
	if cerr := s.Close(); err == nil {
		err = cerr
	}
	return err
}

// Any changed byte and any truncation must be found.
func TestCacheCorruptionIsFound(t *testing.T) {
	path, _ := makeCache(t)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := readCacheFile(path); err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(t.TempDir(), "broken")
	check := func(data []byte, what string, at int) {
		if err := os.WriteFile(broken, data, 0o666); err != nil {
			t.Fatal(err)
		}
		if err := readCacheFile(broken); noregret.CodeOf(err) != noregret.BadInput ||
			!strings.HasPrefix(err.Error(), broken) {
			t.Errorf("%s %d of %d: %v", what, at, len(good), err)
		}
	}
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 0x10
		check(bad, "byte", i)
	}
	for i := range good {
		check(good[:i], "cut at", i)
	}
	check(append(bytes.Clone(good), 0), "longer", len(good)+1)
	rapid.Check(t, func(rt *rapid.T) {
		bad := bytes.Clone(good)
		i := rapid.IntRange(0, len(bad)-1).Draw(rt, "at")
		bad[i] ^= rapid.ByteRange(1, 255).Draw(rt, "with")
		check(bad, "byte", i)
	})
}

func TestCacheVersion(t *testing.T) {
	path, _ := makeCache(t)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[8] = 9
	binary.LittleEndian.PutUint32(data[12:], crc32.Checksum(data[:12], castagnoli))
	newer := writeFile(t, "newer", string(data))
	_, err = Load(t.Context(), []string{newer}, Options{})
	if want := newer + ": cache version 9: this program reads version 1; make the cache again"; err == nil ||
		err.Error() != want {
		t.Errorf("got %v", err)
	}
}

// A model reads a cache in its own feature numbers.
func TestCacheWithSchema(t *testing.T) {
	schema := load(t, Options{}, writeFile(t, "t.csv", "b,a,c,y\n1,2,blue,p\n3,4,red,q\n")).Info().Schema
	cache := filepath.Join(t.TempDir(), "x.cache")
	load(t, Options{CachePath: cache}, writeFile(t, "a.csv", "a,b,c,y\n10,20,red,p\n30,40,green,q\n"))
	if _, err := Load(t.Context(), []string{cache}, Options{Schema: schema}); err == nil ||
		err.Error() != cache+`: row 2: the model has no feature "c=green"; --unseen ignore drops such values` {
		t.Errorf("got %v", err)
	}
	set := load(t, Options{Schema: schema, Unseen: UnseenIgnore}, cache)
	r, err := set.Read()
	if d := cmp.Diff([]string{"0 0:20 1:10 3:1", "1 0:40 1:30"}, show(t, r, err)); d != "" ||
		set.Info().IgnoredFeatures != 1 || set.Info().Dim != 4 {
		t.Errorf("%d ignored, dim %d, rows (-want +got):\n%s", set.Info().IgnoredFeatures, set.Info().Dim, d)
	}

	if d := cmp.Diff([]IgnoredColumn{{"c", "green", false}}, set.Info().IgnoredColumns); d != "" {
		t.Errorf("ignored (-want +got):\n%s", d)
	}

	svm := filepath.Join(t.TempDir(), "y.cache")
	load(t, Options{CachePath: svm}, writeFile(t, "a.svm", "1 1:1 3:1\n"))
	for _, dim := range []int{2, 3, 9} {
		m := &Schema{Format: SVMLight, Base: BaseOne, Dim: dim}
		i, err := readAll(Options{Schema: m}, svm)
		if dim == 2 {
			if want := svm + ": row 1: the model has no feature 3; --unseen ignore drops such values"; err == nil ||
				err.Error() != want {
				t.Errorf("got %v", err)
			}
		} else if err != nil || i.Dim != dim {
			t.Errorf("dim %d: %v, %d", dim, err, i.Dim)
		}
		s := load(t, Options{Schema: m, Unseen: UnseenIgnore}, svm)
		if s.Info().Dim != dim {
			t.Errorf("dim %d, want %d", s.Info().Dim, dim)
		}
	}
}

// A cache that was made without the model names what it ignores as the text would.
func TestCacheNamesWhatIsIgnored(t *testing.T) {
	for name, c := range map[string]struct{ train, text string }{
		"a.csv": {"c,a,d,y\nred,1,2024-01-01,p\nblue,2,2024-01-02,q\n", "c,a,d,y\npink,-,-,p\n"},
		"a.jsonl": {
			`{"c":"red","d":"2024-01-01","label":1}` + "\n", `{"c":"p=k","n":{"k":1},"label":1,"d":"n/a"}` + "\n" +
				`{"d":"2024-01-01","label":1}` + "\n",
		},
	} {
		model := load(t, Options{}, writeFile(t, name, c.train)).Info().Schema
		cache := filepath.Join(t.TempDir(), "x.cache")
		path := writeFile(t, name, c.text)
		load(t, Options{CachePath: cache, Like: model}, path)
		opt := Options{Schema: model, Unseen: UnseenIgnore}
		want := load(t, opt, path).Info().IgnoredColumns
		got := load(t, opt, cache).Info().IgnoredColumns
		byName := cmpopts.SortSlices(func(a, b IgnoredColumn) bool { return a.Name < b.Name })
		if d := cmp.Diff(want, got, byName); d != "" || len(want) < 3 {
			t.Errorf("%s (-text +cache):\n%s", name, d)
		}
	}
}

func TestCacheIsNotLeftBehind(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.cache")
	_, err := Load(t.Context(), []string{writeFile(t, "a.svm", "1 1:1\n1 x\n")}, Options{CachePath: path})
	if err == nil {
		t.Fatal("the bad line was read")
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestBlockRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b, got Block
		for range rapid.IntRange(1, 20).Draw(t, "rows") {
			var index []uint32
			var value []float32
			at := uint32(0)
			for range rapid.IntRange(0, 5).Draw(t, "nonzeros") {
				at += rapid.Uint32Range(1, 1000).Draw(t, "step")
				index = append(index, at)
				value = append(value, rapid.Float32Min(0.001).Draw(t, "value"))
			}
			b.Append(index, value, rapid.Uint16().Draw(t, "class"), float32(rapid.IntRange(0, 2).Draw(t, "weight")))
		}
		buf := encodeBlock(nil, &b)
		ref := blockRef{rows: uint32(b.Len()), nonZeros: uint32(len(b.Index)), weighted: b.Weight != nil}
		if len(buf) != ref.size() {
			t.Fatalf("%d bytes, but size says %d", len(buf), ref.size())
		}
		if err := decodeBlock(buf, ref, &got); err != nil {
			t.Fatal(err)
		}
		if string(encodeBlock(nil, &got)) != string(buf) {
			t.Fatal("the decoded rows differ")
		}
	})
}

// mendChecksums corrects the checksums of a cache if the sizes allow it.
func mendChecksums(data []byte) {
	le := binary.LittleEndian
	sum := func(lo, hi, at int) { le.PutUint32(data[at:], crc32.Checksum(data[lo:hi], castagnoli)) }
	n := len(data)
	if n < cacheHeaderSize+cacheTrailerSize {
		return
	}
	sum(0, 12, 12)
	trail := n - cacheTrailerSize
	foot, blocks := le.Uint64(data[trail:]), uint64(le.Uint32(data[trail+12:]))
	if foot < uint64(trail) && blocks*blockRefSize <= uint64(trail)-foot {
		for at := trail - int(blocks)*blockRefSize; at < trail; at += blockRefSize {
			r := blockRef{rows: le.Uint32(data[at+8:]), nonZeros: le.Uint32(data[at+12:]), weighted: data[at+16]&1 != 0}
			if off := le.Uint64(data[at:]); off < uint64(n) && r.rows < 1<<20 && r.nonZeros < 1<<20 &&
				int(off)+r.size() <= n {
				sum(int(off), int(off)+r.size()-4, int(off)+r.size()-4)
			}
		}
		sum(int(foot), trail, trail+16)
	}
	sum(trail, trail+28, trail+28)
}

// A file with correct checksums and invalid rows must be rejected as well.
func TestCacheRulesBehindTheChecksums(t *testing.T) {
	for _, c := range []struct {
		block Block
		want  string
	}{
		{
			Block{Offset: []uint32{0, 2}, Index: []uint32{1, 1}, Value: []float32{1, 1}, Class: []uint16{0}},
			"block 0: row 0: index 1 is not in [2, 5) or does not ascend",
		},
		{
			Block{Offset: []uint32{0, 1}, Index: []uint32{5}, Value: []float32{1}, Class: []uint16{0}},
			"block 0: row 0: index 5 is not in [0, 5) or does not ascend",
		},
		{
			Block{Offset: []uint32{0, 1}, Index: []uint32{4}, Value: []float32{0}, Class: []uint16{0}},
			"block 0: row 0, index 4: value 0 is not finite or is zero",
		},
		{Block{Offset: []uint32{0, 0}, Class: []uint16{1}}, "block 0: row 0: class 1 of 1 labels"},
		{
			Block{Offset: []uint32{0, 0}, Class: []uint16{0}, Weight: []float32{-1}},
			"block 0: row 0: weight -1 is not finite and 0 or more",
		},
		{
			Block{Offset: []uint32{0, 0}, Class: []uint16{NoClass}},
			"block 0: row 0: no label, but the footer says that all rows have one",
		},
	} {
		path := filepath.Join(t.TempDir(), "x.cache")
		k := &keeper{opt: Options{CachePath: path, MemoryLimit: 1 << 20}}
		if err := k.openCache(); err != nil {
			t.Fatal(err)
		}
		if err := k.add(&c.block); err != nil {
			t.Fatal(err)
		}
		info := Info{
			Rows: 1, NonZeros: int64(len(c.block.Index)), Dim: 5, Labels: []Label{{Name: "a", Rows: 1}},
			Schema: &Schema{Format: SVMLight, Base: BaseZero, Dim: 5},
		}
		if _, err := k.finish(info, 0); err != nil {
			t.Fatal(err)
		}
		if err := readCacheFile(path); err == nil || err.Error() != path+": "+c.want {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

// A footer whose labels do not add up or are impossible is rejected before a row is read.
func TestCacheFooterRules(t *testing.T) {
	for _, c := range []struct {
		labels  []Label
		noLabel int64
		want    string
	}{
		{[]Label{{Name: "a"}}, 0, "the labels have 0 rows and 0 rows have none; there are 1 rows"},
		{[]Label{{Name: "a", Rows: 1}}, 1, "the labels have 1 rows and 1 rows have none; there are 1 rows"},
		{[]Label{{Name: "a", Rows: 2}}, -1, `label "a": 2 of 1 rows`},
		{[]Label{{Name: "a", Rows: 1}, {Name: "a"}}, 0, `label "a": it is a duplicate, or its canonical form is "a"`},
		{[]Label{{Name: "1.0", Rows: 1}}, 0, `label "1.0": it is a duplicate, or its canonical form is "1"`},
		{[]Label{{Name: "", Rows: 1}}, 0, "the label is empty"},
	} {
		path := filepath.Join(t.TempDir(), "x.cache")
		k := &keeper{opt: Options{CachePath: path, MemoryLimit: 1 << 20}}
		if err := k.openCache(); err != nil {
			t.Fatal(err)
		}
		if err := k.add(&Block{Offset: []uint32{0, 0}, Class: []uint16{0}}); err != nil {
			t.Fatal(err)
		}
		info := Info{Rows: 1, NoLabel: c.noLabel, Labels: c.labels, Schema: &Schema{Format: SVMLight, Base: BaseZero}}
		if _, err := k.finish(info, 0); err != nil {
			t.Fatal(err)
		}
		if err := readCacheFile(path); err == nil || err.Error() != path+": "+c.want {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}
