package legible

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/noregret/noregret"
)

// TestCheck: what people can see is taken, and each character that they cannot see is refused and
// shown escaped, in one line.
func TestCheck(t *testing.T) {
	for _, text := range []string{"", "numbers look odd", "größer → x²; 数字 عربي \U0001F600", `a "quoted" \ text`, "a\u00a0b"} {
		if err := Check("reason", text); err != nil || Text(text) != text || Lines(text) != text {
			t.Errorf("%q: %v, %q", text, err, Text(text))
		}
	}
	for _, bad := range []string{
		"\n", "\r", "\t", "\x00", "\x1b[2J", "\x7f", "\u0085", "\u009b2J", "\u061c", "\u200b", "\u200e", "\u2028",
		"\u2029", "\u202e", "\u2066", "\u2069", "\ufeff", "\xff",
	} {
		text := "fine " + bad + "x"
		err := Check("reason", text)
		if noregret.CodeOf(err) != noregret.BadInput || strings.ContainsFunc(err.Error(), Unclear) {
			t.Errorf("%q: %v", text, err)
		}
		got := Text(text)
		if strings.ContainsFunc(got, Unclear) || !strings.HasPrefix(got, `"fine \`) || !utf8.ValidString(got) {
			t.Errorf("%q is shown as %s", text, got)
		}
	}
	if got := Lines("first\nsec\x1bond\nthird"); got != "first\n\"sec\\x1bond\"\nthird" {
		t.Errorf("lines: %q", got)
	}
}

// TestJSON: the values are the same, and nothing of them can change what a terminal shows.
func TestJSON(t *testing.T) {
	in := "{\"a\u202e\": [\"\u009b2J\", \"\\n\", \"é\\u0000\"],\n\t\"b\": \"\ufeff\"}"
	out := string(JSON([]byte(in)))
	var want, got any
	if err := json.Unmarshal([]byte(in), &want); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %v, %v", out, got, err)
	}
	if strings.ContainsAny(out, "\u202e\u009b\ufeff") {
		t.Errorf("%q", out)
	}
}
