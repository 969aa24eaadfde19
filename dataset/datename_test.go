package dataset

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/noregret/noregret"
)

// Dates with names of months agree with package time, which has the same pivot for two digits.
func TestNamedDates(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	upper, lower := strings.ToUpper, strings.ToLower
	same := func(s string) string { return s }
	dotted := func(s string) string { return strings.ReplaceAll(s, "Sep ", "Sept. ") }
	for range 500 {
		at := time.Date(1969+rng.IntN(100), 1, 1+rng.IntN(365), rng.IntN(24), rng.IntN(60), 0, 0, time.UTC)
		if at.Year() > 2068 {
			continue
		}
		for _, layout := range []string{
			"2-Jan-2006", "02-Jan-2006", "2 January 2006", "Jan 2, 2006", "January 2, 2006", "Jan. 2, 2006",
			"Jan 2 2006",
			"2006-Jan-02", "2006 January 2", "2.Jan.2006", "2. January 2006", "2/Jan/2006", "Jan-2-2006", "2-Jan-06",
			"02 Jan 06", "January 2, 06", "2 Jan. 2006", "2 January, 2006", "2 Jan 2006 15:04", "2-Jan-06 15:04:05",
			"Jan 2, 2006, 3:04 PM", "2006-Jan-02T15:04Z07:00", "Jan 2, 2006 3:04:05 pm",
		} {
			for _, style := range []func(string) string{same, upper, lower, dotted} {
				text := at.Format(layout)
				exp, err := time.Parse(layout, text)
				if err != nil {
					t.Fatal(err)
				}
				text = style(text)
				for _, order := range []string{"", dayFirst, monthFirst} {
					m, ok := scanMoment([]byte(text), order)
					if !ok || m.unix() != float64(exp.Unix()) || m.clock != strings.Contains(layout, "04") {
						t.Fatalf("%s: %+v, %v; want %v", text, m, ok, exp)
					}
				}
			}
		}
		for _, layout := range []string{"2006-01", "Jan 2006", "January 2006", "Jan. 2006", "Jan-2006", "2006-Jan"} {
			text := at.Format(layout)
			m, ok := scanMonth([]byte(text))
			_, isDay := scanMoment([]byte(text), "")
			first := time.Date(at.Year(), at.Month(), 1, 0, 0, 0, 0, time.UTC)
			if !ok || isDay || m.unix() != float64(first.Unix()) {
				t.Fatalf("%s: %+v, %v, as a day %v", text, m, ok, isDay)
			}
		}
		day := time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, time.UTC)
		if m, ok := scanPacked([]byte(at.Format("20060102"))); !ok || m.unix() != float64(day.Unix()) {
			t.Fatalf("%s: %+v, %v", at, m, ok)
		}
	}
	for _, bad := range []string{
		"10-Sep 2023", "10 Sep-2023", "31 Feb 2023", "0 Sep 2023", "32-Dec-2023", "10 Septem 2023", "10 Sepp 2023",
		"10-Sep-023", "10-Sep-20233", "10-Sep-3", "100 Sep 2023", "10Sep2023", "Sep102023", "10-Sep-2023x", "Sep 2023",
		"Sep", "Sep ", "Sep 10", "Sep 10 ", "10 Sep", "10 Sep ", "10 Se 2023", "2023 Sep", "2023 Sep 100", "23 Sep 100",
		"2023-Sep-", "Sep--10-2023", "Sep 10,2023", "10 Sep 14:05", "Sep 10 14:05:00", "10. . 2023", "10,Sep,2023",
		"Mon 10 Sep 2023", "29-Feb-23", "10 Sep 2023,14:05", "10-S\xc9P-2023", "Sep-10-2023-1", "202 Sep 10",
	} {
		if m, ok := scanMoment([]byte(bad), ""); ok {
			t.Errorf("%q: %+v", bad, m)
		}
	}
	for _, bad := range []string{
		"", "2023-00", "2023-13", "1899-12", "2100-01", "2023-9", "2023/09", "09-2023", "Sep 23", "Sep-23", "Sep2023",
		"Sep 2023 ", "Sep 20233", "Sept", "2023 Sep 1", "2023", "2023-", "2023-Se", "2023-0x", "Sep 1899", "2100 Sep",
	} {
		if m, ok := scanMonth([]byte(bad)); ok {
			t.Errorf("%q: %+v", bad, m)
		}
	}
	for _, bad := range []string{
		"", "2023091", "202309100", "20230931", "20231301", "20230229", "18991231", "21000101", "2023-9-1", "+2023091",
		"20230100", "2023091x",
	} {
		if m, ok := scanPacked([]byte(bad)); ok {
			t.Errorf("%q: %+v", bad, m)
		}
	}
}

// Days with names, and days YYYYMMDD, have the features of the same days written YYYY-MM-DD, and
// months those of their first days but for the weekdays; in CSV, in JSON, with the schema.
func TestNamedDateFeatures(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for k := range 60 {
		layout := []string{"2-Jan-06", "January 2, 2006", "20060102", "2006-01", "Jan 2006"}[k%5]
		month := layout == "2006-01" || layout == "Jan 2006"
		var iso, csv, lines, numbers strings.Builder
		iso.WriteString("day;y\n")
		csv.WriteString("day;y\n")
		for i := range 1 + rng.IntN(30) {
			at := time.Date(2020, 1, 1+rng.IntN(1500), 0, 0, 0, 0, time.UTC)
			cell := at.Format(layout)
			if month {
				at = at.AddDate(0, 0, 1-at.Day())
			}
			fmt.Fprintf(&iso, "%s;%d\n", at.Format("2006-01-02"), i%2)
			fmt.Fprintf(&csv, "%s;%d\n", cell, i%2)
			fmt.Fprintf(&lines, "{\"day\":%q,\"y\":%d}\n", cell, i%2)
			fmt.Fprintf(&numbers, "{\"day\":%s,\"y\":%d}\n", cell, i%2)
		}
		want := parts(t, load(t, Options{}, writeFile(t, "iso.csv", iso.String())))
		if month {
			for i, row := range want {
				var kept []string
				for f := range strings.SplitSeq(row, ", ") {
					if !strings.Contains(f, "weekday") {
						kept = append(kept, f)
					}
				}
				want[i] = strings.Join(kept, ", ")
			}
		}
		files := map[string]string{"a.csv": csv.String(), "a.jsonl": lines.String()}
		if layout == "20060102" {
			files["b.jsonl"] = numbers.String()
		}
		for name, text := range files {
			path := writeFile(t, name, text)
			opt := Options{chunkBytes: 1 + rng.IntN(40)}
			for range 2 {
				set := load(t, opt, path)
				schema := set.Info().Schema
				if c := schema.Columns[0]; (c.Kind == Month) != month || schema.Validate() != nil {
					t.Fatalf("%s: %+v", text, c)
				}
				if d := cmp.Diff(want, parts(t, set)); d != "" {
					t.Fatalf("%s (-want +got):\n%s", text, d)
				}
				opt = Options{Schema: schema}
			}
		}
	}
}

func TestNamedDateColumns(t *testing.T) {
	days := func(n int, more ...string) string { // n days in two months, and then other cells
		text := "x,y\n"
		for i := range n {
			text += time.Date(2023, 1, 12+i, 0, 0, 0, 0, time.UTC).Format("20060102,") + "p\n"
		}
		for _, cell := range more {
			text += cell + ",q\n"
		}
		return text
	}
	for _, c := range []struct {
		name, text string
		opt        Options
		want       string // kind and order of the first column, or the end of the error
	}{
		{"days", days(20), Options{}, "date yyyymmdd"},
		{"too few days", days(19, "20230112", "20230113"), Options{}, "numeric "},
		{"the name says so", "OrderDate,y\n20230112,p\n20230112,q\n", Options{}, "date yyyymmdd"},
		{"not all are days", days(50, "20230132"), Options{}, "numeric "},
		{"an end of time", days(50, "99991231"), Options{}, "numeric "},
		{"with gaps", days(20, "NA", "", "20240229"), Options{}, "date yyyymmdd"},
		{"numbers by the flag", days(20), Options{CenterColumns: []string{"x"}}, "numeric "},
		{"categories by the flag", days(20), Options{Categorical: []string{"x"}}, "categorical "},
		{"running numbers", "id,y\n" + runningNumbers(20230101, 40), Options{}, "numeric "},
		{"with semicolons", strings.ReplaceAll(days(20), ",", ";"), Options{}, "date yyyymmdd"},
		{
			"numbers of another notation", "x;y\n20230101;p\n1,5;q\n", Options{}, "numeric ",
		},
		{
			"no number", days(20, "soon"), Options{}, `:22: column "x": cell "soon" is not a number, but the column's ` +
				"first value is one; declare a column of names with --categorical, or what means missing with " +
				"--missing-values",
		},
		{
			"no day after the first rows", days(100, "20230931"), Options{}, `:102: column "x": cell "20230931" is not a ` +
				"day YYYYMMDD, but the column's first value is one: want one from 19000101 to 20991231; --center " +
				"reads the column as numbers, --missing-values says what means missing",
		},
		{
			"another notation after a day", "x,y\n20230101,p\n\"1,5\",q\n", Options{}, `:3: column "x": cell "1,5" is a ` +
				"number, but written otherwise than the first ones, 1234.5: write all of a column in one way, or say " +
				"which mark is the decimal one (--decimal)",
		},
		{
			"another date after the first rows", days(100, "2023-09-10"), Options{}, `:102: column "x": cell "2023-09-10" ` +
				"is not a day YYYYMMDD, but the column's first value is one: want one from 19000101 to 20991231; " +
				"--center reads the column as numbers, --missing-values says what means missing",
		},
		{"months", "m,y\n2023-09,p\nNA,q\n2023-12,q\n", Options{}, "month "},
		{"months with names", "m,y\nSep 2023,p\nMay 2024,q\n", Options{}, "month "},
		{"seasons", "m,y\n2009-10,p\n2010-11,q\n", Options{}, "categorical "},
		{"a season and a month", "m,y\n2009-10,p\n2010-12,q\n", Options{}, "month "},
		{"no month among the first rows", "m,y\n2023-09,p\ntotal,q\n2023-09,q\n", Options{}, "categorical "},
		{"a month and days", "m,y\n2023-09,p\n2023-09-10,q\n2023-09,q\n", Options{}, "categorical "},
		{
			"no month after the first rows", "m,y\n" + strings.Repeat("2023-09,p\n", 100) + "2023-13,q\n",
			Options{},
			`:102: column "m": cell "2023-13" is not a month, but the column's first value is one: want YYYY-MM or Jan ` +
				"YYYY, from 1900 to 2099; declare a column of names with --categorical",
		},
		{
			"a day of no month", "d,y\n10-Sep-2023,p\n31-Sep-2023,q\n", Options{}, `:3: column "d": cell "31-Sep-2023" is ` +
				"not a date, but the column's first value is one: want YYYY-MM-DD, d.m.yyyy or 1 Jan yyyy, perhaps " +
				"with Thh:mm:ss and Z, +hh:mm or nothing behind; declare a column of names with --categorical",
		},
		{"a month among days", "d,y\n10-Sep-2023,p\n2023-09,q\n", Options{}, "with --categorical"},
		{"a packed day among others", "d,y\n2023-09-10,p\n20230911,q\n", Options{}, "with --categorical"},
		{
			"other forms beside names", "d,y\n10-Sep-23,p\n2023-09-10,q\n10.9.2023,q\n\"Sep 10, 2023\",p\n",
			Options{},
			"date ",
		},
		{"after slashes", "d,y\n31/1/2024,p\n10-Sep-23,q\n", Options{}, "date dmy"},
		{"with a time", "d,y\n10-Sep-23 14:05,p\n", Options{}, "timestamp "},
		{
			"two digits between marks", "d,y\n" + strings.Repeat("13/2/24,p\n", 5),
			Options{},
			"or say that they are names (--categorical)",
		},
		{"names of columns", "who,Jan 1 2020,2020-01-02,y\na,1,2,p\nb,3,4,q\n", Options{}, "categorical "},
	} {
		path := writeFile(t, "a.csv", c.text)
		for _, chunk := range []int{1, 1 << 20} {
			c.opt.chunkBytes = chunk
			set, err := Load(t.Context(), []string{path}, c.opt)
			if err != nil {
				if noregret.CodeOf(err) != noregret.BadInput || !strings.HasSuffix(err.Error(), c.want) ||
					len(c.want) < 18 {
					t.Errorf("%s: got  %v\nwant %s", c.name, err, c.want)
				}
				continue
			}
			first := set.Info().Schema.Columns[0]
			if got := string(first.Kind) + " " + first.DateOrder; got != c.want {
				t.Errorf("%s: got %s, want %s", c.name, got, c.want)
			}
			if c.name == "names of columns" && !set.Info().Schema.Header {
				t.Errorf("%s: the first row is data", c.name)
			}
			if err := set.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// runningNumbers are rows with numbers that follow each other.
func runningNumbers(first, n int) (text string) {
	for i := range n {
		text += fmt.Sprintf("%d,%d\n", first+i, i%2)
	}
	return text
}

// JSON numbers of eight digits are days by the rule of CSV; other numbers of the key end that.
func TestJSONDays(t *testing.T) {
	for text, want := range map[string]string{
		`{"date":19700101,"y":1}`:                                           "date yyyymmdd",
		`{"date":20230910,"y":1}`:                                           "date yyyymmdd",
		`{"x":20230910,"y":1}`:                                              "numeric ",
		"{\"date\":20230910,\"y\":1}\n{\"date\":20230931,\"y\":0}":          "numeric ",
		"{\"date\":20230910,\"y\":1}\n{\"date\":20230911.0,\"y\":0}":        "numeric ",
		"{\"date\":20230910,\"y\":1}\n{\"date\":\"20230911\",\"y\":0}":      "date yyyymmdd",
		"{\"date\":\"20230910\",\"y\":1}\n{\"date\":20230911,\"y\":0}":      "date yyyymmdd",
		"{\"date\":20230910,\"y\":1}\n{\"date\":null,\"y\":0}":              "date yyyymmdd",
		"{\"d\":\"Sept. 10, 2023\",\"y\":1}\n{\"d\":\"11-SEP-23\",\"y\":0}": "date ",
		"{\"m\":\"2023-09\",\"y\":1}\n{\"m\":\"\",\"y\":0}":                 "month ",
	} {
		i, err := readAll(Options{}, writeFile(t, "a.jsonl", text))
		if err != nil || len(i.Schema.Columns) != 1 {
			t.Errorf("%s: %+v, %v", text, i.Schema.Columns, err)
			continue
		}
		c := i.Schema.Columns[0]
		if got := string(c.Kind) + " " + c.DateOrder; got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// FuzzMoment checks that what is read as a day is that day in other forms.
func FuzzMoment(f *testing.F) {
	for _, s := range []string{
		"10-Sep-2023", "Sept. 10, 23", "2023 September 1 14:05", "2023-09", "Sep 2023", "20230910", "31/1/2024 9:30 PM",
		"1.2.2024", "2024-02-29T13:00:00.5+02:00",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, cell []byte) {
		for _, order := range []string{"", dayFirst, monthFirst, packedDays} {
			m, ok := scanMoment(cell, order)
			if !ok {
				continue
			}
			day := time.Date(m.year, time.Month(m.month), m.day, 0, 0, 0, 0, time.UTC)
			if !m.valid() || day.Day() != m.day {
				t.Fatalf("%q: %+v", cell, m)
			}
			again, ok := scanMoment([]byte(day.Format("2 Jan 2006")), order)
			if order != packedDays && (!ok || again.days() != m.days()) {
				t.Fatalf("%q: %+v, again %+v", cell, m, again)
			}
		}
		if m, ok := scanMonth(cell); ok {
			text := fmt.Sprintf("%04d-%02d", m.year, m.month)
			if again, ok := scanMonth([]byte(text)); !ok || again != m {
				t.Fatalf("%q: %+v, again %+v", cell, m, again)
			}
		}
	})
}
