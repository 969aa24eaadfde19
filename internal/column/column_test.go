package column

import (
	"encoding/json"
	"math"
	"slices"
	"testing"
)

// TestColumns checks that columns are written as the base64 of their elements, little-endian, and
// are read as the same, and that texts of other lengths and no texts are refused.
func TestColumns(t *testing.T) {
	b, err := json.Marshal([]any{Uint64s{1, math.MaxUint64}, Float64s{1, math.Inf(-1)}, Uint32s{258}, Uint32s{}})
	if want := `["AQAAAAAAAAD//////////w==","AAAAAAAA8D8AAAAAAADw/w==","AgEAAA==",""]`; err != nil || string(b) != want {
		t.Fatalf("%s, %v, want %s", b, err, want)
	}
	var u Uint64s
	var f Float64s
	var v, none Uint32s
	if err := json.Unmarshal(b, &[]any{&u, &f, &v, &none}); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(u, Uint64s{1, math.MaxUint64}) || !slices.Equal(f, Float64s{1, math.Inf(-1)}) ||
		!slices.Equal(v, Uint32s{258}) || len(none) != 0 {
		t.Errorf("read %v, %v, %v and %v", u, f, v, none)
	}
	for _, bad := range []string{`"AgE="`, `"A"`, `7`, `"-"`} {
		if json.Unmarshal([]byte(bad), &u) == nil || json.Unmarshal([]byte(bad), &f) == nil ||
			json.Unmarshal([]byte(bad), &v) == nil {
			t.Errorf("%s was read", bad)
		}
	}
}
