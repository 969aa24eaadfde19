package dataset

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// A column of heavy tails tells a rare label, in bins of equal width or of equal shares of the rows
// all of which are mostly of the other label. A column that only helps is not reported.
func TestExamineHeavyTails(t *testing.T) {
	for _, c := range []struct {
		name string
		leak float64 // the exponent of the rare rows; that of others is at most 10
		from float64
		want string
	}{
		{"above all others", 2, 10, "amount"},
		{"below all others", 2, -12, "amount"},
		{"often above", 6, 6, ""},
	} {
		r := rand.New(rand.NewPCG(1, 2))
		var b strings.Builder
		b.WriteString("amount,other,y\n")
		for i := range 8000 {
			x, y := math.Exp(10*r.Float64()), "no"
			if i%320 == 5 {
				x, y = math.Exp(c.from+c.leak*r.Float64()), "yes"
			}
			if i == 7 {
				x = 1e30
			}
			fmt.Fprintf(&b, "%g,%g,%s\n", x, r.Float64(), y)
		}
		found, _, err := Examine(load(t, Options{}, writeFile(t, "a.csv", b.String())), nil)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, f := range found {
			got += f.Column
			if f.Kind != Leaking || !strings.Contains(f.Message, `"yes"`) && !strings.Contains(f.Message, `"no"`) {
				t.Errorf("%s: %+v", c.name, f)
			}
		}
		if got != c.want {
			t.Errorf("%s: found %v, want %q", c.name, found, c.want)
		}
	}
}

// A column in which most rows have one value tells a label by the values above it or below, however
// wide their range, also if the other rows have some of them.
func TestExamineOrderBesideOneValue(t *testing.T) {
	for _, share := range []int{10, 100, 400, 2000} { // one row of so many is fraud
		for _, values := range []int{1, 3, 10, 60, 90, 120, 400, 2000, 100_000} {
			r := rand.New(rand.NewPCG(uint64(share), uint64(values)))
			var b strings.Builder
			b.WriteString("above,below,some,few,cents,no,y\n")
			for i := range 30_000 {
				days, some, few, no := 0, 0, r.IntN(3), 0
				if i*7919%30_000%share == 0 {
					days = 1 + r.IntN(values)
					some, few, no = days, 3+r.IntN(values), days
				} else if u := r.Float64(); u < .1 {
					if no = 1 + r.IntN(values); u < .005 { // the AUC is .95, and at least .9975
						some = no
					}
				}
				fmt.Fprintf(&b, "%d,%d,%d,%d,%.2f,%d,%v\n", days, 7-days, some, few, float64(days)*1.01, no, days > 0)
			}
			found, _, err := Examine(load(t, Options{}, writeFile(t, "a.csv", b.String())), nil)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, f := range found {
				if f.Kind == Leaking {
					got += f.Column + " "
				}
			}
			if want := "above below some few cents "; got != want {
				t.Errorf("one of %d, %d values: leaking are %s, want %s", share, values, got, want)
			}
		}
	}
}
