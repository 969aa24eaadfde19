package dataset

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/noregret/noregret"
)

func TestNotations(t *testing.T) {
	for _, c := range []struct {
		n    notation
		cell string
		want float64 // NaN: not a number
	}{
		{notation{',', 0, false, 0}, "1,5", 1.5},
		{notation{',', 0, false, 0}, "-0,25e2", -25},
		{notation{',', 0, false, 0}, "1.5", math.NaN()},
		{notation{',', '.', false, 0}, "1.234.567,8", 1234567.8},
		{notation{',', '.', false, 0}, "1.23", math.NaN()},
		{notation{',', '.', false, 0}, "1234.567", math.NaN()},
		{notation{',', '.', false, 0}, "1234,5", 1234.5},
		{notation{',', '.', false, 0}, "1,5.2", math.NaN()},
		{notation{'.', ',', false, 0}, "+12,345.5", 12345.5},
		{notation{'.', ',', false, 0}, ",345", math.NaN()},
		{notation{'.', ',', false, 0}, "12,,345", math.NaN()},
		{notation{'.', ',', false, 0}, "12,345,", math.NaN()},
		{notation{'.', '\'', false, 0}, "12'345", 12345},
		{notation{'.', '\'', false, 0}, "12\u2019345", 12345},
		{notation{',', ' ', false, 0}, "1 234,5", 1234.5},
		{notation{',', ' ', false, 0}, "1\u00a0234\u202f567", 1234567},
		{notation{'.', 0, true, 0}, "12.5%", .125},
		{notation{',', 0, true, 0}, "12,5 %", .125},
		{notation{',', 0, true, 0}, "12,5", math.NaN()},
		{notation{'.', ',', false, 1}, "$1,234.50", 1234.5},
		{notation{'.', ',', false, 1}, "-$ 1,234", -1234},
		{notation{'.', ',', false, 1}, "$-.5", -.5},
		{notation{'.', ',', false, 1}, "+5 $", 5},
		{notation{'.', ',', false, 1}, "5", math.NaN()},
		{notation{'.', ',', false, 1}, "$", math.NaN()},
		{notation{'.', ',', false, 1}, "-$", math.NaN()},
		{notation{'.', ',', false, 1}, "-$-5", math.NaN()},
		{notation{'.', ',', false, 1}, "$5$", math.NaN()},
		{notation{'.', ',', false, 1}, "€5", math.NaN()},
		{notation{',', '.', false, 2}, "1.200,50 €", 1200.5},
		{notation{',', '.', false, 2}, "-1.200,50€", -1200.5},
		{notation{',', '.', false, 2}, "€\u00a05", 5},
		{notation{',', ' ', false, 7}, "1 234,5 EUR", 1234.5},
		{notation{'.', '\'', false, 9}, "CHF 1'234.5", 1234.5},
		{notation{'.', 0, false, 3}, "£12.5", 12.5},
		{notation{'.', 0, false, 4}, "¥1200", 1200},
		{notation{'.', 0, false, 0}, "$5", math.NaN()},
		{notation{'.', 0, false, 0}, "", math.NaN()},
		{notation{',', '.', false, 0}, "", math.NaN()},
		{notation{',', '.', false, 0}, "-", math.NaN()},
	} {
		v, ok := c.n.number([]byte(c.cell), nil)
		if ok == math.IsNaN(c.want) || ok && v != c.want {
			t.Errorf("%q as %v: got %v, %v; want %v", c.cell, c.n, v, ok, c.want)
		}
	}
}

// Every number, written in any notation, is read as the number it is.
func FuzzNotation(f *testing.F) {
	f.Add(1234567.5, uint8(3), "1.234,5")
	f.Add(-.125, uint8(12), "--1")
	f.Fuzz(func(t *testing.T, v float64, which uint8, junk string) {
		for _, n := range notations {
			_, _ = n.number([]byte(junk), nil) // no panic
		}
		if v = math.Trunc(v*8) / 8; !(math.Abs(v) < 1e12) {
			return
		}
		n := notations[int(which)%len(notations)]
		if !n.percent {
			n.currency = byte(int(which) / len(notations) % (len(currencies) + 1))
		}
		money := n.currency
		whole, rest, _ := strings.Cut(strconv.FormatFloat(math.Abs(v), 'f', -1, 64), ".")
		text := ""
		if n.thousands != 0 {
			for len(whole) > 3 {
				text = string(n.thousands) + whole[len(whole)-3:] + text
				whole = whole[:len(whole)-3]
			}
		}
		text = whole + text
		if rest != "" {
			text += string(n.decimal) + rest
		}
		if v < 0 && which&1 == 0 {
			text = "-" + text
		}
		switch {
		case which&2 != 0:
			text = n.sign() + text
		case n.currency != 0:
			text += " " + n.sign()
		}
		if v < 0 && which&1 != 0 {
			text = "-" + text
		}
		want := v
		if n.percent {
			text += " %"
			want /= 100
		}
		got, ok := n.number([]byte(text), nil)
		if !ok || got != want {
			t.Errorf("%q as %v: %v, %v; want %v", text, n, got, ok, want)
		}
		set, currency := notationsOf([]byte(text))
		if n.currency = 0; !set.has(n) || currency != money {
			t.Errorf("%q: not found to be %v", text, n)
		}
	})
}

// How columns are read is found in the first rows, kept in the schema, and the same with the
// schema.
func TestReadings(t *testing.T) {
	for _, c := range []struct {
		name, text string
		opt        Options
		want       Column
		values     string // of the first feature
	}{
		{
			"decimal comma, first a whole number", "a;y\n3;p\n2,5;q\n1.000,5;q\n",
			Options{},
			Column{Kind: Numeric, Decimal: ",", Thousands: "."},
			"3 2.5 1000.5",
		},
		{"quoted in a file with commas", "a,y\n\"1,5\",p\n\"2,5\",q\n", Options{}, Column{
			Kind: Numeric, Decimal: ",", Thousands: ".",
		}, "1.5 2.5"},
		{
			"beyond what differences float32 holds", "a,y\n2e38,p\n-2.68843e+38,q\n",
			Options{},
			Column{Kind: Numeric},
			"2e+38 -2.68843e+38",
		},
		{
			"nanoseconds and the largest numbers", "a,y\n1700000000000000000,p\n-3.4028234e38,q\n",
			Options{},
			Column{Kind: Numeric, Center: 1.7e18},
			"- -3.4028235e+38",
		},
		{
			"gaps in numbers far from 0", "a,y\n300,p\n290,q\n,p\n295,q\n280,p\n291.5,q\n",
			Options{},
			Column{Kind: Numeric, Center: 291.5},
			"8.5 -1.5 - 3.5 -11.5 -",
		},
		{
			"gaps beside ones", "a,y\n1,p\n1,q\n,p\n1,q\n1,p\n1,q\n",
			Options{},
			Column{Kind: Numeric},
			"1 1 - 1 1 1",
		},
		{
			"gaps that are 0 by a flag", "a,y\n300,p\n290,q\n,p\n295,q\n280,p\n291.5,q\n",
			Options{Missing: MissingZero},
			Column{Kind: Numeric},
			"300 290 - 295 280 291.5",
		},
		{
			"gaps in numbers with a long tail", "a,y\n3,p\n290,q\n,p\n29,q\n80,p\n2000,q\n",
			Options{},
			Column{Kind: Numeric},
			"3 290 - 29 80 2000",
		},
		{
			"no gaps", "a,y\n300,p\n290,q\n295,q\n280,p\n291.5,q\n",
			Options{},
			Column{Kind: Numeric},
			"300 290 295 280 291.5",
		},
		{"pipes between cells", "a|y\n1|p\n2.5|q\n", Options{}, Column{Kind: Numeric}, "1 2.5"},
		{
			"weekdays", "a;y\nWed, 08 May 2024 13:00:00 GMT;p\nThu, 09 May 2024 14:30:00 +0000;q\n",
			Options{},
			Column{Kind: Timestamp, Center: 1715126400},
			"0.5416667 1.6041666",
		},
		{"thousands", "a;y\n1,234.5;p\n7;q\n", Options{}, Column{Kind: Numeric, Thousands: ","}, "1234.5 7"},
		{"two marks of thousands", "a;y\n1,234,567;p\n7;q\n", Options{}, Column{
			Kind: Numeric, Thousands: ",",
		}, "1.234567e+06 7"},
		{"blanks", "a;y\n1 234;p\n7,5;q\n", Options{}, Column{
			Kind: Numeric, Decimal: ",", Thousands: " ",
		}, "1234 7.5"},
		{"percent", "a,y\n50%,p\n12.5 %,q\n", Options{}, Column{
			Kind: Numeric, Percent: true,
		}, "0.5 0.125"},
		{"dollars in a file with commas", "a,y\n$950.00,p\n\"$1,200.50\",q\n", Options{}, Column{
			Kind: Numeric, Thousands: ",", Currency: "$",
		}, "950 1200.5"},
		{"euros", "a;y\n950 €;p\n1.200,50 €;q\n-;q\n-3 €;p\n", Options{}, Column{
			Kind: Numeric, Decimal: ",", Thousands: ".", Currency: "€",
		}, "950 1200.5 - -3"},
		{"whole pounds", "a;y\n£5;p\n£1,234,567;q\n", Options{}, Column{
			Kind: Numeric, Thousands: ",", Currency: "£",
		}, "5 1.234567e+06"},
		{"dollars, told", "a;y\n$1,234;p\n$7;q\n", Options{Decimal: "."}, Column{
			Kind: Numeric, Thousands: ",", Currency: "$",
		}, "1234 7"},
		{"euros, told", "a;y\n1.234 €;p\n950 €;q\n", Options{Decimal: ","}, Column{
			Kind: Numeric, Decimal: ",", Thousands: ".", Currency: "€",
		}, "1234 950"},
		{"euros, told by one", "a;y\n1.234 €;p\n1.5 €;q\n", Options{}, Column{
			Kind: Numeric, Thousands: ",", Currency: "€",
		}, "1.234 1.5"},
		{"euros as the others", "a;b;y\n1.234 €;1.5;p\n950 €;2;q\n", Options{}, Column{
			Kind: Numeric, Thousands: ",", Currency: "€",
		}, "1.234 950"},
		{"whole euros before row 101", "a;y\n" + strings.Repeat("0 €;p\n", 100) + "1.234 €;q\n", Options{}, Column{
			Kind: Numeric, Thousands: ",", Currency: "€",
		}, strings.Repeat("- ", 100) + "1.234"},
		{"plain", "a;y\n1.234;p\n7;q\n", Options{}, Column{Kind: Numeric}, "1.234 7"},
		{"as the others", "a;b;y\n1,234;1,5;p\n7;1;q\n", Options{}, Column{
			Kind: Numeric, Decimal: ",", Thousands: ".",
		}, "1.234 7"},
		{"as the others, point", "a;b;y\n1,234;1.5;p\n7;1;q\n", Options{}, Column{
			Kind: Numeric, Thousands: ",",
		}, "1234 7"},
		{"told", "a;y\n1,234;p\n7;q\n", Options{Decimal: ","}, Column{
			Kind: Numeric, Decimal: ",", Thousands: ".",
		}, "1.234 7"},
		{"told, point", "a;y\n1,234;p\n7;q\n", Options{Decimal: "."}, Column{Kind: Numeric, Thousands: ","}, "1234 7"},
		{"thousands after a point", "a;y\n612.30;p\n1,092.17;q\n1'092.5;p\n-1 092;q\n2,000.00;p\n", Options{}, Column{
			Kind: Numeric,
		}, "612.3 1092.17 1092.5 -1092 2000"},
		{"thousands after a whole number among commas", "a,y\n612,p\n\"1,092\",q\n\"1,092.5\",q\n", Options{
			Decimal: ".",
		}, Column{Kind: Numeric, Thousands: ","}, "612 1092 1092.5"},
		{"after missing ones", "a;y\n-;p\n#N/A;q\n2,5;q\n", Options{}, Column{
			Kind: Numeric, Decimal: ",", Thousands: ".",
		}, "- - 2.5"},
		{
			"named missing values", "a,y\nnone,p\n2,q\nunknown,q\n",
			Options{MissingValues: []string{"none", "unknown"}},
			Column{Kind: Numeric},
			"- 2 -",
		},
		{
			"numbers that are missing", "a,y\n-999,p\n2,q\n-999,q\n-999.0,q\n",
			Options{MissingValues: []string{"-999"}},
			Column{Kind: Numeric},
			"- 2 - -999",
		},
		{"words for missing values", "a,y\nnone,p\n2,q\nUnknown,q\n<NA>,p\nMISSING,p\n7,p\n", Options{}, Column{
			Kind: Numeric,
		}, "- 2 - - - 7"},
		{"words for missing dates", "a,y\nunknown,p\n2024-02-29,q\nnone,q\n2024-03-01,p\n", Options{}, Column{
			Kind: Date, Center: 1709164800,
		}, "- - - 1"},
		{"words that may be values", "a,y\nnone,p\n?,q\nnone,q\n", Options{}, Column{Kind: Categorical}, "1 - 1"},
		{"words among words", "a,y\nnone,p\nred,q\nunknown,q\n", Options{}, Column{Kind: Categorical}, "1 - -"},
		{"a word that is named", "a,y\nnone,p\n?,q\n", Options{MissingValues: []string{"none"}}, Column{
			Kind: Numeric,
		}, "- -"},
		{"Unix time", "a,y\n1700000001,p\n1700000002,q\n1699999999,q\n", Options{}, Column{
			Kind: Numeric, Center: 1700000001,
		}, "- 1 -2"},
		{"Unix time after never", "a,y\n0,p\n-1,p\n,q\n1700000001,p\n1700000002,q\n1700000004,q\n", Options{
			Missing: MissingZero,
		}, Column{Kind: Numeric, Center: 1700000002}, "-1.7e+09 -1.7e+09 - -1 - 2"},
		{"a large number before small ones", "a,y\n99999999,p\n2,q\n3,q\n", Options{}, Column{
			Kind: Numeric,
		}, "1e+08 2 3"},
		{"centered by name after a mark", "a,y\n-999,p\n1000.001,p\n1000.002,q\n", Options{
			CenterColumns: []string{"a"},
		}, Column{Kind: Numeric, Center: 1000.001}, "-1999.001 - 0.001"},
		{"centered by name", "a,y\n1000.001,p\n1000.002,q\n", Options{CenterColumns: []string{"a"}}, Column{
			Kind: Numeric, Center: 1000.001,
		}, "- 0.001"},
		{"dates", "a,y\n2024-02-29,p\n2024-03-01,q\n2023/12/31,q\n", Options{}, Column{
			Kind: Date, Center: 1709164800,
		}, "- 1 -60"},
		{"times", "a,y\n2024-02-29 06:00,p\n2024-03-01T12:00:00Z,q\n2024-02-29T02:00:00+02:00,q\n", Options{}, Column{
			Kind: Timestamp, Center: 1709164800,
		}, "0.25 1.5 -"},
		{"a word is no number", "a,y\nx,p\ny,q\n", Options{Header: HeaderYes}, Column{Kind: Categorical}, "1 -"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := writeFile(t, "a.csv", c.text)
			c.want.Name = "a"
			var schema *Schema
			for range 2 {
				c.opt.Schema = schema
				set := load(t, c.opt, path)
				schema = set.Info().Schema
				if d := cmp.Diff(c.want, schema.Columns[0]); d != "" {
					t.Errorf("column (-want +got):\n%s", d)
				}
				if err := schema.Validate(); err != nil {
					t.Error(err)
				}
				if got := strings.Join(firstFeature(t, set), " "); got != c.values {
					t.Errorf("values %s, want %s", got, c.values)
				}
			}
		})
	}
}

// Numbers and dates in the strings of JSON lines are read as those of CSV are.
func TestJSONReadings(t *testing.T) {
	for _, c := range []struct {
		name, text string
		opt        Options
		want       []Column
		rows       []string
	}{
		{
			"numbers in strings", `{"label":1,"a":"3","b":"x"}` + "\n" + `{"label":0,"a":"2,5","b":"y"}` + "\n" +
				`{"label":0,"a":1.5,"b":"x"}` + "\n" + `{"label":0,"a":"n/a"}` + "\n",
			Options{},
			[]Column{{Name: "a", Kind: Numeric, Decimal: ",", Thousands: "."}},
			[]string{"0 0:3 1:1", "1 0:2.5 2:1", "1 0:1.5 1:1", "1 3:1"},
		},
		{
			"named categories", `{"label":1,"zip":"12345"}` + "\n" + `{"label":0,"zip":54321}` + "\n",
			Options{Categorical: []string{"zip"}},
			[]Column{{Name: "zip", Kind: Categorical}},
			[]string{"0 0:1", "1 1:1"},
		},
		{
			"Unix time, nested", `{"label":1,"t":{"at":1700000001}}` + "\n" + `{"label":0,"t":{"at":1700000003}}` + "\n",
			Options{},
			[]Column{{Name: "t.at", Kind: Numeric, Center: 1700000001}},
			[]string{"0", "1 0:2"},
		},
		{
			"Unix time, null and absent at first", `{"label":1,"t":null}` + "\n" + `{"label":1}` + "\n" +
				`{"label":1,"t":1700000001}` + "\n" + `{"label":0,"t":1700000003}` + "\n",
			Options{},
			[]Column{{Name: "t", Kind: Numeric, Center: 1700000001}},
			[]string{"0 1:1", "0", "0", "1 0:2"},
		},
		{
			"numbers that are missing", `{"label":1,"a":-999}` + "\n" + `{"label":1,"a":2}` + "\n" +
				`{"label":0,"a":-999.0}` + "\n",
			Options{MissingValues: []string{"-999"}},
			[]Column{},
			[]string{"0 0:1", "0 1:2", "1 1:-999"},
		},
		{
			"dates", `{"label":1,"d":"2024-02-29"}` + "\n" + `{"label":0,"d":"2024-03-01"}` + "\n",
			Options{},
			[]Column{{Name: "d", Kind: Date, Center: 1709164800}},
			[]string{"0 3:1 17:1", "1 0:1 4:1 18:1"},
		},
		{
			"dates, null at first", `{"label":1,"d":null}` + "\n" + `{"label":1}` + "\n" +
				`{"label":0,"d":"2024-03-01"}` + "\n",
			Options{},
			[]Column{{Name: "d", Kind: Date, Center: 1709251200}},
			[]string{"0 21:1", "0", "1 4:1 18:1"},
		},
		{
			"the decimal mark of strings", `{"label":1,"a":"1,100","x":1.5}` + "\n" + `{"label":0,"a":"2","x":2.5}` + "\n",
			Options{Decimal: ","},
			[]Column{{Name: "a", Kind: Numeric, Decimal: ",", Thousands: "."}},
			[]string{"0 0:1.1 1:1.5", "1 0:2 1:2.5"},
		},
		{
			"a word before a number", `{"label":1,"a":"none"}` + "\n" + `{"label":0,"a":5}` + "\n" +
				`{"label":0,"a":"low"}` + "\n",
			Options{},
			nil,
			[]string{"0 0:1", "1 1:5", "1 2:1"},
		},
		{
			"a word after a number", `{"label":1,"a":5}` + "\n" + `{"label":0,"a":"none"}` + "\n" +
				`{"label":0,"a":"low"}` + "\n",
			Options{},
			nil,
			[]string{"0 0:5", "1 1:1", "1 2:1"},
		},
		{
			"a word before a number in a string", `{"label":1,"a":"none"}` + "\n" + `{"label":0,"a":"5"}` + "\n",
			Options{},
			[]Column{{Name: "a", Kind: Numeric}},
			[]string{"0 1:1", "1 0:5"},
		},
		{
			"none", `{"label":1,"d":"x","e":2}` + "\n" + `{"label":0,"d":true}` + "\n",
			Options{},
			nil,
			[]string{"0 0:1 1:2", "1 2:1"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := writeFile(t, "a.jsonl", c.text)
			var schema *Schema
			for _, chunk := range []int{1 << 20, 1, 30} {
				c.opt.Schema, c.opt.chunkBytes, c.opt.Workers = schema, chunk, 2
				set := load(t, c.opt, path)
				schema = set.Info().Schema
				if d := cmp.Diff(c.want, schema.Columns); d != "" {
					t.Errorf("columns (-want +got):\n%s", d)
				}
				if err := schema.Validate(); err != nil {
					t.Error(err)
				}
				r, err := set.Read()
				if d := cmp.Diff(c.rows, show(t, r, err)); d != "" {
					t.Errorf("chunks of %d: rows (-want +got):\n%s", chunk, d)
				}
			}
		})
	}
	for text, want := range map[string]string{
		`{"label":1,"a":"3"}` + "\n" + `{"label":0,"a":"x"}` + "\n": `:2: key "a": cell "x" is not a number, but the ` +
			`column's first value is one; declare a column of names with --categorical, or what means missing with ` +
			`--missing-values`,
		many(30, `{"label":1,"id":"n%d"}`+"\n"): `:1: column "id": nearly each of 30 values is new, as in a column of ` +
			`names, texts or numbers of another notation (the first is "n0"): leave it out (--ignore-columns), or say ` +
			`that they are texts (--text) or categories (--categorical)`,
		`{"label":1,"a":"$3"}` + "\n" + `{"label":0,"a":"€4"}` + "\n": `:2: key "a": cell "€4" is a number, but ` +
			`written otherwise than the first ones, $1,234.5: write all of a column in one way`,
		`{"label":1,"a":"1,234"}` + "\n": `: column "a": the mark in "1,234" may be the decimal one or that of ` +
			`thousands: say which mark is the decimal one (--decimal . or --decimal ,)`,
		`{"label":1,"a":"1,234","b":"n/a"}` + "\n" + `{"label":0,"b":1.5}` + "\n": `: column "a": the mark in "1,234" ` +
			`may be the decimal one or that of thousands: say which mark is the decimal one (--decimal . or --decimal ,)`,
		`{"label":1,"a":"2024-01-01","a=days":2}` + "\n": `:1: key "a=days": it is also the name of a feature of the ` +
			`key "a"; rename one`,
		`{"label":1,"a":"1.5","a=missing":2}` + "\n": `:1: key "a=missing": it is also the name of a feature of the ` +
			`key "a"; rename one`,
		`{"label":1,"a":"2024-01-01"}` + "\n" + `{"label":0,"a":5}` + "\n": `:2: key "a": cell "5" is not a date, but ` +
			`the column's first value is one: want YYYY-MM-DD, d.m.yyyy or 1 Jan yyyy, perhaps with Thh:mm:ss and Z, +hh:mm or ` +
			`nothing behind; declare a column of names with --categorical`,
	} {
		path := writeFile(t, "a.jsonl", text)
		for _, chunk := range []int{1 << 20, 1} {
			if _, err := readAll(Options{chunkBytes: chunk}, path); err == nil || err.Error() != path+want {
				t.Errorf("got  %v\nwant %s", err, path+want)
			}
		}
	}
}

// The numbers 0 and -1 among Unix times are read, though float32 cannot tell them apart without the
// center. Other numbers as far from it must be told apart.
func TestNeverAmongTimes(t *testing.T) {
	for name, row := range map[string]string{
		"a.csv": "%d,p\n", "numbers.jsonl": `{"a":%d,"label":1}` + "\n", "strings.jsonl": `{"a":"%d","label":1}` + "\n",
	} {
		text := ""
		for i := range 40 {
			text += fmt.Sprintf(row+row+row, 0, -1, 1_700_000_000+i)
		}
		if strings.HasSuffix(name, "csv") {
			text = "a,y\n" + text
		}
		i, err := readAll(Options{}, writeFile(t, name, text))
		if err != nil || i.Schema.Columns[0].Center != 1_700_000_016 {
			t.Errorf("%s: %v, %+v", name, err, i.Schema)
		}
		_, err = readAll(Options{}, writeFile(t, name, strings.ReplaceAll(text, "-1", "-2")))
		if err == nil || !strings.Contains(err.Error(), `column "a": its large values lie`) {
			t.Errorf("%s with -2: %v", name, err)
		}
	}
}

// A number that is missing in columns of numbers may be a label, a word may not.
func TestMissingLabels(t *testing.T) {
	for _, text := range []string{"a,y\n-1,-1\n2,1\n3,none\n", `{"a":-1,"label":-1}
{"a":2,"label":1}
{"a":3,"label":"none"}
`} {
		name := "a.csv"
		if text[0] == '{' {
			name = "a.jsonl"
		}
		opt := Options{MissingValues: []string{"-1", "none"}}
		path := writeFile(t, name, text)
		if _, err := readAll(opt, path); err == nil || !strings.Contains(err.Error(), "label") {
			t.Errorf("%s: the missing label is taken for one: %v", name, err)
		}
		opt.AllowNoLabel = true
		i, err := readAll(opt, path)
		if err != nil || len(i.Labels) != 2 || i.NoLabel != 1 || i.Labels[0].Name != "-1" {
			t.Errorf("%s: %v, labels %v, %d without", name, err, i.Labels, i.NoLabel)
		}
	}
}

// A column of sentences is one of texts: every row has length 1, a word of few texts weighs more
// than one of all, and new words do not count.
func TestTexts(t *testing.T) {
	texts := []string{"the cat sat", "the dog ran away", "the bird; the BIRD!", "the end is near", "the cat ran"}
	var csv, jsonl strings.Builder
	csv.WriteString("text,n,y\n")
	for i, s := range texts {
		fmt.Fprintf(&csv, "%s,%d,%c\n", s, i, 'p'+rune(i%2))
		fmt.Fprintf(&jsonl, `{"text":%q,"n":%d,"label":"%c"}`+"\n", s, i, 'p'+rune(i%2))
	}
	for name, text := range map[string]string{"a.csv": csv.String(), "a.jsonl": jsonl.String()} {
		path := writeFile(t, name, text)
		set := load(t, Options{}, path)
		schema := set.Info().Schema
		i := slices.IndexFunc(schema.Columns, func(c Column) bool { return c.Name == "text" })
		c := schema.Columns[i]
		counts := slices.Sorted(slices.Values(c.Counts))
		if c.Kind != Text || c.Texts != 5 || !slices.Equal(counts, []int{2, 2, 2, 5}) {
			t.Errorf("%s: %+v", name, c)
		}
		if err := schema.Validate(); err != nil {
			t.Error(err)
		}
		var first []float64
		eachRow(t, set, func(index []uint32, value []float32) {
			sum := 0.0
			for k, f := range index {
				if strings.HasPrefix(schema.Features[f], "text#") {
					sum += float64(value[k]) * float64(value[k])
					if len(first) < 5 {
						first = append(first, math.Abs(float64(value[k])))
					}
				}
			}
			if math.Abs(sum-1) > 1e-6 {
				t.Errorf("%s: a row has the squared length %v", name, sum)
			}
		})
		// the (5 texts), cat (2), sat, the cat (2), cat sat (1 each), in any order
		slices.Sort(first)
		if n := len(first); n != 5 || math.Abs(first[0]*(1+math.Log(3))-first[4]) > 1e-6 || first[1] != first[2] ||
			first[3] != first[4] {
			t.Errorf("%s: weights %v", name, first)
		}
		r, err := set.Read()
		want := show(t, r, err)
		for _, chunk := range []int{1, 40, 1 << 20} {
			again := load(t, Options{Schema: schema, chunkBytes: chunk, Workers: 2}, path)
			r, err = again.Read()
			if d := cmp.Diff(want, show(t, r, err)); d != "" {
				t.Errorf("%s with the schema (-want +got):\n%s", name, d)
			}
		}
		hashed := load(t, Options{Bits: 12}, path)
		eachRow(t, hashed, func(index []uint32, _ []float32) {
			if len(index) < 4 {
				t.Errorf("%s: %d hashed features", name, len(index))
			}
		})
	}
	schema := load(t, Options{}, writeFile(t, "a.csv", csv.String())).Info().Schema
	set := load(t, Options{Schema: schema}, writeFile(t, "b.csv", "text,n,y\nquite other words,1,p\n,2,q\n"))
	if i := set.Info(); i.NonZeros != 2 || i.IgnoredFeatures != 0 {
		t.Errorf("new words: %d nonzeros, %d ignored", i.NonZeros, i.IgnoredFeatures)
	}
	set = load(t, Options{TextColumns: []string{"c"}}, writeFile(t, "c.csv", "c,y\none,p\ntwo,q\n"))
	if f := set.Info().Schema.Features; len(f) != 2 || !strings.HasPrefix(f[0], "c#") {
		t.Errorf("a text that is named: features %v", f)
	}
}

// eachRow calls f for all rows of a set.
func eachRow(t *testing.T, set *Set, f func(index []uint32, value []float32)) {
	t.Helper()
	r, err := set.Read()
	if err != nil {
		t.Fatal(err)
	}
	var b Block
	for r.Next(&b) == nil {
		for i := range b.Len() {
			f(b.Row(i))
		}
	}
}

// firstFeature returns the values of feature 0, "-" for 0.
func firstFeature(t *testing.T, set *Set) (out []string) {
	r, err := set.Read()
	for _, row := range show(t, r, err) {
		v := "-"
		for _, f := range strings.Fields(row)[1:] {
			if text, ok := strings.CutPrefix(f, "0:"); ok {
				v = text
			}
		}
		out = append(out, v)
	}
	return out
}

// many returns n lines, each of format with its number.
func many(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// The first line of a file of texts is data if its label is there again, and names the columns
// where it is not, however long the names are.
func TestHeaderOfTexts(t *testing.T) {
	rows := many(8, "ham\tso it goes and goes again %d\n") + "spam\twin a prize now call\n"
	for _, c := range []struct {
		name, text string
		opt        Options
		header     bool
		rows       int64
	}{
		{"a label", "spam\tfree entry, win a cup\n" + rows, Options{LabelColumn: "1"}, false, 10},
		{"two words", "spam\tOk lar\n" + rows, Options{LabelColumn: "1"}, false, 10},
		{"a rare label", "spam\tfree entry, win a cup\n" + many(500, "ham\tso it goes and goes %d\n") + rows, Options{
			LabelColumn: "1",
		}, false, 510},
		{"names", "kind\ttext\n" + rows, Options{LabelColumn: "1"}, true, 9},
		{"a question", "kind\tWhat did you think of us?\n" + rows, Options{LabelColumn: "1"}, true, 9},
		{"a name that is a value", "spam\ttext\n" + rows, Options{LabelColumn: "1"}, true, 9},
		{"the label is named", "spam\tfree entry, win a cup\n" + rows, Options{LabelColumn: "spam"}, true, 9},
		{"it is stated", "spam\tfree entry, win a cup\n" + rows, Options{
			LabelColumn: "1", Header: HeaderYes,
		}, true, 9},
	} {
		for _, chunk := range []int{1, 50, 1 << 20} {
			c.opt.chunkBytes = chunk
			info, err := readAll(c.opt, writeFile(t, "a.tsv", c.text))
			if err != nil || info.Rows != c.rows || info.Schema.Header != c.header ||
				info.Schema.Columns[1].Kind != Text {
				t.Errorf("%s: %d rows, %+v, %v", c.name, info.Rows, info.Schema, err)
			}
		}
	}
}

// A column of row numbers is refused where it is one beyond doubt.
func TestRowNumbers(t *testing.T) {
	const counts, unnamed = "its numbers count the 30 rows", "the header has no name for it"
	rows := func(cell func(int) string) string {
		var text strings.Builder
		for i := range 30 {
			fmt.Fprintf(&text, "%s,%d,%c\n", cell(i), i%7, "pq"[i%2])
		}
		return text.String()
	}
	from := func(first int) string { return rows(func(i int) string { return strconv.Itoa(first + i) }) }
	shuffled := func(i int) string { return strconv.Itoa(i * 7 % 30) }
	repeated := func(i int) string { return strconv.Itoa(i * i % 11) }
	mostlyZero := func(i int) string { return strconv.Itoa(i * (i % 2)) }
	for name, c := range map[string]struct {
		text string
		opt  Options
		want string
	}{
		"from 0":               {"i,a,y\n" + from(0), Options{}, counts},
		"from 1":               {"i,a,y\n" + from(1), Options{}, counts},
		"years":                {"i,a,y\n" + from(1990), Options{}, ""},
		"named":                {"i,a,y\n" + from(0), Options{CenterColumns: []string{"i"}}, ""},
		"left out":             {"i,a,y\n" + from(0), Options{IgnoreColumns: []string{"i"}}, ""},
		"shuffled":             {"i,a,y\n" + rows(shuffled), Options{}, ""},
		"without a name":       {",a,y\n" + rows(shuffled), Options{Missing: MissingZero}, unnamed},
		"of pandas":            {"Unnamed: 0,a,y\n" + rows(shuffled), Options{}, unnamed},
		"no name, but named":   {",a,y\n" + rows(shuffled), Options{CenterColumns: []string{"c1"}}, ""},
		"no name, percent":     {",a,y\n" + rows(func(i int) string { return shuffled(i) + "%" }), Options{}, ""},
		"no name, a number":    {",a,y\n" + rows(repeated), Options{}, ""},
		"no name, mostly zero": {",a,y\n" + rows(mostlyZero), Options{}, ""},
	} {
		set, err := Load(t.Context(), []string{writeFile(t, "a.csv", c.text)}, c.opt)
		if err == nil {
			err = set.Close()
		}
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
	// A stream ends too late to refuse one.
	if _, err := readAll(Options{}, writeFile(t, "a.csv", "i,a,y\n"+from(0))); err != nil {
		t.Error(err)
	}
}

// A column counts the rows of several files, and a key those of JSON lines.
func TestRowNumbersOfFiles(t *testing.T) {
	rows := func(head, format string, from, to, of int) string {
		text := new(strings.Builder)
		text.WriteString(head)
		for i := from; i < to; i++ {
			fmt.Fprintf(text, format, i%of, "pq"[i%2])
		}
		return text.String()
	}
	csv := func(from, to, of int) string { return rows("i,y\n", "%d,%c\n", from, to, of) }
	lines := func(from, to, of int) string {
		return rows("", "{\"i\":%d,\"label\":\"%c\"}\n", from, to, of)
	}
	const many = 1 << 20
	for name, c := range map[string]struct {
		ext   string
		opt   Options
		want  string
		texts []string
	}{
		"parts as long":     {"csv", Options{}, "", []string{csv(0, 2000, many), csv(0, 2000, many)}},
		"days of years":     {"csv", Options{}, "", []string{csv(1, 366, many), csv(1, 367, many), csv(1, 366, many)}},
		"hours of days":     {"csv", Options{}, "", slices.Repeat([]string{csv(0, 24, many)}, 30)},
		"a day breaks off":  {"csv", Options{}, "", append(slices.Repeat([]string{csv(0, 24, 99)}, 9), csv(0, 20, 99))},
		"minutes of days":   {"csv", Options{}, "", []string{csv(0, 1440, many), csv(0, 900, many)}},
		"a part goes on":    {"csv", Options{}, "count the 60 rows,", []string{csv(1, 31, many), csv(31, 61, many)}},
		"from 0 and from 1": {"csv", Options{}, "", []string{csv(0, 2000, many), csv(1, 1800, many)}},
		"few rows a file":   {"csv", Options{}, "", slices.Repeat([]string{csv(0, 2, many)}, 30)},
		"a row a file":      {"csv", Options{}, "", slices.Repeat([]string{csv(0, 1, many)}, 30)},
		"a flag a file":     {"csv", Options{}, "", slices.Repeat([]string{csv(0, 1, many), csv(1, 2, many)}, 20)},
		"an hour":           {"csv", Options{}, "", []string{csv(0, 240, 24)}},
		"long parts":        {"csv", Options{}, "", []string{csv(0, 90_000, many), csv(0, 140_000, many)}},
		"a part goes on in chunks": {"csv", Options{}, "count the 230000 rows,", []string{
			csv(0, 90_000, many), csv(90_000, 230_000, many),
		}},
		"lines":        {"jsonl", Options{}, "count the 2000 rows", []string{lines(0, 2000, many)}},
		"lines from 1": {"jsonl", Options{}, "count the 39 rows", []string{lines(1, 40, many)}},
		"lines of floats": {"jsonl", Options{}, "count the 39 rows", []string{
			strings.ReplaceAll(lines(0, 39, many), ",", ".0,"),
		}},
		"parts of lines": {"jsonl", Options{}, "", []string{lines(0, 1500, many), lines(0, 40, many)}},
		"a first line": {"jsonl", Options{}, "", []string{
			"{\"i\":1,\"label\":\"p\"}\n", strings.ReplaceAll(lines(1, 200, many), `"i":`, `"i":1.00000`),
		}},
		"lines, few":        {"jsonl", Options{}, "", []string{lines(0, 19, many)}},
		"lines, from 2":     {"jsonl", Options{}, "", []string{lines(2, 40, many)}},
		"lines, again":      {"jsonl", Options{}, "", []string{lines(0, 2000, 1024)}},
		"lines, a gap":      {"jsonl", Options{}, "", []string{lines(0, 500, many) + lines(501, 900, many)}},
		"lines, not in all": {"jsonl", Options{}, "", []string{lines(0, 500, many) + "{\"label\":\"p\"}\n"}},
		"lines, named":      {"jsonl", Options{CenterColumns: []string{"i"}}, "", []string{lines(0, 500, many)}},
		"lines, left out":   {"jsonl", Options{IgnoreColumns: []string{"i"}}, "", []string{lines(0, 500, many)}},
	} {
		var paths []string
		for k, text := range c.texts {
			paths = append(paths, writeFile(t, fmt.Sprintf("%d.%s", k, c.ext), text))
		}
		set, err := Load(t.Context(), paths, c.opt)
		if err == nil {
			err = set.Close()
		}
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}

// Sentences are texts in any script, with numbers among them; telephone and account numbers are
// none.
func TestSentences(t *testing.T) {
	for text, want := range map[string]ColumnKind{
		"the %d cats sat":             Text,
		"मैं हूँ %d":                  Text,
		"我 爱 你 %d":                    Text,
		"Jaws %d (1975)":              Text,
		"GET /p%d/x.html 200 11":      Text,
		"A1%d B22 C3":                 Text,
		"+49 30 4175%d":               Categorical,
		"DE92 1187 1723 2670 6106 %d": Categorical,
		"one%d two":                   Categorical,
	} {
		var rows strings.Builder
		for i := range 10 {
			fmt.Fprintf(&rows, "\""+text+"\",%c\n", 10+i, "pq"[i%2])
		}
		set := load(t, Options{}, writeFile(t, "a.csv", "a,y\n"+rows.String()))
		if got := set.Info().Schema.Columns[0].Kind; got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// | stands between cells where the name or the line says that the text is CSV.
func TestPipes(t *testing.T) {
	for name, c := range map[string]struct {
		file, text string
		want       Format
	}{
		"a header":             {"a.txt", "a|b|y\n1|2|p\n3|4|q\n", CSV},
		"an index":             {"a.csv", "|a|y\nr1|2|p\nr2|4|q\n", CSV},
		"blanks in CSV":        {"a.csv", "1 | 2 | p\n3 | 4 | q\n", CSV},
		"its extension":        {"a.psv", "1 | 2 | p\n3 | 4 | q\n", CSV},
		"VW":                   {"a.txt", "1 | a b:2\n-1 | c\n", VW},
		"VW without a label":   {"a.vw", "|f a b:2\n|f c\n", VW},
		"commas beside a pipe": {"a.csv", "a|b,c,y\n1,2,p\n3,4,q\n", CSV},
	} {
		set, err := Load(t.Context(), []string{writeFile(t, c.file, c.text)}, Options{AllowNoLabel: true})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := set.Info().Schema.Format; got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		if err := set.Close(); err != nil {
			t.Error(err)
		}
	}
}

// What is nearly numbers, names or lost in rounding is refused by name, whatever the pieces.
func TestReadingErrors(t *testing.T) {
	for _, c := range []struct {
		name, text string
		opt        Options
		want       string
	}{
		{
			"decimal or thousands", "a;y\n1,234;p\n7;q\n",
			Options{},
			`:1: column "a": the mark in "1,234" may be the decimal one or that of thousands: say which mark is the ` +
				`decimal one (--decimal . or --decimal ,)`,
		},
		{
			"point among commas", "a;b;y\n1.234;1,5;p\n7;2;q\n",
			Options{},
			`:1: column "a": the mark in "1.234" may be the decimal one or that of thousands: say which mark is the ` +
				`decimal one (--decimal . or --decimal ,)`,
		},
		{
			"thousands of euros", "a;y\n1.234 €;p\n950 €;q\n",
			Options{},
			`:1: column "a": the mark in "1.234 €" may be the decimal one or that of thousands: say which mark is the ` +
				`decimal one (--decimal . or --decimal ,)`,
		},
		{
			"thousands of euros, in row 100", "a;y\n" + strings.Repeat("950 €;p\n", 99) + "12.500 €;q\n",
			Options{},
			`:1: column "a": the mark in "12.500 €" may be the decimal one or that of thousands: say which mark is ` +
				`the decimal one (--decimal . or --decimal ,)`,
		},
		{
			"another mark later", "a,y\n1,p\n\"2,5\",q\n",
			Options{},
			`:3: column "a": cell "2,5" is a number, but written otherwise than the first ones, 1234.5: write all of ` +
				`a column in one way, or say which mark is the decimal one (--decimal)`,
		},
		{
			"not the named mark", "a;y\n1.5;p\n2;q\n",
			Options{Decimal: ","},
			`:1: column "a": cell "1.5" is not a number with the decimal mark "," (--decimal)`,
		},
		{
			"names", "id,y\n" + many(30, "n%d,p\n"),
			Options{},
			`:2: column "id": nearly each of 30 values is new, as in a column of names, texts or numbers of another ` +
				`notation (the first is "n0"): leave it out (--ignore-columns), or say that they are texts (--text) ` +
				`or categories (--categorical)`,
		},
		{
			"names that are hashed", "id,y\n" + many(30, "n%d,p\n"),
			Options{Bits: 4},
			`:2: column "id": nearly each of 30 values is new, as in a column of names, texts or numbers of another ` +
				`notation (the first is "n0"): leave it out (--ignore-columns), or say that they are texts (--text) ` +
				`or categories (--categorical)`,
		},
		{
			"money", "a,b,y\n" + many(9, "(%d.99),1,p\n"),
			Options{},
			`:2: column "a": 9 of 9 values are numbers, or nearly, but "(0.99)" is none: write all in one ` +
				`way, in one currency or none and without units, name the values that mean missing (--missing-values), or say that they are names (--categorical)`,
		},
		{
			"numbers after a word", "a,b,y\nclosed,1,p\n" + many(9, "%d,1,p\n"),
			Options{},
			`:2: column "a": 9 of 10 values are numbers, or nearly, but "closed" is none: write all in one ` +
				`way, in one currency or none and without units, name the values that mean missing (--missing-values), or say that they are names (--categorical)`,
		},
		{
			"lost in rounding", "a,y\n" + many(9, "1000000.00%d,p\n"),
			Options{},
			`: column "a": its values lie between 1e+06 and 1.000000008e+06, where float32 has steps of 0.12: subtract ` +
				`a typical value when it is read (--center), name the values that mean missing (--missing-values), or leave ` +
				`it out (--ignore-columns)`,
		},
		{
			"telephone numbers", "a,y\n" + many(20, "+49 30 41%02d 7,p\n"),
			Options{},
			`:2: column "a": nearly each of 20 values is new, as in a column of names, texts or numbers of another ` +
				`notation (the first is "+49 30 4100 7"): leave it out (--ignore-columns), or say that they are texts ` +
				`(--text) or categories (--categorical)`,
		},
		{
			"too small for float32", "a,y\n" + many(9, "%de-60,p\n"),
			Options{},
			`: column "a": its values lie between 0 and 8e-60, where float32 has steps of 1.4e-45: write them in a smaller ` +
				`unit, or leave it out (--ignore-columns)`,
		},
		{
			"lost in rounding beside a mark", "a,y\n-999,p\n" + many(20, "17000000%02d,p\n"),
			Options{},
			`: column "a": its large values lie between 1.7e+09 and 1.700000019e+09, where float32 has steps of 2e+02: ` +
				`subtract a typical value when it is read (--center), name the values that mean missing ` +
				`(--missing-values), or leave it out (--ignore-columns)`,
		},
		{
			"beyond float32 without the center", "a,y\n2e38,p\n-2.68843e+38,q\n",
			Options{CenterColumns: []string{"a"}},
			`:3: column "a": cell "-2.68843e+38": without the column's center, 2e+38, it leaves the range of ` +
				`float32, ±3.4028235e38: do not subtract that (--center)`,
		},
		{
			"beyond float32 in another notation", "a,y\n1%,p\n1e41%,q\n",
			Options{},
			`:3: column "a": cell "1e41%": the value must lie in the range of float32, ±3.4028235e38`,
		},
		{
			"not a date", "a,y\n2024-02-28,p\n2024-02-30,q\n",
			Options{},
			`:3: column "a": cell "2024-02-30" is not a date, but the column's first value is one: want YYYY-MM-DD, ` +
				`d.m.yyyy or 1 Jan yyyy, perhaps with Thh:mm:ss and Z, +hh:mm or nothing behind; declare a column of names with --categorical`,
		},
		{
			"a missing date", "a,y\n2024-02-28,p\n-,q\n",
			Options{Missing: MissingError},
			`:3: column "a": cell "-": the value is missing; --missing zero and --missing indicator allow missing values`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := writeFile(t, "a.csv", c.text)
			for _, chunk := range []int{1, 50, 1 << 20} {
				c.opt.chunkBytes, c.opt.Workers = chunk, 2
				_, err := readAll(c.opt, path)
				if err == nil || err.Error() != path+c.want {
					t.Errorf("got  %v\nwant %s", err, path+c.want)
				}
				if noregret.CodeOf(err) != noregret.BadInput {
					t.Errorf("code %q", noregret.CodeOf(err))
				}
			}
		})
	}
	path := writeFile(t, "a.svm", many(9, "1 3:170000000%d\n"))
	_, err := readAll(Options{chunkBytes: 1}, path)
	want := path + ": feature 3: its large values lie between 1.7e+09 and 1.700000008e+09, where float32 has " +
		"steps of 203: subtract a constant from its values, or leave it out"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	path = writeFile(t, "a.vw", "0 |n at:0\n"+many(9, "1 |n at:170000000%d\n"))
	_, err = readAll(Options{}, path)
	if want := path + `: feature "n^at": its large values lie`; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	path = writeFile(t, "a.jsonl", `{"label":1,"at":-999}`+"\n"+many(30, `{"label":1,"at":17000000%02d}`+"\n"))
	_, err = readAll(Options{}, path)
	if want := path + `: column "at": its large values lie`; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	path = writeFile(t, "a.jsonl", `{"label":1,"at":"-999"}`+"\n"+many(30, `{"label":1,"at":"17000000%02d"}`+"\n"))
	_, err = readAll(Options{}, path)
	if want := path + `: column "at": its large values lie`; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("in strings: got  %v\nwant %s", err, want)
	}
	for name, c := range map[string]struct{ text, want string }{
		"numbers": {
			many(lookRows, `{"label":1,"a":%d}`+"\n") + `{"label":0,"a":"1.042"}` + "\n",
			`:101: column "a": 1 of 1 texts are numbers, or nearly (the first is "1.042"), but the first value in the ` +
				`first 100 rows is no such text, and it decides: write`,
		},
		"dates": {
			strings.Repeat(`{"label":1}`+"\n", lookRows) + many(3, `{"label":0,"a":"2024-02-1%d"}`+"\n"),
			`:101: column "a": 3 of 3 texts are dates or times of day (the first is "2024-02-10"), but the first`,
		},
	} {
		path = writeFile(t, "a.jsonl", c.text)
		if _, err := readAll(Options{}, path); err == nil || !strings.HasPrefix(err.Error(), path+c.want) {
			t.Errorf("%s: got  %v\nwant %s", name, err, path+c.want)
		}
	}
	path = writeFile(t, "a.csv", "id,y\n"+many(30, "n%d,p\n"))
	if i, err := readAll(Options{Categorical: []string{"id"}}, path); err != nil || i.Dim != 30 {
		t.Errorf("a column that is named: %v, %d features", err, i.Dim)
	}
}

// A column most of whose cells are numbers, dates or times of day, in whatever way they are
// written, is none of categories wherever its other cells are, unless it is named.
func TestNearlyNumbers(t *testing.T) {
	numbers := many(300, "%d,p\n")
	few := strings.ReplaceAll(many(60, "0.%d,p\n"), "0.1", "0.2")
	for name, c := range map[string]struct{ text, cell string }{
		"first":           {"x,q\nx,q\nx,q\nx,q\n" + few, `"x"`},
		"last":            {numbers + "x,q\n", `"x"`},
		"in the middle":   {"x,q\n" + numbers + "x,q\n", `"x"`},
		"dollars":         {strings.Repeat("$3,p\n4,q\n", 20), `"4"`},
		"other dollars":   {strings.Repeat("4,p\n$3,q\n", 20), `"$3"`},
		"currencies":      {strings.Repeat("3 EUR,p\nUSD 4,q\n", 20), `"USD 4"`},
		"percents":        {strings.Repeat("3%,p\n$4,q\n", 20), `"$4"`},
		"minus":           {strings.Repeat("\u22125,p\n5,q\n", 20), "\"\u22125\""},
		"losses":          {strings.Repeat("(5),p\n5,q\n", 20), `"(5)"`},
		"thousands":       {strings.Repeat("5k,p\n1.5k,q\n", 20), `"5k"`},
		"units":           {many(60, "%d.5 kg,p\n"), `"0.5 kg"`},
		"units without":   {many(60, "%d km/h,p\n"), `"0 km/h"`},
		"units, numbers":  {many(60, "%d °C,p\n") + "7,p\n", `"0 °C"`},
		"days":            {strings.Repeat("1-1-24,p\n13-2-24,q\n", 20), `"1-1-24"`},
		"slashes":         {strings.Repeat("1/1/24,p\n2/13/2024,q\n", 20), `"1/1/24"`},
		"with a time":     {strings.Repeat("1/1/24 3:15 PM,p\n2/13/24 11:00 AM,q\n", 20), `"1/1/24 3:15 PM"`},
		"times of day":    {"none yet,p\n" + strings.Repeat("00:00,p\n9:30:15,q\n", 20), `"none yet"`},
		"dates and words": {"none yet,p\n" + strings.Repeat("2024-01-02,p\n2024-01-03,q\n", 20), `"none yet"`},
	} {
		path := writeFile(t, "a.csv", "a,y\n"+c.text)
		for _, chunk := range []int{1, 50, 1 << 20} {
			_, err := readAll(Options{chunkBytes: chunk}, path)
			if e, ok := errors.AsType[*RefusedColumn](err); !ok || e.Column != "a" || e.Kind != Mixed ||
				!strings.HasPrefix(err.Error(), path+":") || !strings.Contains(err.Error(), c.cell) {
				t.Errorf("%s: got %v, want a refusal of a that shows %s", name, err, c.cell)
			}
		}
		if info, err := readAll(Options{Categorical: []string{"a"}}, path); err != nil {
			t.Errorf("%s: a column that is named: %v, %d features", name, err, info.Dim)
		}
	}
	for _, cells := range [][2]string{
		{"x", "1"},
		{"a-1", "b-2"},
		{"1-2", "3-4"},
		{"v1.2.3", "v1.3.0"},
		{"1.2.3", "10.20.30"},
		{"10.0.0.1", "10.0.0.2"},
		{"12:75", "99:10"},
		{"M", "K"},
		{"2WD", "4WD"},
		{"1st", "2nd"},
		{"k1", "k2"},
		{"M1", "M2"},
		{"18+", "65+"},
		{"32.13.2024", "0.1.2024"},
	} {
		text := "a,y\n" + strings.Repeat(cells[0]+",p\n"+cells[1]+",q\n", 20)
		if _, err := readAll(Options{}, writeFile(t, "a.csv", text)); err != nil {
			t.Errorf("%q: %v, want categories", cells, err)
		}
	}
}

// No thousands begin with 0: 0.175 tells that the point of 1.234 is a decimal one.
func TestNoThousandsBeginWithZero(t *testing.T) {
	german := notation{decimal: ',', thousands: '.'}
	for cell, want := range map[string]float64{"1.326": 1326, "10.326,5": 10326.5, "0,5": 0.5} {
		if v, ok := german.number([]byte(cell), nil); !ok || v != want {
			t.Errorf("%s is %v (%v), want %v", cell, v, ok, want)
		}
	}
	for _, cell := range []string{"0.326", "-0.326", "012.345"} {
		if v, ok := german.number([]byte(cell), nil); ok {
			t.Errorf("%s is %v", cell, v)
		}
	}
}

// Two columns of one name are refused, and left out together; a label has a name of its own.
func TestSameNames(t *testing.T) {
	path := writeFile(t, "a.csv", "a,b,a,y\n1,2,x,p\n3,4,z,q\n")
	_, err := readAll(Options{}, path)
	e, ok := errors.AsType[*RefusedColumn](err)
	if !ok || e.Column != "a" || e.Kind != SameName || err.Error() != path+`:1: two columns are named "a": the names `+
		`must differ, or leave both out (--ignore-columns)` {
		t.Errorf("got %v", err)
	}
	opt := Options{IgnoreColumns: []string{"a"}}
	for range 2 {
		set := load(t, opt, path)
		schema := set.Info().Schema
		if got := strings.Join(firstFeature(t, set), " "); got != "2 4" || schema.Dim != 1 || schema.Validate() != nil {
			t.Errorf("values %s, %d features, %v", got, schema.Dim, schema.Validate())
		}
		opt = Options{Schema: schema}
	}
	for _, opt := range []Options{{LabelColumn: "a"}, {WeightColumn: "a"}, {IgnoreColumns: []string{"3"}}} {
		_, err := readAll(opt, path)
		if err == nil || !strings.Contains(err.Error(), `two columns are named "a": the names must differ`) {
			t.Errorf("%+v: %v", opt, err)
		}
	}
	schema := load(t, Options{}, writeFile(t, "b.csv", "b,y\n2,p\n4,q\n")).Info().Schema
	set := load(t, Options{Schema: schema, IgnoreColumns: []string{"a"}}, path)
	if got := strings.Join(firstFeature(t, set), " "); got != "2 4" {
		t.Errorf("with a model without the columns: values %s", got)
	}
	for ignored, path := range map[string]string{
		"b":  writeFile(t, "c.csv", "b,b,y\n2,3,p\n"), // a feature of the model
		"no": path,
	} {
		opt := Options{Schema: schema, IgnoreColumns: []string{ignored}, Unseen: UnseenIgnore}
		if _, err := readAll(opt, path); err == nil || !strings.Contains(err.Error(), "the names must differ") {
			t.Errorf("with a model, %s ignored: %v", ignored, err)
		}
	}
}

// What keeps a column from being one of numbers or dates is in the refusal.
func TestRefusedCell(t *testing.T) {
	for text, want := range map[string]string{
		"1,p\nclosed,q\n":                          "closed",
		"closed,q\n1,p\n2,q\n3,p\n":                "closed",
		"2024-01-01,p\nlater,q\n":                  "later",
		"9:30,p\nlater,q\n":                        "later",
		"later,q\n9:30,p\n9:30,p\n9:30,p\n":        "later",
		"2024-01-01,p\n1/2/2024,q\n":               "",
		"$1,p\n1,q\n":                              "",
		"1/1/24,p\n1/2/24,q\n1/3/24,q\n1/4/24,q\n": "",
	} {
		_, err := readAll(Options{}, writeFile(t, "a.csv", "a,y\n"+text))
		if e, ok := errors.AsType[*RefusedColumn](err); !ok || e.Kind != Mixed || e.Column != "a" || e.Cell != want {
			t.Errorf("%q: %+v, want %q", text, err, want)
		}
	}
}

func TestDefaultLabel(t *testing.T) {
	for text, want := range map[string]string{
		"a,Class,b\n1,p,2\n":     "Class",
		"y,a,target\n1,2,p\n":    "target",
		"a,b\n1,p\n":             "b",
		"label,class\np,1\n":     "label",
		"1,2,p\n3,4,q\n":         "c3",
		"classes,b\nword,word\n": "b",
	} {
		i := load(t, Options{}, writeFile(t, "a.csv", text)).Info()
		for _, c := range i.Schema.Columns {
			if (c.Kind == LabelKind) != (c.Name == want) {
				t.Errorf("%q: column %q is %s", text, c.Name, c.Kind)
			}
		}
	}
}

// What is not read is named, with what to do, in a file, in a pipe and within gzip.
func TestForeignFiles(t *testing.T) {
	utf16 := func(s string) string { return "\xff\xfe" + strings.Join(strings.Split(s, ""), "\x00") + "\x00" }
	tar := "a.csv" + strings.Repeat("\x00", 252) + "ustar\x0000" + strings.Repeat("\x00", 248)
	for _, c := range []struct{ data, want string }{
		{"\xfd7zXZ\x00...", "the file is compressed by xz, which is not read: xz -dc FILE | noregret ... -"},
		{"PK\x03\x04...", "the file is a zip archive, which is not read: unzip -p FILE | noregret ... -, " +
			"or, if it is a spreadsheet such as .xlsx, save the sheet as CSV"},
		{tar, "the file is a tar archive, which is not read: tar -xOf FILE | noregret ... -"},
		{"PAR1...", "the file is Parquet, which is not read: noregret-input parquet FILE > data.csv (see " +
			"docs/how-to/sources.md)"},
		{utf16("a,y\n1,p\n"), "the text is UTF-16, which is not read: iconv -f UTF-16 -t UTF-8 FILE | noregret ... -"},
		{utf16("a,y\n1,p\n")[2:], "the text is little-endian UTF-16 without a byte order mark, or no text, which is " +
			"not read: iconv -f UTF-16LE -t UTF-8 FILE | noregret ... -"},
		{"\x00" + utf16("a,y\n1,p\n")[2:], "the text is big-endian UTF-16 without a byte order mark, or no text, " +
			"which is not read: iconv -f UTF-16BE -t UTF-8 FILE | noregret ... -"},
	} {
		for how, data := range packed(t, c.data) {
			for _, opt := range []Options{{}, {Format: CSV}, {Stdin: strings.NewReader(data)}} {
				path := writeFile(t, "a.csv", data)
				where := path
				if opt.Stdin != nil {
					path, where = "-", "-"
				}
				_, err := readAll(opt, path)
				if err == nil || err.Error() != where+": "+c.want {
					t.Errorf("%s: got  %v\nwant %s", how, err, c.want)
				}
			}
		}
	}
	for text, want := range map[string]string{
		"a,caf\xe9,y\n1,2,p\n": `:1: byte 0xe9 in "a,caf\xe9,y" is not UTF-8; the file may be Latin-1: iconv -f ` +
			`WINDOWS-1252 -t UTF-8 FILE | noregret ... -`,
		"a,c,y\n1,x,p\n1,caf\xe9,p\n": `:3: byte 0xe9 in "1,caf\xe9,p" is not UTF-8; the file may be Latin-1: ` +
			`iconv -f WINDOWS-1252 -t UTF-8 FILE | noregret ... -`,
	} {
		path := writeFile(t, "a.csv", text)
		if _, err := readAll(Options{}, path); err == nil || err.Error() != path+want {
			t.Errorf("got  %v\nwant %s", err, path+want)
		}
	}
	const bz2 = "QlpoOTFBWSZTWTa94zIAAMfYAAAQQAIwECAAUGABSoZPCLiLSLiLEWEWItRfF3JFOFCQNr3jMg=="
	data, err := base64.StdEncoding.DecodeString(bz2)
	if err != nil {
		t.Fatal(err)
	}
	if i, err := readAll(Options{}, writeFile(t, "a", string(data))); err != nil || i.Rows != 100 {
		t.Errorf("bzip2: %v, %d rows", err, i.Rows)
	}
	path := writeFile(t, "a", string(data[:len(data)-3]))
	if _, err := readAll(Options{}, path); err == nil || err.Error() != path+": the compressed file is cut off, "+
		"or other bytes follow its end: unexpected EOF" {
		t.Errorf("bzip2 that is cut off: %v", err)
	}
}

// A sketch counts distinct values within ten percent.
func TestSketch(t *testing.T) {
	var s, all sketch
	for i, want := 1, 10; i <= 1_000_000; i++ {
		s.add(hashBytes([]byte(strconv.Itoa(i))))
		s.add(hashBytes([]byte(strconv.Itoa(i / 2))))
		if i == want {
			all.merge(&s)
			if n := all.count(); math.Abs(n/float64(i+1)-1) > .1 {
				t.Errorf("%d distinct values: estimated %v", i+1, n)
			}
			s, want = sketch{}, want*10
		}
	}
}
