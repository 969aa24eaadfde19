package api_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/noregret/noregret/api"
)

// TestPages checks that the pages of every size together are the list, once each, and that a page
// may begin after a name that is gone.
func TestPages(t *testing.T) {
	var names []string
	for i := range 10 {
		names = append(names, fmt.Sprint("n", i))
	}
	for limit := 0; limit <= 11; limit++ {
		var all []string
		page, pages := api.Page{Limit: limit}, 0
		for {
			got, next := page.Of(names)
			all = append(all, got...)
			if pages++; next == "" {
				break
			}
			if len(got) != limit || next != got[limit-1] {
				t.Fatalf("limit %d: the page %v ends with %q", limit, got, next)
			}
			page.After = next
		}
		if want := (10 + max(limit, 1) - 1) / max(limit, 1); !slices.Equal(all, names) || limit > 0 && pages != want {
			t.Errorf("limit %d: %d pages with %v", limit, pages, all)
		}
	}
	for after, want := range map[string]string{"n4": "n5", "n44": "n5", "": "n0", "a": "n0"} {
		if got, _ := (api.Page{After: after, Limit: 1}).Of(names); len(got) != 1 || got[0] != want {
			t.Errorf("after %q: %v, want %s", after, got, want)
		}
	}
	if got, next := (api.Page{After: "z", Limit: 3}).Of(names); len(got) != 0 || next != "" {
		t.Errorf("after the end: %v, %q", got, next)
	}
}
