package server

import (
	"regexp"
	"strings"
	"testing"

	"github.com/noregret/noregret/policy"
)

// TestPseudonyms checks that who may read, but has not the role admin, gets an export in which no
// unit can be found by trying names, neither in it nor in a snapshot, and that the pseudonyms still
// tell which events are of one unit. Before, a reader could hash every address of a list of
// customers.
func TestPseudonyms(t *testing.T) {
	w := scoped(t)
	d := w.decide("blog", "ann")[0]
	w.post("/v1/exposures", item{Token: d.Token})
	w.post("/v1/feedback", item{d.Token, map[string]float64{"x": 1}})
	w.post("/v1/exposures", item{Token: w.decide("cart", "ann")[0].Token})
	plain := policy.FormatUnit(policy.Hash("unit", "blog", "ann"))
	units := func(token, query string) []string {
		w.as(token)
		status, b := w.do("GET", "/v1/export"+query, "")
		if status != 200 {
			t.Fatalf("%s %s: status %d: %s", token, query, status, b)
		}
		var out []string
		for _, m := range regexp.MustCompile(`"u":"([0-9a-f]{16})"`).FindAllStringSubmatch(string(b), -1) {
			out = append(out, m[1])
		}
		return out
	}
	all := units("boss", "")
	if len(all) != 3 || all[0] != plain || all[1] != plain {
		t.Fatalf("the plain hashes are %v, want %s first", all, plain)
	}
	if got := units("boss", "?units=plain"); strings.Join(got, " ") != strings.Join(all, " ") {
		t.Errorf("plain: %v, want %v", got, all)
	}
	keyed := units("boss", "?units=keyed")
	if len(keyed) != 3 || keyed[0] != keyed[1] || keyed[0] == plain || keyed[2] == keyed[0] || keyed[2] == all[2] {
		t.Errorf("pseudonyms %v of %v", keyed, all)
	}
	got := append(units("reader", "?experiment=blog"), units("reader", "?experiment=cart&units=keyed")...)
	if strings.Join(got, " ") != strings.Join(keyed, " ") {
		t.Errorf("a reader gets %v, want %v", got, keyed)
	}
	for path, want := range map[string]int{
		"/v1/export?experiment=blog&units=plain": 403, "/v1/export?experiment=blog&units=raw": 400, "/v1/snapshot": 403,
	} {
		if status, b := w.do("GET", path, ""); status != want {
			t.Errorf("%s: status %d, want %d: %s", path, status, want, b)
		}
	}
}
