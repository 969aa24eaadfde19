package dataset

import (
	"fmt"
	"math"
	"math/rand/v2"
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
		found, _, err := Examine(make(c.change), nil)
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

// Small sets, heavy tails and rare labels are looked at as far as they tell something, and what is
// not looked for is said.
func TestExamineSmallAndRare(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	make := func(rows, positives int, row func(i int, positive bool) string) *Set {
		var b strings.Builder
		b.WriteString("a,b,y\n")
		for i := range rows {
			positive := i*7919%rows < positives
			fmt.Fprintf(&b, "%s,%v,%s\n", row(i, positive), random.NormFloat64(),
				map[bool]string{true: "yes", false: "no"}[positive])
		}
		return load(t, Options{}, writeFile(t, "a.csv", b.String()))
	}
	number := func(f func(positive bool) float64) func(int, bool) string {
		return func(_ int, positive bool) string { return fmt.Sprint(f(positive)) }
	}
	noise := number(func(bool) float64 { return random.NormFloat64() })
	label := number(func(positive bool) float64 {
		if positive {
			return 1
		}
		return 0
	})
	tail := func(shift float64) func(int, bool) string {
		return number(func(bool) float64 { return math.Exp(shift + 3*random.NormFloat64()) })
	}
	for name, c := range map[string]struct {
		train, test *Set
		want        string
		skipped     string // the beginning of the first sentence
	}{
		"the label, few rows": {make(60, 12, label), nil, "leaking a", "leaking: 1 columns"},
		"the label with noise": {make(500, 60, number(func(p bool) float64 {
			if p {
				return 10 + random.Float64()
			}
			return random.Float64()
		})), nil, "leaking a", "leaking: 1 columns"},
		"noise, few rows":         {make(200, 60, noise), nil, "", "leaking: 2 columns"},
		"one label":               {make(500, 0, noise), nil, "one-label ", "leaking: 0 rows"},
		"one row":                 {make(1, 0, noise), nil, "one-label ", "id-like: 1 rows"},
		"heavy tails moved":       {make(4000, 400, tail(0)), make(4000, 400, tail(3)), "shift a", ""},
		"heavy tails as before":   {make(4000, 400, tail(0)), make(4000, 400, tail(0)), "", ""},
		"no positives":            {make(600, 70, noise), make(300, 0, noise), "shift  shift ", "leaking: "},
		"five times as many":      {make(4000, 80, noise), make(4000, 400, noise), "shift  shift ", ""},
		"the same share":          {make(4000, 80, noise), make(3000, 66, noise), "", ""},
		"too few to show a share": {make(4000, 80, noise), make(20, 1, noise), "", ""},
	} {
		found, skipped, err := Examine(c.train, c.test)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range found {
			got = append(got, string(f.Kind)+" "+f.Column)
		}
		first := strings.Join(skipped, "; ")
		if strings.Join(got, " ") != c.want || !strings.HasPrefix(first, c.skipped) ||
			(c.skipped == "") != (first == "") {
			t.Errorf("%s: found %q, skipped %q; want %q, %q", name, found, first, c.want, c.skipped)
		}
	}
}
