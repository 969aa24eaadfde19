package definition

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"

	"go.yaml.in/yaml/v3"

	"github.com/noregret/noregret/internal/legible"
	"github.com/noregret/noregret/internal/strictjson"
)

// Tag returns the entity tag of a definition in the form of HTTP, quotes included. It changes with
// every part of the definition.
func Tag(d *Definition) (string, error) {
	b, err := strictjson.Encode(d)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(b)
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:16]) + `"`, nil
}

// Text writes a definition for people, one field in a line, with its defaults: as YAML, or as
// indented JSON if YAML cannot hold a value of an arm, such as a number of 20 digits, or if a value
// has characters that people cannot see, which are then escaped. [Parse] reads the same definition
// from it.
func Text(d *Definition) (string, error) {
	b, err := strictjson.Encode(d)
	if err != nil {
		return "", err
	}
	if shown := legible.JSON(b); !bytes.Equal(shown, b) {
		b = shown // YAML would write the characters as they are
	} else if text, err := asYAML(b); err == nil {
		if read, err := Parse("", text); err == nil {
			if again, err := strictjson.Encode(read); err == nil && bytes.Equal(again, b) {
				return string(text), nil
			}
		}
	}
	var out bytes.Buffer
	if err := json.Indent(&out, b, "", "  "); err != nil {
		return "", err
	}
	return out.String() + "\n", nil
}

// asYAML writes JSON as YAML. What is nested deeper than the fields of a definition stays in one
// line.
func asYAML(b []byte) ([]byte, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(b, &doc); err != nil {
		return nil, err
	}
	for _, n := range doc.Content {
		blockStyle(n, 0)
	}
	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	if err := e.Encode(&doc); err != nil {
		return nil, err
	}
	return out.Bytes(), e.Close()
}

// blockStyle gives a node the style in which people write it: quotes only where they are needed,
// and lists and objects over several lines where their values are lists or objects.
func blockStyle(n *yaml.Node, depth int) {
	if n.Kind == yaml.ScalarNode {
		n.Style &^= yaml.DoubleQuotedStyle
		return
	}
	nested := false
	for _, c := range n.Content {
		blockStyle(c, depth+1)
		nested = nested || c.Kind != yaml.ScalarNode
	}
	if depth < 2 || nested && depth < maxPlaced {
		n.Style &^= yaml.FlowStyle
	}
}
