package dataset

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
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
		{"constant category", func(_ int, row map[string]string) { row["c"] = "EUR=" }, []string{"constant c"}},
		{"a category beside missing cells", func(i int, row map[string]string) {
			row["c"] = []string{"EUR", ""}[i%2]
		}, nil},
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

// A constant category is told by its value, whatever the format, and no value of another column is.
func TestExamineConstantCategory(t *testing.T) {
	for name, text := range map[string]string{
		"a.csv":   "c,d,e,y\nEUR,p,,1\nEUR,q,,0\nEUR,p,,1\n",
		"a.jsonl": `{"c":"EUR","d":"p","e":"","y":1}` + "\n" + `{"c":"EUR","d":"q","e":"","y":0}` + "\n",
	} {
		set := load(t, Options{Categorical: []string{"e"}}, writeFile(t, name, text))
		found, _, err := Examine(set, nil)
		if err != nil {
			t.Fatal(err)
		}
		want := []Finding{
			{Constant, "c", `every row has the value "EUR"`}, {Constant, "e", `every row has the value ""`},
		}
		if d := cmp.Diff(want, found); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

// Random numbers of rows are told from measurements, which may be new in every row, too.
func TestExamineIDs(t *testing.T) {
	var r *rand.Rand
	whole := func(f func() float64) func() string {
		return func() string { return strconv.FormatInt(int64(f()), 10) }
	}
	for name, c := range map[string]struct {
		value func() string
		id    bool
	}{
		"six digits":           {whole(func() float64 { return 1e5 + 9e5*r.Float64() }), true},
		"eight, zeros":         {func() string { return fmt.Sprintf("%08d", r.IntN(1e8)) }, true},
		"sixty bits":           {func() string { return strconv.FormatUint(r.Uint64()>>4, 10) }, true},
		"salaries":             {whole(func() float64 { return 55_000 + 9_000*r.NormFloat64() }), false},
		"amounts":              {whole(func() float64 { return math.Exp(10 + r.NormFloat64()) }), false},
		"waits":                {whole(func() float64 { return 3e5 * r.ExpFloat64() }), false},
		"lengths":              {whole(func() float64 { return 7000 * r.Float64() }), false},
		"between other bounds": {whole(func() float64 { return 2e5 + 3e5*r.Float64() }), false},
		"wide salaries":        {whole(func() float64 { return max(0, 50_000+20_000*r.NormFloat64()) }), false},
	} {
		for _, rows := range []int{60, 300, 3000} {
			if c.id && rows < idRows {
				continue // too few to tell
			}
			if name == "six digits" && rows == 3000 || name == "lengths" && rows == 3000 {
				continue // they repeat
			}
			r = rand.New(rand.NewPCG(7, uint64(rows)))
			var b strings.Builder
			b.WriteString("a,x,y\n")
			for i := range rows {
				fmt.Fprintf(&b, "%s,%v,%d\n", c.value(), r.NormFloat64(), i*7919%rows%2)
			}
			found, _, err := Examine(load(t, Options{}, writeFile(t, "a.csv", b.String())), nil)
			if err != nil {
				t.Fatal(err)
			}
			got := slices.ContainsFunc(found, func(f Finding) bool { return f.Kind == IDLike && f.Column == "a" })
			if got != c.id {
				t.Errorf("%s of %d rows: id-like is %v", name, rows, got)
			}
		}
	}
}

// Words of a text are no columns, and new values are told by their columns.
func TestExamineTextAndNewValues(t *testing.T) {
	text := func(columns, cells string) string {
		var b strings.Builder
		b.WriteString("note,c,y" + columns + "\n")
		for i := range 60 {
			fmt.Fprintf(&b, "some words of text w%dx w%dz every time,%c,%d%s\n", i, i, "pq"[i%2], i*i%7%2, cells)
		}
		return b.String()
	}
	opt := Options{TextColumns: []string{"note"}, Unseen: UnseenIgnore}
	train := load(t, opt, writeFile(t, "a.csv", text("", "")))
	opt.Schema = train.Info().Schema
	test := load(t, opt, writeFile(t, "b.csv", strings.ReplaceAll(text(",new", ",7"), ",q,", ",other,")))
	found, _, err := Examine(train, test)
	if err != nil {
		t.Fatal(err)
	}
	found = slices.DeleteFunc(found, func(f Finding) bool { return f.Kind == Shift })
	want := []Finding{
		{NewValues, "new", `values that do not occur in training, such as "7"; there are 90 such values in all columns`},
		{NewValues, "c", `values that do not occur in training, such as "other"`},
	}
	if d := cmp.Diff(want, found); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// Of features that have only numbers those are looked at that occur: gaps and empty slots are no
// columns, and the first ones that occur may have any numbers.
func TestExamineSlots(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	columns := func(name string, opt Options, text string) (got []string, skipped string) {
		found, reasons, err := Examine(load(t, opt, writeFile(t, name, text)), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			got = append(got, string(f.Kind)+" "+f.Column+": "+f.Message)
		}
		return got, strings.Join(reasons, "; ")
	}
	var svm, vw, csv strings.Builder
	csv.WriteString("one,two,y\n")
	for i := range 400 {
		x := random.NormFloat64()
		label := 2*(i*i%7%2) - 1
		fmt.Fprintf(&svm, "%d 3:%v 70:%v 5000:2 900000:%v\n", label, x, random.NormFloat64(), x)
		fmt.Fprintf(&vw, "%d |a one:%v two:2 |b three:%v 7:%v\n", label, x, random.NormFloat64(), x)
		fmt.Fprintf(&csv, "%v,2,%d\n", x, label)
	}
	want := []string{
		"constant feature 5000: every row has the value 2", `duplicate feature 900000: equal to "feature 3" in every row`,
	}
	if got, skipped := columns("a.svm", Options{}, svm.String()); strings.Contains(skipped, "all:") ||
		!slices.Equal(got, want) {
		t.Errorf("svmlight: %q, %q", got, skipped)
	}
	if got, skipped := columns("a.vw", Options{}, vw.String()); strings.Contains(skipped, "all:") || len(got) != 2 ||
		!strings.HasPrefix(got[0], "constant feature ") || !strings.HasPrefix(got[1], "duplicate feature ") {
		t.Errorf("vw: %q, %q", got, skipped)
	}
	want = []string{"constant feature " + fmt.Sprint(hashName([]byte("two"), 20)) + ": every row has the value 2"}
	if got, skipped := columns("a.csv", Options{Bits: 20}, csv.String()); strings.Contains(skipped, "all:") ||
		!slices.Equal(got, want) {
		t.Errorf("csv with bits: %q, %q; want %q", got, skipped, want)
	}

	// More features than are looked at, in any order of the rows: the lowest numbers are.
	for range 3 {
		var many strings.Builder
		all := random.Perm(40_000)[:3*examinedFeatures]
		for from := 0; from < len(all); from += 64 {
			row := slices.Sorted(slices.Values(all[from : from+64]))
			fmt.Fprintf(&many, "%d", from/64%2)
			for _, x := range row {
				fmt.Fprintf(&many, " %d:1", x+1)
			}
			many.WriteString("\n")
		}
		set := load(t, Options{}, writeFile(t, "many.svm", many.String()))
		slices.Sort(all)
		got, more, err := occurring(set, examinedFeatures)
		if err != nil || !more || len(got) != examinedFeatures {
			t.Fatalf("%d, %v, %v", len(got), more, err)
		}
		for i, x := range got {
			if int(x) != all[i] {
				t.Fatalf("feature %d is %d, want %d", i, x, all[i])
			}
		}
		found, skipped := columns("many.svm", Options{}, many.String())
		if !strings.Contains(skipped, "all: only the first 4096 features that occur were looked at") {
			t.Errorf("skipped %q", skipped)
		}
		if strings.Contains(strings.Join(found, "\n"), "constant") {
			t.Errorf("found %q", found)
		}
		if got, more, _ := occurring(set, len(all)); more || len(got) != len(all) {
			t.Errorf("%d of %d, more %v", len(got), len(all), more)
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
