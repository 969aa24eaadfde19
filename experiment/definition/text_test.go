package definition_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/internal/strictjson"
)

// TestText checks that the text of every definition of the repository, and of those with values
// that YAML would read as something else, is read as the same definition.
func TestText(t *testing.T) {
	t.Parallel()
	texts := map[string]string{}
	for _, pattern := range []string{"../testdata/*/*.yaml", "../../internal/examples/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(b), "\narms:") {
				texts[file] = string(b)
			}
		}
	}
	if len(texts) == 0 {
		t.Fatal("no definitions")
	}
	head := `{"name": "odd", "metrics": [{"name": "x"}, {"name": "yes"}], "policy": {"kind": "fixed", "split": {"on": 0.5, "1": 0.5}}, `
	for name, value := range map[string]string{
		"words":   `{"no": "yes", "null": "~", "1": "0x1F", "t": "2026-01-01", "e": "", "s": " a ", "n": "a\nb\n", "q": "\"'#: -"}`,
		"tabs":    `["\t", "\u2028", "𝕏", "- a", "{", "&a", "*a", "!!str", "a: b", "<<"]`,
		"deep":    `{"a": [[1, {"b": [true, null, -0.5, 1e-7]}], []], "z": {}}`,
		"control": `"\u007f"`,
		"digits":  `12345678901234567890123`,
		"zeros":   `[1.0, 1e0, 100000000000000000000]`,
	} {
		texts[name] = head + `"arms": [{"name": "on", "value": ` + value + `}, {"name": "1", "value": 1}]}`
	}
	for name, text := range texts {
		d, err := definition.Parse(name, []byte(text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		written, err := definition.Text(d)
		if err != nil {
			t.Fatal(err)
		}
		again, err := definition.Parse("text", []byte(written))
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, written)
		}
		want, _ := strictjson.Encode(d)
		got, err := strictjson.Encode(again)
		if err != nil || string(got) != string(want) {
			t.Errorf("%s is read back as\n%s\nwant\n%s\nfrom\n%s", name, got, want, written)
		}
		asJSON := strings.HasPrefix(written, "{")
		if want := slices.Contains([]string{"control", "digits", "zeros"}, name); asJSON != want {
			t.Errorf("%s is written as JSON: %v, want %v:\n%s", name, asJSON, want, written)
		}
		if lines := strings.Count(written, "\n"); lines < 10 {
			t.Errorf("%s has %d lines: want one for each field", name, lines)
		}
	}
}

// TestTag checks that the tag changes with the definition, and only with it.
func TestTag(t *testing.T) {
	t.Parallel()
	tag := func(text string) string {
		d, err := definition.Parse("d", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		tag, err := definition.Tag(d)
		if err != nil {
			t.Fatal(err)
		}
		return tag
	}
	const text = "name: ab\narms: [{name: a, value: 1}, {name: b, value: 2}]\nmetrics: [{name: x}]\n" +
		"policy: {kind: fixed, split: {a: 0.5, b: 0.5}}\n"
	one := tag(text)
	if tag("unit: user\n"+text) != one {
		t.Error("a default that is written out changes the tag")
	}
	if tag("description: new\n"+text) == one {
		t.Error("another description has the same tag")
	}
}
