package server

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSources checks that sums need the role for them and come from the token's own sources, and
// that no number of a source uses up all others. Before, a token for feedback could invent a
// million units, and stop another's source by the number 2^64-1.
func TestSources(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.yaml")
	if err := os.WriteFile(path, []byte(`tokens:
  - {name: ops, roles: [admin], token: 0123456789abcdef-ops}
  - {name: app, roles: [decide, feedback], token: 0123456789abcdef-app}
  - {name: edge, roles: [aggregate], sources: [edge-*, cdn], token: 0123456789abcdef-edge}
  - {name: shop, roles: [aggregate, feedback], sources: [shop], token: 0123456789abcdef-shop}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, func(c *Config) { c.Tokens = path })
	w.token = "0123456789abcdef-ops"
	w.apply(toy)
	for _, c := range []struct {
		token, source string
		sequence      uint64
		status        int
		want          string
	}{
		{"app", "app", 1, 403, "lacks the role aggregate"},
		{"edge", "shop", math.MaxUint64, 403, "may not send sums of the source"},
		{"edge", "edge", 1, 403, "may not send sums of the source"},
		{"edge", "edge-1", math.MaxUint64, 400, "want a first number of at most 9223372036854775808"},
		{"edge", "edge-1", 1, 200, `"accepted":1`},
		{"edge", "cdn", 1_700_000_000_000, 200, `"accepted":1`},
		{"edge", "cdn", 1_800_000_000_000, 200, `"accepted":1`},
		{"shop", "shop", 1, 200, `"accepted":1`},
		{"shop", "shop", math.MaxUint64, 400, "leaps by more than 1099511627776 from the last number of the source, 1"},
		{"shop", "shop", 1, 200, `"duplicate":1`},
		{"shop", "shop", 2, 200, `"accepted":1`},
		{"ops", "shop", 3, 200, `"accepted":1`},
		{"shop", "shop", 4, 200, `"accepted":1`},
	} {
		w.token = "0123456789abcdef-" + c.token
		status, b := w.do("POST", "/v1/aggregates", fmt.Sprintf(`{"experiment": "toy", "source": %q, "sequence": %d, `+
			`"items": [{"version": 1, "arm": "gain", "units": 10}]}`, c.source, c.sequence))
		if status != c.status || !strings.Contains(string(b), c.want) {
			t.Errorf("%s sends %s %d: status %d: %s", c.token, c.source, c.sequence, status, b)
		}
	}
}
