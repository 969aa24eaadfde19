package dataset

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/noregret/noregret"
)

// Dates agree with the calendar of package time.
func TestMoments(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		want := time.Unix(rng.Int64N(253402300800+62167219200)-62167219200, 0).UTC()
		zone := time.FixedZone("", 60*(rng.IntN(2*14*60)-14*60))
		for layout, order := range map[string]string{
			"2006-01-02": "", "2006/01/02 15:04": "", time.RFC3339: monthFirst, "2006-01-02T15:04:05.000Z07:00": "",
			"2006-01-02 15:04:05-07": "", "2006-01-02T15:04:05-0700": "", "2006-01-02 15:04:05.000000 UTC": "",
			"2006-01-02 15:04:05 -07:00": "", "2006-01-02 15:04 gmt": "",
			"2.1.2006": monthFirst, "02.01.2006": "", "2.01.2006 15:04:05": "", "2006-01-02 3:04:05 PM": "",
			"2/1/2006": dayFirst, "02/01/2006 15:04": dayFirst, "2-1-2006 3:04PM": dayFirst,
			"1/2/2006": monthFirst, "01/02/2006 15:04:05": monthFirst, "1-2-2006 3:04:05 pm": monthFirst,
		} {
			local := want.In(zone)
			if local.Year() < 0 || local.Year() > 9999 {
				continue
			}
			text := local.Format(layout)
			exp, err := time.Parse(layout, text)
			if err != nil {
				t.Fatal(err)
			}
			m, ok := scanMoment([]byte(text), order)
			if !ok || m.unix() != float64(exp.Unix()) || m.weekday() != (int(exp.Weekday())+6)%7 ||
				m.clock != (len(text) > 10) || yearOf(m.unix()) != exp.UTC().Year() {
				t.Fatalf("%s: %+v, %v: unix %v, weekday %d, year %d", text, m, ok, m.unix(), m.weekday(),
					yearOf(m.unix()))
			}
		}
	}
	for _, bad := range []string{
		"", "2024-1-01", "2024-01-1", "2024-13-01", "2023-02-29", "2024-01-00", "2024-01/01", "2024-01-01T",
		"2024-01-01 24:00", "2024-01-01 0:30 AM", "2024-01-01 13:30 PM", "2024-01-01 9:30 xm", "2024-01-01 9:3",
		"2024-01-01 12:60", "2024-01-01 12:00:61", "2024-01-01 12:00x", "2024-01-01 12:00+010", "2024-01-01 12:00:0",
		"2024-01-01 12:00+25:00", "20240-01-01", "2024-01-01 12:00:.5", "2024-01-01 1:2:03", "2024-01-01 :30",
		"1.13.2024", "32.1.2024", "29.2.2023", "0.1.2024", "1.2.24", "1..2024", "001.2.2024", "1.2.20240", "1.2.2024.",
		"1.2", "1.x.2024", "x.1.2024", "1.2.202x", "1/2-2024", "1/2/24", "13/13/2024", "0/1/2024", "1/2/2024/", "1/",
		"30/2/2024", "2/30/2024", "-1/2/2024", "1-2-2024-",
	} {
		for _, order := range []string{"", dayFirst, monthFirst} {
			if m, ok := scanMoment([]byte(bad), order); ok {
				t.Errorf("%q, %q: %+v", bad, order, m)
			}
		}
	}
	for cell, want := range map[string][3]bool{ // without an order, dmy, mdy
		"13/1/2024": {false, true, false}, "1/13/2024": {false, false, true}, "1-2-2024": {false, true, true},
		"13.1.2024": {true, true, true}, "1.13.2024": {false, false, false}, "2024/01/13": {true, true, true},
	} {
		for i, order := range []string{"", dayFirst, monthFirst} {
			if _, ok := scanMoment([]byte(cell), order); ok != want[i] {
				t.Errorf("%q, %q: %v", cell, order, ok)
			}
		}
	}
}

// Every time of day is read as package time reads it, in both ways to count hours.
func TestTimesOfDay(t *testing.T) {
	for second := range 86400 {
		at := time.Unix(int64(second), 0).UTC()
		for _, layout := range []string{"15:04:05", "3:04:05 PM", "03:04:05pm"} {
			text := at.Format(layout)
			if m, ok := scanTime([]byte(text)); !ok || m.second != float64(second) {
				t.Fatalf("%s: %v, %v; want %d", text, m.second, ok, second)
			}
		}
	}
	for _, bad := range []string{
		"", ":", "1:", "12:5", "24:00", "123:00", "-1:00", "12:00 ", "12:00Z", "12:00 P", "12:00:", "1:00  AM",
	} {
		if m, ok := scanTime([]byte(bad)); ok {
			t.Errorf("%q: %+v", bad, m)
		}
	}
}

// parts are the features of each row of a set, by their names, with their values.
func parts(t *testing.T, set *Set) (out []string) {
	t.Helper()
	r, err := set.Read()
	for _, row := range show(t, r, err) {
		var of []string
		for _, f := range strings.Fields(row)[1:] {
			k, v, _ := strings.Cut(f, ":")
			n, _ := strconv.Atoi(k)
			of = append(of, set.Info().Schema.Features[n]+" "+v)
		}
		out = append(out, strings.Join(of, ", "))
	}
	return out
}

// The parts of a date are features of their own that exist whether or not the data have them.
func TestDateFeatures(t *testing.T) {
	set := load(t, Options{}, writeFile(t, "a.csv", "d,y\n2024-02-29 13:30,p\n?,q\n"))
	i := set.Info()
	want := []string{"d=days 0.5625, d=month:2 1, d=weekday:Thu 1, d=hour:13 1", "d=missing 1"}
	if d := cmp.Diff(want, parts(t, set)); d != "" || i.Dim != 46 {
		t.Errorf("%d features, (-want +got):\n%s", i.Dim, d)
	}
	again := load(t, Options{Schema: i.Schema}, writeFile(t, "b.csv", "d,y\n1999-12-31 23:59:60,p\n"))
	if rows := firstFeature(t, again); rows[0] != "-8825" {
		t.Errorf("days %v", rows)
	}
	times := "t,y\n17:45,p\n?,q\n9:30 PM,p\n0:00,q\n"
	want = []string{"t=hours 17.75, t=hour:17 1", "t=missing 1", "t=hours 21.5, t=hour:21 1", "t=hour:0 1"}
	var schema *Schema
	for range 2 {
		set = load(t, Options{Schema: schema}, writeFile(t, "a.csv", times))
		schema = set.Info().Schema
		if d := cmp.Diff(want, parts(t, set)); d != "" || schema.Dim != 26 {
			t.Errorf("%d features, (-want +got):\n%s", schema.Dim, d)
		}
		if c := schema.Columns[0]; c.Kind != TimeOfDay || schema.Validate() != nil {
			t.Errorf("%+v: %v", c, schema.Validate())
		}
	}
	lines := `{"label":1,"t":"17:45"}` + "\n" + `{"label":0,"t":null}` + "\n" + `{"label":1,"t":"9:30 pm"}` + "\n"
	set = load(t, Options{}, writeFile(t, "a.jsonl", lines))
	want = want[:3]
	if d := cmp.Diff(want, parts(t, set)); d != "" {
		t.Errorf("JSON lines (-want +got):\n%s", d)
	}
}

// Dates of an order have the features of the same dates written YYYY-MM-DD, if one of them tells
// the order, in CSV, in JSON lines and with the schema. If none does, the column is refused unless
// an option or another column says the order.
func TestDateOrders(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	told, silent := 0, 0
	for range 300 {
		order, layout := dayFirst, "2/1/2006"
		if rng.IntN(2) == 0 {
			order, layout = monthFirst, "01/02/2006"
		}
		if rng.IntN(2) == 0 {
			layout = strings.ReplaceAll(layout, "/", "-")
		}
		clock := rng.IntN(2) == 0
		tells := false
		var iso, written, lines strings.Builder
		iso.WriteString("d,y\n")
		written.WriteString("d,y\n")
		for i := range 1 + rng.IntN(2) {
			at := time.Date(2024, 1, 1, 0, rng.IntN(366*24*60), 0, 0, time.UTC)
			day, cell := at.Format("2006-01-02"), at.Format(layout)
			if clock {
				day, cell = day+at.Format(" 15:04"), cell+at.Format(" 15:04")
			}
			tells = tells || at.Day() > 12
			fmt.Fprintf(&iso, "%s,%d\n", day, i%2)
			fmt.Fprintf(&written, "%s,%d\n", cell, i%2)
			fmt.Fprintf(&lines, "{\"label\":%d,\"d\":%q}\n", i%2, cell)
		}
		want := parts(t, load(t, Options{}, writeFile(t, "iso.csv", iso.String())))
		for name, text := range map[string]string{"a.csv": written.String(), "a.jsonl": lines.String()} {
			path := writeFile(t, name, text)
			opt := Options{chunkBytes: 1 + rng.IntN(40)}
			if !tells {
				silent++
				_, err := Load(t.Context(), []string{path}, opt)
				e, ok := errors.AsType[*RefusedColumn](err)
				if !ok || e.Column != "d" || e.Kind != Ambiguous || noregret.CodeOf(err) != noregret.BadInput ||
					!strings.HasSuffix(err.Error(), "say which (--date-order dmy or --date-order mdy)") {
					t.Fatalf("%s: %v", text, err)
				}
				opt.DateOrder = order
			} else {
				told++
			}
			var schema *Schema
			for range 2 {
				set := load(t, opt, path)
				schema = set.Info().Schema
				if c := schema.Columns[0]; c.DateOrder != order || schema.Validate() != nil {
					t.Fatalf("%s: %+v", text, c)
				}
				if d := cmp.Diff(want, parts(t, set)); d != "" {
					t.Fatalf("%s (-want +got):\n%s", text, d)
				}
				opt = Options{Schema: schema}
			}
		}
	}
	if told < 50 || silent < 50 {
		t.Errorf("%d files told the order, %d did not", told, silent)
	}
}

func TestDateOrdersOfFiles(t *testing.T) {
	for _, c := range []struct {
		name, text string
		opt        Options
		want       string // the orders of columns d and e, or the end of the error
	}{
		{"as the others", "d,e,y\n1/2/2024,5/31/2024,p\n3/4/2024,1/1/2024,q\n", Options{}, "mdy mdy"},
		{
			"told by no date", "d,e,y\n" + strings.Repeat("1/2/2024,1,p\n", 99) + "31/2/2024,1,q\n",
			Options{},
			"or --date-order mdy)",
		},
		{
			"told in row 100", "d,e,y\n" + strings.Repeat("1/2/2024,1,p\n", 99) + "31/1/2024,1,q\n",
			Options{},
			"dmy ",
		},
		{
			"told in row 101", "d,e,y\n" + strings.Repeat("1/2/2024,1,p\n", 100) + "31/1/2024,1,q\n",
			Options{},
			"or --date-order mdy)",
		},
		{"both orders", "d,e,f,y\n1/2/2024,5/31/2024,31/5/2024,p\n", Options{}, "or --date-order mdy)"},
		{"as the option", "d,e,y\n31/3/2024,1,p\n31/5/2024,1,p\n", Options{DateOrder: "dmy"}, "dmy "},
		{
			"none with slashes", "d,e,y\n2024-01-02,2024/01/02,p\n1.2.2024,2024-01-02,q\n",
			Options{DateOrder: "mdy"},
			"mdy mdy",
		},
		{"none with slashes, none told", "d,e,y\n2024-01-02,2024/01/02,p\n", Options{}, " "},
		{
			"slashes after, told", "d,e,y\n2024-01-31,9:30,p\n1/31/2024,10:30,q\n",
			Options{DateOrder: "mdy"},
			"mdy ",
		},
		{
			"told after no date", "d,e,y\n1/2/2024,1,p\nclosed,1,q\n31/1/2024,1,q\n",
			Options{MaxBadLines: 1},
			"dmy ",
		},
		{
			"told after no date, not as the others", "d,e,y\n1/2/2024,1/31/2024,p\nclosed,1/1/2024,q\n" +
				"31/1/2024,1/1/2024,q\n",
			Options{MaxBadLines: 1},
			"dmy mdy",
		},
		{
			"no date before one that tells", "d,e,y\n1/2/2024,1,p\nclosed,1,q\n31/1/2024,1,q\n",
			Options{},
			`:3: column "d": cell "closed" is not a date, but the column's first value is one: want d/m/yyyy, ` +
				`YYYY-MM-DD, d.m.yyyy or 1 Jan yyyy, perhaps with Thh:mm:ss and Z, +hh:mm or nothing behind; declare a column of ` +
				`names with --categorical`,
		},
		{
			"other forms after", "d,e,y\n1/31/2024,1,p\n2024-02-29,1,q\n29.2.2024,1,q\n?,1,q\n",
			Options{},
			"mdy ",
		},
		{
			"another order after", "d,e,y\n31/1/2024,1,p\n1/31/2024,1,q\n",
			Options{},
			`:3: column "d": cell "1/31/2024" is a date, but not of the form of the first ones: want d/m/yyyy, ` +
				`YYYY-MM-DD, d.m.yyyy or 1 Jan yyyy, perhaps with Thh:mm:ss and Z, +hh:mm or nothing behind; --date-order says ` +
				`whether the day or the month is first`,
		},
		{
			"slashes after", "d,e,y\n2024-01-31,1,p\n1/31/2024,1,q\n", Options{}, `:3: column "d": cell "1/31/2024" is a ` +
				`date, but not of the form of the first ones: want YYYY-MM-DD, d.m.yyyy or 1 Jan yyyy, perhaps with Thh:mm:ss and Z, ` +
				`+hh:mm or nothing behind; --date-order says whether the day or the month is first`,
		},
		{
			"against the option", "d,e,y\n31/1/2024,1,p\n",
			Options{DateOrder: "mdy"},
			`:1: column "d": cell "31/1/2024" is no date in the order "mdy" (--date-order)`,
		},
		{
			"no date", "d,e,y\n31/1/2024,1,p\nsoon,1,p\n",
			Options{},
			"declare a column of names with --categorical",
		},
		{
			"no time", "d,e,y\n9:30,1,p\n30:00,1,p\n", Options{}, `:3: column "d": cell "30:00" is not a time of day, but ` +
				`the column's first value is one: want hh:mm or hh:mm:ss, perhaps with AM or PM behind; declare a column ` +
				`of names with --categorical`,
		},
		{"no header", "1/31/2024,9:30,p\n2/1/2024,10:30,q\n", Options{}, "mdy "},
		{"names", "d,e,y\n31/1/2024,1,p\n", Options{Categorical: []string{"d"}}, " "},
	} {
		path := writeFile(t, "a.csv", c.text)
		for _, chunk := range []int{1, 1 << 20} {
			c.opt.chunkBytes = chunk
			set, err := Load(t.Context(), []string{path}, c.opt)
			if err != nil {
				if !strings.HasSuffix(err.Error(), c.want) || len(c.want) < 9 {
					t.Errorf("%s: got  %v\nwant %s", c.name, err, c.want)
				}
				continue
			}
			columns := set.Info().Schema.Columns
			if got := columns[0].DateOrder + " " + columns[1].DateOrder; got != c.want {
				t.Errorf("%s: got %s, want %s", c.name, got, c.want)
			}
			if err := set.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if _, err := Load(t.Context(), []string{"a"}, Options{DateOrder: "ymd"}); noregret.CodeOf(err) != noregret.Usage {
		t.Errorf("ymd: %v", err)
	}
	for _, c := range []Column{
		{Name: "d", Kind: Date, DateOrder: "ymd"},
		{Name: "d", Kind: Timestamp, DateOrder: "yyyymmdd"},
		{Name: "d", Kind: Month, DateOrder: "dmy"},
		{Name: "d", Kind: Numeric, DateOrder: "dmy"},
		{Name: "d", Kind: TimeOfDay, DateOrder: "dmy"},
		{Name: "d", Kind: TimeOfDay, Center: 1},
	} {
		if c.check() == nil {
			t.Errorf("%+v is allowed", c)
		}
	}
}
