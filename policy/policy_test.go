package policy

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func policyOf(t interface{ Fatal(...any) }, hold float64, splits ...*Split) *Policy {
	p := &Policy{
		Experiment: "x", Version: uint64(len(splits)), Salt: "salt", Control: 0, Stream: "arm",
		HoldBack: Fraction(hold),
	}
	for k := range splits[0].Len() {
		p.Arms = append(p.Arms, Arm{fmt.Sprint("arm-", k), json.RawMessage(fmt.Sprint(k))})
	}
	for i, s := range splits {
		p.Links = append(p.Links, Link{uint64(i + 1), s})
	}
	if err := p.Prepare(nil); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Seal(); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestPolicyShares draws many units through a chain of splits. Each arm's share must be its
// propensity, and as few units as possible may move from one version to the next.
func TestPolicyShares(t *testing.T) {
	splits := []*Split{
		mustSplit(t, .5, .3, .2), mustSplit(t, .2, .3, .5), mustSplit(t, .3, 0, .7),
		mustSplit(t, .3, .4, .3),
	}
	last, before := policyOf(t, .1, splits...), policyOf(t, .1, splits[:3]...)
	const n = 200_000
	var count [3]float64
	moved, held := 0.0, 0.0
	for i := range n {
		d := last.Decide(fmt.Sprint("unit", i))
		if d.HeldBack {
			if d.Arm != 0 || d.Propensity != 1 {
				t.Fatalf("%+v", d)
			}
			held++
			continue
		}
		count[d.Arm]++
		if p := splits[3].Propensity(d.Arm); d.Propensity != p {
			t.Fatalf("propensity %v, want %v", d.Propensity, p)
		}
		if before.Decide(fmt.Sprint("unit", i)).Arm != d.Arm {
			moved++
		}
	}
	near := func(what string, got, n, p float64) {
		if z := (got - n*p) / math.Sqrt(n*p*(1-p)); math.Abs(z) > 4.5 {
			t.Errorf("%s: %v of %v, want the share %v (z = %.1f)", what, got, n, p, z)
		}
	}
	near("held back", held, n, .1)
	for k, c := range count {
		near(fmt.Sprint("arm ", k), c, n-held, []float64{.3, .4, .3}[k])
	}
	near("moved", moved, n-held, .4) // the total variation from (.3, 0, .7)
}

// TestPolicyDraws checks that the draws of one unit for different purposes are independent.
func TestPolicyDraws(t *testing.T) {
	p := policyOf(t, .5, mustSplit(t, .5, .5))
	var table [2][2]float64
	const n = 100_000
	for i := range n {
		u := p.Unit(fmt.Sprint(i))
		table[draw(u, p.holdKey)>>63][draw(u, p.armKey)>>63]++
	}
	x2 := 0.0
	for _, row := range table {
		for _, c := range row {
			x2 += (c - n/4) * (c - n/4) / (n / 4)
		}
	}
	if x2 > 21 { // 3 degrees of freedom, 1e-4
		t.Errorf("chi-squared %v of %v", x2, table)
	}
}

func TestPolicyJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.IntRange(1, 8).Draw(t, "arms")
		var splits []*Split
		for i := range rapid.IntRange(1, 4).Draw(t, "links") {
			splits = append(splits, mustSplit(t, drawShares(t, fmt.Sprint("shares", i), k)...))
		}
		p := policyOf(t, rapid.Float64Range(0, .99).Draw(t, "hold"), splits...)
		text, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		q, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(p, q, cmp.AllowUnexported(Split{}, Policy{}, linkMove{}, move{}),
			cmpopts.EquateEmpty()); d != "" {
			t.Fatal(d)
		}
		for i := range 20 {
			if a, b := p.Decide(fmt.Sprint(i)), q.Decide(fmt.Sprint(i)); cmp.Diff(a, b) != "" {
				t.Fatalf("%+v and %+v", a, b)
			}
		}
		// Any change must be noticed.
		if bad := strings.Replace(string(text), `"salt":"salt"`, `"salt":"malt"`, 1); bad != string(text) {
			if _, err := Parse([]byte(bad)); err == nil {
				t.Fatal("a changed policy was accepted")
			}
		}
	})
	for _, text := range []string{
		"", "{}", `{"links":[{"version":1,"split":["1"]}]}`,
		`{"links":[{"version":1,"split":["18446744073709551617"]}]}`, `{"links":[{"version":1,"split":["x"]}]}`,
	} {
		if _, err := Parse([]byte(text)); err == nil {
			t.Errorf("%s was accepted", text)
		}
	}
}

// TestPolicyWholeInOtherWords checks that the share 2^64 is the whole range, however the number is
// written.
func TestPolicyWholeInOtherWords(t *testing.T) {
	for _, text := range []string{wholeText, "+" + wholeText, "00" + wholeText} {
		var s Split
		if err := json.Unmarshal([]byte(fmt.Sprintf(`[%q,"0"]`, text)), &s); err != nil {
			t.Fatal(err)
		}
		if p := s.Shares(); p[0] != 1 || p[1] != 0 {
			t.Errorf("%s: shares %v", text, p)
		}
		if arm := mustSplit(t, 0, 1).Move(&s, 1, 5, 5); arm != 0 {
			t.Errorf("%s: moved to %d", text, arm)
		}
	}
}

// TestPolicyContract pins decisions that clients in other languages must reproduce.
func TestPolicyContract(t *testing.T) {
	p := policyOf(t, .25, mustSplit(t, .5, .25, .25), mustSplit(t, .1, .6, .3))
	var got []string
	for _, u := range []string{"", "a", "b", "c", "d", "ünit", "f"} {
		d := p.Decide(u)
		got = append(got, fmt.Sprintf("%s:%s/%016x/%v", u, d.Name, d.Unit, d.HeldBack))
	}
	want := ":arm-2/51bdf72e344a79cd/false a:arm-1/c7f22e1f7f138198/false b:arm-1/e4de7aa48b0064b6/false " +
		"c:arm-0/331827a34197169b/true " +
		"d:arm-1/1d936d75f462f19b/false ünit:arm-1/4b5ca75910a870f3/false f:arm-0/bac341f48a256f98/true"
	if s := strings.Join(got, " "); s != want {
		t.Errorf("got %s", s)
	}
}

func BenchmarkPolicyDecide(b *testing.B) {
	for _, links := range []int{1, 16, 256} {
		b.Run(fmt.Sprint("links=", links), func(b *testing.B) {
			var splits []*Split
			for i := range links {
				x := .3 + .1*float64(i%3)
				splits = append(splits, mustSplit(b, x, .1, .9-x))
			}
			p := policyOf(b, .01, splits...)
			b.ReportAllocs()
			for b.Loop() {
				p.Decide("user-1234567")
			}
		})
	}
}

// TestPrepareShares checks that a policy shares the moves between the links that it has in common
// with another.
func TestPrepareShares(t *testing.T) {
	a, b, c := mustSplit(t, .5, .5), mustSplit(t, .4, .6), mustSplit(t, .1, .9)
	old := policyOf(t, 0, a, b)
	p := policyOf(t, 0, a, b, c)
	p.Links[0], p.Links[1] = old.Links[0], old.Links[1]
	if err := p.Prepare(old); err != nil || p.moves[0] != old.moves[0] {
		t.Errorf("the move that both have is not shared (%v)", err)
	}
	p.Links[1] = Link{2, mustSplit(t, .4, .6)}
	if err := p.Prepare(old); err != nil || p.moves[0] == old.moves[0] {
		t.Errorf("the move of another split is shared (%v)", err)
	}
}

// TestParseUnit compares the units that are accepted with those of encoding/hex.
func TestParseUnit(t *testing.T) {
	texts := []string{
		"", "0123456789abcdef", "FEDCBA9876543210", "0123456789abcde", "0123456789abcdef0", "+123456789abcdef",
	}
	for c := range 256 {
		texts = append(texts, "0123456"+string([]byte{byte(c)})+"89abcdef")
	}
	for _, s := range texts {
		b, err := hex.DecodeString(s)
		want := err == nil && len(b) == 8
		if got, ok := ParseUnit(s); ok != want || ok && FormatUnit(got) != strings.ToLower(s) {
			t.Errorf("%q is %x, %v: want %v", s, got, ok, want)
		}
	}
}
