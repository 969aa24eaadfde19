package definition

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/noregret/noregret/internal/strictjson"
	"github.com/noregret/noregret/internal/vec"
)

func (s *source) readYAML(data []byte) error {
	var doc yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(data))
	if err := d.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return s.fault(1, "", "the document is empty")
		}
		return s.yamlError(err)
	}
	var more yaml.Node
	if err := d.Decode(&more); !errors.Is(err, io.EOF) {
		return s.fault(max(more.Line, 1), "", "a second document: want one")
	}
	return s.yaml(position{}, doc.Content[0])
}

// yamlError takes the line out of the parser's message.
func (s *source) yamlError(err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 1
	if rest, ok := strings.CutPrefix(text, "line "); ok {
		if number, rest, ok := strings.Cut(rest, ": "); ok {
			if n, e := strconv.Atoi(number); e == nil {
				line, text = n, rest
			}
		}
	}
	return s.fault(line, "", "not valid YAML: %s", text)
}

// yaml writes a node as JSON. The line of its position is the node's.
func (s *source) yaml(at position, y *yaml.Node) error {
	if y.Kind == yaml.AliasNode {
		s.count++
		y = y.Alias
	}
	at.line = y.Line
	if err := s.begin(at); err != nil {
		return err
	}
	switch y.Kind {
	case yaml.ScalarNode:
		return s.scalar(at, y)
	case yaml.SequenceNode:
		s.json = append(s.json, '[')
		for i, v := range y.Content {
			if err := s.yaml(s.item(at, i), v); err != nil {
				return err
			}
		}
		s.json = append(s.json, ']')
		return nil
	case yaml.MappingNode:
		return s.mapping(at, y)
	}
	return s.fault(at.line, at.path, "not a value")
}

func (s *source) mapping(at position, y *yaml.Node) error {
	seen := map[string]bool{}
	s.json = append(s.json, '{')
	for i := 0; i+1 < len(y.Content); i += 2 {
		name := y.Content[i]
		if name.Kind != yaml.ScalarNode || name.Tag == "!!merge" {
			return s.fault(name.Line, at.path, "want the name of a field")
		}
		p, err := s.member(at, name.Value, name.Line, seen)
		if err != nil {
			return err
		}
		if err := s.yaml(p, y.Content[i+1]); err != nil {
			return err
		}
	}
	s.json = append(s.json, '}')
	return nil
}

// scalar writes a YAML scalar; numbers are written as encoding/json writes them.
func (s *source) scalar(at position, y *yaml.Node) error {
	switch y.Tag {
	case "!!null":
		s.json = append(s.json, "null"...)
		return nil
	case "!!str", "!!timestamp":
		return s.text(y.Value)
	case "!!bool":
		var v bool
		if err := y.Decode(&v); err != nil {
			return s.fault(at.line, at.path, "%q: want true or false", y.Value)
		}
		s.json = strconv.AppendBool(s.json, v)
		return nil
	case "!!int":
		var v int64
		if err := y.Decode(&v); err != nil {
			return s.fault(at.line, at.path, "%q: want a whole number of 64 bits", y.Value)
		}
		s.json = strconv.AppendInt(s.json, v, 10)
		return nil
	case "!!float":
		var v float64
		if err := y.Decode(&v); err != nil || !vec.IsFinite(v) {
			return s.fault(at.line, at.path, "%s: want a finite number", y.Value)
		}
		b, err := strictjson.Encode(v)
		s.json = append(s.json, b...)
		return err
	}
	return s.fault(at.line, at.path, "%s: JSON has no values of type %s", y.Value, y.Tag)
}
