package dataset

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/noregret/noregret"
)

func TestCSVRows(t *testing.T) {
	for _, c := range []struct {
		name, text string
		opt        Options
		rows       []string
		labels     []string
		features   []string
	}{
		{
			"header, label last", "a,b,y\n1,2,yes\n0,-3.5,no\n",
			Options{},
			[]string{"0 0:1 1:2", "1 1:-3.5"},
			[]string{"yes", "no"},
			[]string{"a", "b"},
		},
		{
			"no header", "1,2,yes\n3,4,no\n",
			Options{},
			[]string{"0 0:1 1:2", "1 0:3 1:4"},
			[]string{"yes", "no"},
			[]string{"c1", "c2"},
		},
		{
			"weights with a decimal comma", "x;w;y\n1,061;1,5;p\n0,5;1.000,5;q\n2;3;q\n",
			Options{WeightColumn: "w"},
			[]string{"0*1.5 0:1.061", "1*1000.5 0:0.5", "1*3 0:2"},
			[]string{"p", "q"},
			[]string{"x"},
		},
		{
			"a line with the separator", "sep=;\r\nx;y,z\r\n1;p\r\n2;q\r\n",
			Options{},
			[]string{"0 0:1", "1 0:2"},
			[]string{"p", "q"},
			[]string{"x"},
		},
		{
			"a line with the separator, no header", "SEP=\t\n1\tp\n2\tq\n",
			Options{},
			[]string{"0 0:1", "1 0:2"},
			[]string{"p", "q"},
			[]string{"c1"},
		},
		{
			"a header of numbers and a label", ",0,1,Class\n7,1,2,yes\n8,3,4,no\n",
			Options{},
			[]string{"0 0:7 1:1 2:2", "1 0:8 1:3 2:4"},
			[]string{"yes", "no"},
			[]string{"c1", "0", "1"},
		},
		{
			"no header, the label y", "1,2,y\n3,4,n\n5,6,y\n",
			Options{},
			[]string{"0 0:1 1:2", "1 0:3 1:4", "0 0:5 1:6"},
			[]string{"y", "n"},
			[]string{"c1", "c2"},
		},
		{
			"no header, a rare flag with the name of a label", "12.5,Y,300,0\n3.1,N,200,1\n4.2,N,100,0\n",
			Options{},
			[]string{"0 0:12.5 1:300 2:1", "1 0:3.1 1:200 3:1", "0 0:4.2 1:100 3:1"},
			[]string{"0", "1"},
			[]string{"c1", "c3", "c2=Y", "c2=N"},
		},
		{
			"no header, a rare label y", "5,3,y\n3,4,n\n5,6,n\n",
			Options{},
			[]string{"0 0:5 1:3", "1 0:3 1:4", "1 0:5 1:6"},
			[]string{"y", "n"},
			[]string{"c1", "c2"},
		},
		{
			"a trailing full stop is part of a name", "0,tcp,normal.\n1,udp,smurf.\n",
			Options{},
			[]string{"0 1:1", "1 0:1 2:1"},
			[]string{"normal.", "smurf."},
			[]string{"c1", "c2=tcp", "c2=udp"},
		},
		{
			"one-hot in order of appearance", "k,x,c,y\nq,1,red,1\nr,2,blue,0\nq,3,red,0\n",
			Options{},
			[]string{"0 0:1 1:1 2:1", "1 0:2 3:1 4:1", "1 0:3 1:1 2:1"},
			[]string{"1", "0"},
			[]string{"x", "k=q", "c=red", "k=r", "c=blue"},
		},
		{
			"label by name, semicolons", "y;a\n1;7\n2;8\n",
			Options{LabelColumn: "y"},
			[]string{"0 0:7", "1 0:8"},
			[]string{"1", "2"},
			[]string{"a"},
		},
		{
			"label by number, tabs", "p\t1\t2\nq\t3\t4\n",
			Options{LabelColumn: "1", Header: HeaderNo},
			[]string{"0 0:1 1:2", "1 0:3 1:4"},
			[]string{"p", "q"},
			[]string{"c2", "c3"},
		},
		{
			"quotes, commas, newlines, doubled quotes", "a,c,y\n1,\"x, \"\"y\"\"\nz\",\"p\"\r\n2,w,q\r\n",
			Options{},
			[]string{"0 0:1 1:1", "1 0:2 2:1"},
			[]string{"p", "q"},
			[]string{"a", "c=x, \"y\"\nz", "c=w"},
		},
		{
			"no quotes", "5\" pipe,\"x,p\n6\",y\",q\n",
			Options{NoQuotes: true, Header: HeaderNo},
			[]string{"0 0:1 1:1", "1 2:1 3:1"},
			[]string{"p", "q"},
			[]string{`c1=5" pipe`, `c2="x`, `c1=6"`, `c2=y"`},
		},
		{
			"blanks around cells", "1 , 2,a\n 3,4 , b\n",
			Options{},
			[]string{"0 0:1 1:2", "1 0:3 1:4"},
			[]string{"a", "b"},
			[]string{"c1", "c2"},
		},
		{
			"weights and ignored columns", "id,a,w,y\n9,1,2.5,p\n8,2,1,q\n",
			Options{WeightColumn: "w", IgnoreColumns: []string{"id"}},
			[]string{"0*2.5 0:1", "1 0:2"},
			[]string{"p", "q"},
			[]string{"a"},
		},
		{
			"forced categorical", "a,y\n1,p\n2,q\n",
			Options{Categorical: []string{"a"}},
			[]string{"0 0:1", "1 1:1"},
			[]string{"p", "q"},
			[]string{"a=1", "a=2"},
		},
		{
			"missing as zero", "a,y\n1,p\n,q\nNA,p\n?,p\nNull,q\nn/a,q\nNaN,q\n",
			Options{Missing: MissingZero},
			[]string{"0 0:1", "1", "0", "0", "1", "1", "1"},
			[]string{"p", "q"},
			[]string{"a"},
		},
		{
			"missing indicator", "a,b,y\n1,2,p\n,3,q\n",
			Options{Missing: MissingIndicator},
			[]string{"0 0:1 1:2", "1 1:3 2:1"},
			[]string{"p", "q"},
			[]string{"a", "b", "a=missing"},
		},
		{
			"a missing category is a level", "c,y\nx,p\n,q\n?,q\n",
			Options{Header: HeaderYes},
			[]string{"0 0:1", "1 1:1", "1 1:1"},
			[]string{"p", "q"},
			[]string{"c=x", "c="},
		},
		{
			"kind by the first value that is there", "a,c,y\n?,?,p\n1,z,q\n",
			Options{Missing: MissingZero, Header: HeaderYes},
			[]string{"0 1:1", "1 0:1 2:1"},
			[]string{"p", "q"},
			[]string{"a", "c=", "c=z"},
		},
		{
			"no label", "a,y\n1,\n2,p\n",
			Options{AllowNoLabel: true},
			[]string{"- 0:1", "0 0:2"},
			[]string{"p"},
			[]string{"a"},
		},
		{
			"bad rows allowed", "a,y\n1,p\n2\nx,ghost\n3,p\n",
			Options{MaxBadLines: 2},
			[]string{"0 0:1", "0 0:3"},
			[]string{"p"},
			[]string{"a"},
		},
		{
			"an unnamed column", ",a,y\n5,1,p\n6,2,p\n",
			Options{},
			[]string{"0 0:5 1:1", "0 0:6 1:2"},
			[]string{"p"},
			[]string{"c1", "a"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := writeFile(t, "a.csv", c.text)
			for _, chunk := range []int{1, 7, 1 << 20} {
				c.opt.chunkBytes, c.opt.Workers = chunk, 2
				set := load(t, c.opt, path)
				r, err := set.Read()
				if d := cmp.Diff(c.rows, show(t, r, err)); d != "" {
					t.Errorf("chunks of %d: rows (-want +got):\n%s", chunk, d)
				}
				i := set.Info()
				if d := cmp.Diff(c.labels, labelNames(i)); d != "" {
					t.Errorf("labels (-want +got):\n%s", d)
				}
				if d := cmp.Diff(c.features, i.Schema.Features); d != "" {
					t.Errorf("features (-want +got):\n%s", d)
				}
				if err := i.Schema.Validate(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestCSVErrors(t *testing.T) {
	for _, c := range []struct {
		name, text string
		opt        Options
		want       string
	}{
		{
			"cells", "a,b,y\n1,2,p\n1,2\n",
			Options{},
			":3: 2 cells for 3 columns (the delimiter ',' was inferred from the first line; --delimiter " +
				"overrides it)",
		},
		{
			"word in a numeric column", "a,y\n1,p\ntwo,p\n",
			Options{},
			`:3: column "a": cell "two" is not a number, but the column's first value is one; declare a column of ` +
				`names with --categorical, or what means missing with --missing-values`,
		},
		{
			"infinite after the separator's line", "sep=;\na;y\n1;p\ninf;p\n",
			Options{},
			`:4: column "a": cell "inf": the value must be a finite number`,
		},
		{"infinite", "a,y\n1,p\ninf,p\n", Options{}, `:3: column "a": cell "inf": the value must be a finite number`},
		{
			"too large", "a,y\n1,p\n1e39,p\n",
			Options{},
			`:3: column "a": cell "1e39": the value must lie in the range of float32, ±3.4028235e38`,
		},
		{
			"missing", "a,y\n1,p\n,p\n",
			Options{Missing: MissingError},
			`:3: column "a": cell "": the value is missing; --missing zero and --missing indicator allow missing ` +
				`values`,
		},
		{"missing label", "a,y\n1,p\n1,\n", Options{}, `:3: column "y": cell "": the label is missing`},
		{
			"infinite label", "a,y\n1,p\n1,inf\n",
			Options{},
			`:3: column "y": label "inf": a label must be a finite number or a name`,
		},
		{
			"line numbers count lines in quotes", "c,y\n\"u\n\nv\",p\nw\n",
			Options{},
			`:5: 1 cells for 2 columns (the delimiter ',' was inferred from the first line; --delimiter overrides it)`,
		},
		{
			"bare quote", "a,y\n1,p\n1,x\"y\n",
			Options{},
			`:3: column 2: cell "x\"y": a quote inside a cell that does not start with one; quote the whole cell and ` +
				`double the quotes in it`,
		},
		{
			"after a quote", "a,y\n1,p\n1,\"x\"y\n",
			Options{},
			`:3: column 2: "y" follows a closing quote; a quote inside a quoted cell must be doubled`,
		},
		{"open quote", "a,y\n1,p\n1,\"x\n", Options{}, `:3: column 2: the quote that opens the cell is never closed`},
		{
			"weight", "a,w,y\n1,1,p\n1,-2,p\n",
			Options{WeightColumn: "w"},
			`:3: column "w": weight "-2": it must be a number from 0 to 3.4028234663852886e+38`,
		},
		{
			"no such column", "a,y\n1,p\n",
			Options{LabelColumn: "z"},
			`:1: no label column "z"; the 2 columns are a, y`,
		},
		{
			"no such column, after blank lines", "\n\na,y\n1,p\n",
			Options{LabelColumn: "z"},
			`:3: no label column "z"; the 2 columns are a, y`,
		},
		{
			"too many names", "c,y\nu,p\nv,p\n\nw,p\nx,p\n",
			Options{MaxDim: 2},
			`:5: feature "c=w": there are more than 2 features; leave a column of names out (--ignore-columns), hash ` +
				`features (--bits) or raise the largest dimension (--max-dim)`,
		},
		{
			"too many columns", "a,b,c,y\n1,2,3,p\n",
			Options{MaxDim: 2},
			`: feature "c": there are more than 2 features; leave a column of names out (--ignore-columns), hash ` +
				`features (--bits) or raise the largest dimension (--max-dim)`,
		},
		{
			"two roles", "a,y\n1,p\n",
			Options{IgnoreColumns: []string{"y"}},
			`:1: column "y" cannot be both label and ignored`,
		},
		{
			"two columns of one name", "a,a,y\n1,2,p\n",
			Options{},
			`:1: two columns are named "a": the names must differ, or leave both out (--ignore-columns)`,
		},
		{
			"ambiguous names", "a,a=x,y\nz,2,p\n",
			Options{},
			`:1: column "a=x": its name starts with "a=", as do the features of the column "a"; rename one`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := writeFile(t, "a.csv", c.text)
			_, err := readAll(c.opt, path)
			if err == nil || err.Error() != path+c.want {
				t.Errorf("got  %v\nwant %s", err, path+c.want)
			}
			if noregret.CodeOf(err) != noregret.BadInput {
				t.Errorf("code %q", noregret.CodeOf(err))
			}
		})
	}
}

// The first columns of values that the schema lacks are known, also from a cache, without those of
// bad lines.
func TestIgnoredColumns(t *testing.T) {
	many := []string{"1 1:1"}
	for i := range MaxIgnoredColumns + 3 {
		many = append(many, fmt.Sprintf("0 %d:1", i+3))
	}
	for name, c := range map[string]struct {
		train, text string
		want        []IgnoredColumn
	}{
		"csv": {
			"c,a,y\nred,1,p\nblue,2,q\n", "c,a,new,y\npink,x,8,p\ngreen,,7,p\ngrey,1,9,q\n",
			[]IgnoredColumn{{"c", "green", false}, {"a", "", true}, {"new", "7", false}},
		},
		"jsonl": {
			`{"a":1,"c":"red","label":1}` + "\n", `{"b":{"k":2},"c":"pink","label":0}` + "\n",
			[]IgnoredColumn{{"b.k", "", false}, {"c", "pink", false}},
		},
		"svm": {"1 1:1 2:2\n", "0 1:1 7:2\n", []IgnoredColumn{{"feature 7", "", false}}},
		"many.svm": {"1 1:1 2:2\n", strings.Join(many, "\n") + "\n", []IgnoredColumn{
			{"feature 3", "", false},
			{"feature 4", "", false},
			{"feature 5", "", false},
			{"feature 6", "", false},
			{"feature 7", "", false},
			{"feature 8", "", false},
		}},
	} {
		opt := Options{
			Schema: load(t, Options{}, writeFile(t, name, c.train)).Info().Schema, Unseen: UnseenIgnore, MaxBadLines: 1,
			CachePath: filepath.Join(t.TempDir(), "x.cache"), Missing: MissingIndicator,
		}
		direct := load(t, opt, writeFile(t, name, c.text))
		cache := opt.CachePath
		opt.CachePath = ""
		for from, set := range map[string]*Set{"text": direct, "cache": load(t, opt, cache)} {
			if d := cmp.Diff(c.want, set.Info().IgnoredColumns); d != "" {
				t.Errorf("%s from the %s (-want +got):\n%s", name, from, d)
			}
		}
	}
}

// A model's schema reads later files by the names in their headers, in any order of columns.
func TestCSVSchemaMatchesByName(t *testing.T) {
	train := load(t, Options{}, writeFile(t, "train.csv", "a,c,b,y\n1,red,2,p\n3,blue,4,q\n"))
	schema := train.Info().Schema
	test := writeFile(t, "test.csv", "y,b,c,a\nq,20,blue,10\np,0,red,5\n")
	set := load(t, Options{Schema: schema}, test)
	r, err := set.Read()
	if d := cmp.Diff([]string{"0 0:10 1:20 3:1", "1 0:5 2:1"}, show(t, r, err)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for _, c := range []struct {
		text, want string
		rows       []string
		ignored    int64
	}{
		{
			"a,c,b,y\n1,green,2,p\n",
			`:2: column "c": the model has no feature "c=green"; --unseen ignore drops such values`,
			[]string{"0 0:1 1:2"},
			1,
		},
		{
			"a,c,b,new,y\n1,red,2,9,p\n",
			`:1: column "new" is not a column of the training data; --unseen ignore drops it`,
			[]string{"0 0:1 1:2 2:1"},
			1,
		},
		{"1,red,2,p\n", "", []string{"0 0:1 1:2 2:1"}, 0},
	} {
		path := writeFile(t, "x.csv", c.text)
		_, err := readAll(Options{Schema: schema}, path)
		if c.want != "" && (err == nil || err.Error() != path+c.want) || c.want == "" && err != nil {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
		set := load(t, Options{Schema: schema, Unseen: UnseenIgnore}, path)
		r, err := set.Read()
		if d := cmp.Diff(c.rows, show(t, r, err)); d != "" || set.Info().IgnoredFeatures != c.ignored {
			t.Errorf("%d ignored, rows (-want +got):\n%s", set.Info().IgnoredFeatures, d)
		}
	}
	path := writeFile(t, "x.csv", "a,c,y\n1,red,p\n")
	if _, err := readAll(Options{Schema: schema}, path); err == nil ||
		err.Error() != path+`:1: the numeric column "b" is missing` {
		t.Errorf("got %v", err)
	}
	path = writeFile(t, "x.csv", "a,c,b\n1,red,2\n")
	if _, err := readAll(Options{Schema: schema, AllowNoLabel: true}, path); err != nil {
		t.Errorf("without labels: %v", err)
	}
}

// With a schema, options may repeat those of the model or state what it does not record, but not
// contradict it.
func TestCSVSchemaAndOptions(t *testing.T) {
	schema := load(t, Options{WeightColumn: "w", Missing: MissingError},
		writeFile(t, "train.csv", "a,c,w,y\n1,red,1,p\n3,blue,1,q\n")).Info().Schema
	same := writeFile(t, "x.csv", "a,c,w,y\n1,red,2,p\n")
	renamed := writeFile(t, "x.csv", "a,c,w,truth,id\n,red,2,p,7\n")
	for _, c := range []struct {
		path string
		opt  Options
		want string
	}{
		{same, Options{LabelColumn: "y", WeightColumn: "w", Categorical: []string{"c"}}, ""},
		{same, Options{LabelColumn: "4"}, ""},
		{same, Options{LabelColumn: "1"}, `:1: column "a" is numeric in the model, it cannot be label`},
		{same, Options{LabelColumn: "a"}, `:1: column "a" is numeric in the model, it cannot be the label`},
		{same, Options{WeightColumn: "a"}, `:1: column "a" is numeric in the model, it cannot be weight`},
		{same, Options{Categorical: []string{"a"}}, `:1: column "a" is numeric in the model, it cannot be categorical`},
		{same, Options{IgnoreColumns: []string{"a"}}, `:1: column "a" is numeric in the model, it cannot be ignored`},
		{renamed, Options{LabelColumn: "truth", IgnoreColumns: []string{"id"}, Missing: MissingZero}, ""},
		{
			renamed,
			Options{LabelColumn: "truth", IgnoreColumns: []string{"id"}},
			`:2: column "a": cell "": the value is missing; --missing zero and --missing indicator allow missing ` +
				`values`,
		},
	} {
		c.opt.Schema = schema
		i, err := readAll(c.opt, c.path)
		if c.want == "" && (err != nil || i.Rows != 1 || i.Weight != 2 || i.IgnoredFeatures != 0) || c.want != "" &&
			(err == nil || err.Error() != c.path+c.want) {
			t.Errorf("%+v: got %v, %d rows; want %s", c.opt, err, i.Rows, c.want)
		}
	}
}

func TestCSVSeveralFiles(t *testing.T) {
	one := writeFile(t, "1.csv", "a,c,y\n1,x,p\n")
	two := writeFile(t, "2.csv", "y,c,a\nq,z,2\n")
	three := writeFile(t, "3.csv", "3,x,p\n")
	set := load(t, Options{}, one, two, three)
	r, err := set.Read()
	if d := cmp.Diff([]string{"0 0:1 1:1", "1 0:2 2:1", "0 0:3 1:1"}, show(t, r, err)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	four := writeFile(t, "4.csv", "a,c,y\n1,x,p\n1\n")
	if _, err := readAll(Options{}, one, four); err == nil || !strings.HasPrefix(err.Error(), four+":3: ") {
		t.Errorf("got %v", err)
	}
}

func TestCSVHashing(t *testing.T) {
	path := writeFile(t, "a.csv", "a,c,y\n2,red,p\n3,blue,q\n")
	set := load(t, Options{Bits: 20}, path)
	i := set.Info()
	if i.Dim != 1<<20 || i.Schema.Features != nil || i.NonZeros != 4 {
		t.Errorf("dim %d, features %v, %d nonzeros", i.Dim, i.Schema.Features, i.NonZeros)
	}
	again := load(t, Options{Schema: i.Schema}, writeFile(t, "b.csv", "c,a,y\nred,2,p\nblue,3,q\n"))
	r, err := set.Read()
	want := show(t, r, err)
	r, err = again.Read()
	if d := cmp.Diff(want, show(t, r, err)); d != "" {
		t.Errorf("(-first +by name):\n%s", d)
	}
}

func TestCSVWorkersDoNotMatter(t *testing.T) {
	var text strings.Builder
	for i := range 4000 {
		text.WriteString([]string{"red", "blue", "gr\"\"een\n", "x,y"}[i*i%4][:3])
		text.WriteString(",")
		text.WriteString(strings.Repeat("7", 1+i%5))
		text.WriteString(",\"v" + strings.Repeat("z", i*31%97) + "\n\",")
		text.WriteString([]string{"p", "q", "r"}[i*7%3] + "\n")
	}
	body := strings.ReplaceAll(text.String(), "x,y", "xyy")
	body = strings.ReplaceAll(body, "gr\"", "grr")
	path := writeFile(t, "a.csv", body)
	r, err := Open(context.Background(), []string{path}, Options{Workers: 1, Header: HeaderNo})
	want := fingerprint(t, r, err)
	for _, size := range []int{64, 1000, 50000} {
		r, err := Open(context.Background(), []string{path}, Options{Workers: 3, Header: HeaderNo, chunkBytes: size})
		if got := fingerprint(t, r, err); got != want {
			t.Errorf("chunks of %d bytes: the blocks differ", size)
		}
		if n := r.Info().Rows; n != 4000 {
			t.Errorf("%d rows", n)
		}
	}
}

// A stray quote costs its own line only, wherever the text is cut, if the next quoted cell ends on
// its line; a well quoted row over several lines counts them all.
func TestCSVStrayQuote(t *testing.T) {
	var text strings.Builder
	text.WriteString("a,c,y\n1,u,p\n2,\"x,q\n")
	for range 300 {
		text.WriteString("3,u,p\n")
	}
	text.WriteString("4,\"v,w\",q\n5,u,p\nsix,\"v\nw\",q\n7,u,p\n")
	path := writeFile(t, "a.csv", text.String())
	for _, chunk := range []int{1, 7, 100, 1 << 20} {
		opt := Options{MaxBadLines: 3, chunkBytes: chunk, Workers: 2}
		set := load(t, opt, path)
		i := set.Info()
		if i.Rows != 304 || i.BadLines != 3 || len(i.FirstBad) != 2 {
			t.Fatalf("chunks of %d: %d rows, %d bad lines, %v", chunk, i.Rows, i.BadLines, i.FirstBad)
		}
		for k, want := range []string{
			`:3: column 2: "v" follows a closing quote; a quote inside a quoted cell must be doubled (the quotes ` +
				`join lines 3-304 into one row)`,
			`:306: column "a": cell "six" is not a number, but the column's first value is one; declare a column of ` +
				`names with --categorical, or what means missing with --missing-values (the quotes join lines 306-307 into one row)`,
		} {
			if got := i.FirstBad[k].Error(); got != path+want {
				t.Errorf("chunks of %d: got  %s\nwant %s", chunk, got, path+want)
			}
		}
		opt.MaxBadLines = 2
		if _, err := readAll(opt, path); err == nil || !strings.HasPrefix(err.Error(), path+":306: ") {
			t.Errorf("chunks of %d, one bad line less: %v", chunk, err)
		}
	}
}

// A .tsv file is separated by tabs even if its first line has more commas.
func TestTSV(t *testing.T) {
	text := "a\ty, or z, or w\n1\tp\n2\tq\n"
	i := load(t, Options{}, writeFile(t, "a.tsv", text)).Info()
	if len(i.Schema.Columns) != 2 || i.Rows != 2 {
		t.Errorf("columns %v, %d rows", i.Schema.Columns, i.Rows)
	}
}

// A header of numbers, also with an empty cell, is one in a second file and for a model, too.
func TestNumberedHeaderAgain(t *testing.T) {
	const header, rows = ",0,1,Class\n", "7,1,2,yes\n8,3,4,no\n"
	a, b := writeFile(t, "a.csv", header+rows), writeFile(t, "b.csv", header+rows)
	i, err := readAll(Options{}, a, b)
	if err != nil || i.Rows != 4 || len(i.Labels) != 2 {
		t.Fatalf("two files: %d rows of %d labels, error %v; want 4 of 2", i.Rows, len(i.Labels), err)
	}
	for _, text := range []string{header + rows, ",0,1\n7,1,2\n8,3,4\n"} {
		j, err := readAll(Options{Schema: i.Schema, AllowNoLabel: true}, writeFile(t, "c.csv", text))
		if err != nil || j.Rows != 2 {
			t.Errorf("%q for a model: %d rows, error %v; want 2", text, j.Rows, err)
		}
	}
}

// An empty file tells no columns: it may not be the first of several.
func TestEmptyFileFirst(t *testing.T) {
	empty, full := writeFile(t, "e.csv", ""), writeFile(t, "f.csv", "a,y\n1,0\n2,1\n")
	if i, err := readAll(Options{}, full, empty); err != nil || i.Rows != 2 {
		t.Errorf("an empty file last: %d rows, error %v; want 2", i.Rows, err)
	}
	for _, text := range []string{"", "sep=;\n"} {
		_, err := readAll(Options{}, writeFile(t, "e.csv", text), full)
		if err == nil || !strings.Contains(err.Error(), "e.csv: the first file has no row") {
			t.Errorf("%q first: error %v", text, err)
		}
	}
}

// A bad row before the first good one does not decide how columns are read: the others are the same
// without it.
func TestBadRowsAreNotLookedAt(t *testing.T) {
	rows := "abc,2,1\nabc,4,0\nab,5,1\n"
	big := strings.Repeat(rows, peekBytes/len(rows)+1)
	for name, c := range map[string]struct {
		bad, rest string
		opt       Options
	}{
		"a quote in a cell":   {"a\"b,1,0\n", rows, Options{}},
		"an open quote":       {"\"open,1,0\n", rows, Options{}},
		"text after a quote":  {"\"x\"y,1,0\n", rows, Options{}},
		"an inch in a cell":   {"a 3.5\" disk,1,0\n", big, Options{}},
		"not UTF-8":           {"a\xff,1,0\n", rows, Options{}},
		"too few cells":       {"7,1\n", rows, Options{}},
		"a named header":      {"a\"b,1,0\n", rows, Options{Header: HeaderYes}},
		"two quotes that end": {"a\"b,1,0\nx,y\"z,1\n", rows, Options{}},
	} {
		c.opt.MaxBadLines = 2
		want := load(t, c.opt, writeFile(t, "good.csv", "u,v,label\n"+c.rest))
		got := load(t, c.opt, writeFile(t, "bad.csv", "u,v,label\n"+c.bad+c.rest))
		if d := cmp.Diff(want.Info().Schema, got.Info().Schema); d != "" || got.Info().Rows != want.Info().Rows ||
			got.Info().BadLines != int64(strings.Count(c.bad, "\n")) {
			t.Errorf("%s: %d rows, %d bad, schema (-want +got):\n%s", name, got.Info().Rows, got.Info().BadLines, d)
		}
	}
}
