package strictjson

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// TestValueEnd: what may and may not be JSON, in small, and where the value ends.
func TestValueEnd(t *testing.T) {
	for raw, want := range map[string]int{
		`0`: 1, `-0`: 2, `00`: 1, `01`: 1, `1x`: 1, `"a"x`: 3, `{}x`: 2, `-`: -1, `1.`: -1, `.5`: -1, `1.5e`: -1, `1e+`: -1, `1e+07`: 5, `1E-2 `: 4, `+1`: -1,
		`""`: 2, `"`: -1, `"\"`: -1, `"\""`: 4, `"\x"`: -1, `"\u12"`: -1, `"\u12fG"`: -1, `"\uD83d"`: 8, "\"\n\"": -1,
		`true`: 4, `tru`: -1, `nul`: -1, `null `: 4, `nullx`: 4, ` [ ] x`: 4, `[,]`: -1, `[1,]`: -1, `[1 2]`: -1, `[1,2`: -1,
		`{}`: 2, `{,}`: -1, `{"a"}`: -1, `{"a":}`: -1, `{"a":1,}`: -1, `{"a" : 1 , "b" : [ { } ] }`: 26, `{1:2}`: -1, `[}`: -1,
		``: -1, ` `: -1, `]`: -1, "\v1": -1, "\x00": -1, "[\x00": -1,
		strings.Repeat("[", 101) + strings.Repeat("]", 101): -1,
		strings.Repeat("[", 100) + strings.Repeat("]", 100): 200,
	} {
		if got, _ := valueEnd([]byte(raw), 0); got != want {
			t.Errorf("%q: the value ends at %d, want %d", raw, got, want)
		}
	}
}

// TestDeep: what is nested deeper than valueEnd looks is read all the same.
func TestDeep(t *testing.T) {
	for _, depth := range []int{99, 100, 101, 5000} {
		raw := strings.Repeat("[", depth) + strings.Repeat("]", depth)
		var v any
		if err := Decode([]byte(raw), &v, Rules{}); err != nil {
			t.Errorf("%d lists within each other: %v", depth, err)
		}
	}
}

// FuzzValueEnd: a value that is found is the one that encoding/json finds, and one that is not
// found is none, unless it is deep.
func FuzzValueEnd(f *testing.F) {
	for _, raw := range []string{
		`{"items": [{"token": "AQ", "metrics": {"x": -1.5e3, "n": 0}}]} `, `[true, false, null, "\u00e9\n", {}]`, `[1] 2`, `01`,
		`"\ud800"`, `1e5x`, "\"\x1f\"", `{"a": {"a": [[[]]]}}`,
	} {
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, _ := valueEnd(raw, 0)
		var whole json.RawMessage
		dec := json.NewDecoder(bytes.NewReader(raw))
		want := -1
		if dec.Decode(&whole) == nil {
			want = int(dec.InputOffset())
		}
		deep := bytes.Count(raw, []byte("["))+bytes.Count(raw, []byte("{")) > deepest
		if got != want && (got >= 0 || !deep) {
			t.Errorf("%q: the value ends at %d, encoding/json says %d", raw, got, want)
		}
	})
}
