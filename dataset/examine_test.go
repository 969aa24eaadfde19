package dataset

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Each fault is found in a set that has it, and none in one without.
func TestExamine(t *testing.T) {
	make := func(change func(i int, row map[string]string)) *Set {
		var b strings.Builder
		b.WriteString("a,b,c,y\n")
		for i := range 1000 {
			row := map[string]string{
				"a": fmt.Sprint((i*37)%101) + ".5", "b": fmt.Sprint(i * 53 % 89), "c": string(rune('p' + i*i%7)),
				"y": []string{"no", "no", "yes"}[i*i*i%11%3],
			}
			if change != nil {
				change(i, row)
			}
			fmt.Fprintf(&b, "%s,%s,%s,%s\n", row["a"], row["b"], row["c"], row["y"])
		}
		return load(t, Options{}, writeFile(t, "a.csv", b.String()))
	}
	for _, c := range []struct {
		name   string
		change func(i int, row map[string]string)
		want   []string
	}{
		{"sound", nil, nil},
		{"constant", func(_ int, row map[string]string) { row["b"] = "3" }, []string{"constant b"}},
		{"numbered", func(i int, row map[string]string) { row["b"] = fmt.Sprint(5000 - 2*i) }, []string{"id-like b"}},
		{"a number of its own", func(i int, row map[string]string) { row["b"] = fmt.Sprint(i * 777 % 1009) }, []string{
			"id-like b",
		}},
		{"leaking category", func(_ int, row map[string]string) { row["c"] = "was " + row["y"] }, []string{
			"leaking c",
		}},
		{"leaking number", func(i int, row map[string]string) {
			row["b"] = fmt.Sprint(i % 10)
			if row["y"] == "yes" {
				row["b"] = fmt.Sprint(50 + i%10)
			}
		}, []string{"leaking b"}},
		{"equal", func(_ int, row map[string]string) { row["b"] = row["a"] }, []string{"duplicate b"}},
	} {
		found, err := Examine(make(c.change), nil)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range found {
			got = append(got, string(f.Kind)+" "+f.Column)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
}
