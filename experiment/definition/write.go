package definition

import (
	"bytes"

	"go.yaml.in/yaml/v3"

	"github.com/noregret/noregret/internal/strictjson"
)

// flowWidth is the greatest number of bytes of a value that YAML writes on one line.
const flowWidth = 80

// YAML returns a definition as YAML, with all defaults. [Parse] reads the same definition from it.
func YAML(d *Definition) ([]byte, error) {
	text, err := strictjson.Encode(d)
	if err != nil {
		return nil, err
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil { // JSON is YAML
		return nil, err
	}
	block(doc.Content[0], true)
	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	if err := e.Encode(&doc); err != nil {
		return nil, err
	}
	return out.Bytes(), e.Close()
}

// block chooses how a node is written: the elements of lists and small values below the top on one
// line, strings without quotation marks where that is possible. It returns the width of the node on
// one line.
func block(y *yaml.Node, top bool) int {
	width := len(y.Value) + 2
	for _, c := range y.Content {
		width += block(c, false) + 2
	}
	y.Style = 0
	if len(y.Content) > 0 && !top && width <= flowWidth {
		y.Style = yaml.FlowStyle
	}
	return width
}
