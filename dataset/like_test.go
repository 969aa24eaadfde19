package dataset

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A file that is read like another has its columns, centers, days and weights of words, although
// its own first rows would give others, and features of its own for the categories.
func TestLike(t *testing.T) {
	const head = "at,day,amount,text,kind,y\n"
	first := head + many(3, "1700000000,2024-02-03,\"1,5\",so it goes again,red,p\n"+
		"1700000050,2024-02-04,\"2,5\",it goes on today %d,blue,q\n")
	second := many(3, "1700086400,2025-02-03,\"1.000\",so it ends here,green,p\n1700000007,2025-02-04,\"7\",the end "+
		"goes %d,red,q\n")
	like := load(t, Options{}, writeFile(t, "a.csv", first)).Info().Schema
	for name, text := range map[string]string{
		"named": head + second, "by position": second, "another order": "y,kind,text,amount,day,at\n" +
			"p,green,so it ends here,\"1.000\",2025-02-03,1700086400\nq,red,the end goes 0,7,2025-02-04,1700000007\n",
	} {
		set := load(t, Options{Like: like}, writeFile(t, "b.csv", text))
		info := set.Info()
		if d := cmp.Diff(like.Columns, info.Schema.Columns); d != "" || info.Schema.Header != like.Header {
			t.Errorf("%s: (-like +got):\n%s", name, d)
		}
		if err := info.Schema.Validate(); err != nil {
			t.Error(err)
		}
		at := func(feature string) uint32 { return uint32(slices.Index(info.Schema.Features, feature)) }
		has := func(feature string) bool { return slices.Contains(info.Schema.Features, feature) }
		if !has("kind=green") || has("kind=blue") {
			t.Errorf("%s: features %q, want those of its own categories", name, info.Schema.Features)
		}
		want := map[uint32]float32{at("at"): 86350, at("day=days"): 366, at("day=year"): 1, at("amount"): 1000}
		row := 0
		eachRow(t, set, func(index []uint32, value []float32) {
			for i, x := range index {
				if v, ok := want[x]; row == 0 && ok && v != value[i] {
					t.Errorf("%s: %s is %v, want %v", name, info.Schema.Features[x], value[i], v)
				}
			}
			row++
		})
	}
	for _, c := range []struct {
		name, text string
		opt        Options
		want       string
	}{
		{"a.svm", "1 1:2\n", Options{}, "looks like svmlight, but the model was trained on csv"},
		{"c.csv", head + second, Options{Categorical: []string{"at"}}, `column "at" is numeric in the model`},
		{"d.csv", strings.Replace(head+second, "kind", "sort", 1), Options{}, `column "sort" is not a column of`},
		{"e.csv", head + second, Options{Schema: like}, "exclude each other"},
	} {
		c.opt.Like = like
		_, err := readAll(c.opt, writeFile(t, c.name, c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
	cache := filepath.Join(t.TempDir(), "a.cache")
	load(t, Options{CachePath: cache}, writeFile(t, "f.csv", head+second))
	if _, err := readAll(Options{Like: like}, cache); err == nil || !strings.Contains(err.Error(), "was read before") {
		t.Errorf("a cache: %v", err)
	}
}

// JSON lines and svmlight are read like others too: keys with their centers, the base of features.
func TestLikeKeys(t *testing.T) {
	first := many(3, `{"at":1700000000,"day":"2024-02-03","label":"p"}`+"\n"+`{"at":1700000001,"label":"q","n":%d}`+"\n")
	like := load(t, Options{}, writeFile(t, "a.jsonl", first)).Info().Schema
	set := load(t, Options{Like: like}, writeFile(t, "b.jsonl", `{"new":1,"at":5,"day":"2025-02-03","label":"p"}`+"\n"))
	info := set.Info()
	if d := cmp.Diff(like.Columns, info.Schema.Columns); d != "" || !slices.Contains(info.Schema.Features, "new") {
		t.Errorf("%q (-like +got):\n%s", info.Schema.Features, d)
	}
	like = load(t, Options{}, writeFile(t, "a.svm", "1 0:1 3:1\n0 1:1\n")).Info().Schema
	if got := load(t, Options{Like: like}, writeFile(t, "b.svm", "1 1:1 7:1\n")).Info().Schema; got.Base != BaseZero ||
		got.Dim != 8 {
		t.Errorf("got %+v, want the base 0 and 8 features", got)
	}
}
