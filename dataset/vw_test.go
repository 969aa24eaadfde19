package dataset

import (
	"slices"
	"strings"
	"testing"
)

// The hashes are those of Vowpal Wabbit 9.11.9 (hash_space, and --audit at 18 bits).
func TestVWHash(t *testing.T) {
	for _, c := range []struct {
		space, name string
		want        uint32
	}{
		{"", "a", 92594},
		{"n", "a", 55346},
		{"n", "12", 121016},
		{"user", "age", 23567},
		{"", "word", 185504},
		{"12", "x", 98015},
		{"n", "héé", 189269},
		{"n", "longer_feature_name_here", 115585},
		{"", "7", 7},
	} {
		seed := uint32(0)
		if c.space != "" {
			seed = vwHash([]byte(c.space), 0)
		}
		if got := vwHash([]byte(c.name), seed) & (1<<18 - 1); got != c.want {
			t.Errorf("%s^%s: %d, want %d", c.space, c.name, got, c.want)
		}
	}
}

// Rows, weights and numbers are those that vw --audit shows.
func TestVW(t *testing.T) {
	text := "1 2.5 tag|n a:2 12 b:0.5 |user:3 age:4 x\n-1 'tg | word other:1.5 7:2\n\n1 |a b=c d:1e-2 a:3 a:4 e:0\n"
	for _, name := range []string{"rows.vw", "rows"} {
		set := load(t, Options{}, writeFile(t, name, text))
		info := set.Info()
		if info.Schema.Format != VW || info.Dim != 1<<18 || info.Weight != 4.5 || info.Rows != 3 {
			t.Errorf("%+v, %+v", info, info.Schema)
		}
		r, err := set.Read()
		want := []string{
			"0*2.5 23567:12 32272:3 55346:2 121016:1 233442:0.5", "1 7:2 41896:1.5 185504:1",
			"0 2364:0.01 84045:1 128920:7",
		}
		if got := show(t, r, err); !slices.Equal(got, want) {
			t.Errorf("rows %q\nwant %q", got, want)
		}
	}
	small := load(t, Options{Bits: 10}, writeFile(t, "small.vw", text))
	if small.Info().Dim != 1024 {
		t.Errorf("10 bits: %d", small.Info().Dim)
	}
	for line, want := range map[string]string{
		"1 a b":           "no | in",
		"1:2:0.5 |n a":    "only simple labels are read",
		"1 2 3 |n a":      "no initial prediction",
		"| a":             "no label before the |",
		"1 -1 |n a":       "importance \"-1\"",
		"1 |n:x a":        "the scale must be a finite number",
		"1 |n :2":         "the feature has no name",
		"1 |n a:b":        "the value must be a decimal number",
		"1 |n a:1e39":     "the range of float32",
		"1 |n a:nan":      "the value must be a finite number",
		"1 |n:1e30 a:1e9": "times the scale 1e+30 must lie in the range of float32",
	} {
		path := writeFile(t, "bad.vw", "1 |n ok\n"+line+"\n")
		_, err := Load(t.Context(), []string{path}, Options{Format: VW})
		if err == nil || !strings.Contains(err.Error(), "bad.vw:2: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", line, err, want)
		}
	}
}
