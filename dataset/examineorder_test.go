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
