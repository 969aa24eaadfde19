package server

import (
	_ "embed"
	"encoding/json"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/noregret/noregret/experiment/definition"
)

//go:embed openapi.yaml
var openAPI []byte

// apiSchemas are the schemas of the types of package api, by name. Its TestSchemas writes them.
//
//go:embed schemas.json
var apiSchemas []byte

// openAPIJSON is the OpenAPI document as JSON: openapi.yaml, completed for the generators of
// clients. The schemas of package api and of definitions are part of it, each number says that it
// is a float64 or an int64, and a default response, which would also be one of success, is one for
// 4XX and for 5XX.
var openAPIJSON = sync.OnceValues(func() ([]byte, error) {
	var doc, schema map[string]any
	if err := yaml.Unmarshal(openAPI, &doc); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(definition.Schema, &schema); err != nil {
		return nil, err
	}
	schemas := doc["components"].(map[string]any)["schemas"].(map[string]any)
	if err := json.Unmarshal(apiSchemas, &schemas); err != nil {
		return nil, err
	}
	addDefinition(schemas, schema)
	addFormats(doc)
	for _, path := range doc["paths"].(map[string]any) {
		for _, operation := range path.(map[string]any) {
			if o, ok := operation.(map[string]any); ok {
				splitDefault(o)
			}
		}
	}
	return json.Marshal(doc)
})

// addDefinition puts the schema of definitions among the document's schemas. Its parts get names
// of their own, such as DefinitionArm.
func addDefinition(schemas, schema map[string]any) {
	named := func(part string) string { return "Definition" + strings.ToUpper(part[:1]) + part[1:] }
	var move func(v any) any
	move = func(v any) any {
		switch v := v.(type) {
		case map[string]any:
			for key, value := range v {
				if part, ok := strings.CutPrefix(text(value), "#/$defs/"); ok && key == "$ref" {
					v[key] = "#/components/schemas/" + named(part)
				} else {
					v[key] = move(value)
				}
			}
		case []any:
			for i := range v {
				v[i] = move(v[i])
			}
		}
		return v
	}
	for part, value := range schema["$defs"].(map[string]any) {
		schemas[named(part)] = move(value)
	}
	for _, key := range []string{"$defs", "$schema", "$id"} {
		delete(schema, key)
	}
	schemas["Definition"] = move(schema)
	// A value is any JSON; generators cannot follow a schema that refers to itself.
	schemas[named("armValue")] = map[string]any{"description": "Any JSON but null; numbers are those of a float64"}
	delete(schemas, named("value"))
	delete(schemas, named("number"))
}

// text returns a string, or "" for anything else.
func text(v any) string {
	s, _ := v.(string)
	return s
}

// addFormats adds the format of each schema of numbers that has none.
func addFormats(v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, value := range v {
			addFormats(value)
		}
		kinds, ok := v["type"].([]any)
		if !ok {
			kinds = []any{v["type"]}
		}
		for _, kind := range kinds {
			format := map[string]string{"number": "double", "integer": "int64"}[text(kind)]
			if _, has := v["format"]; format != "" && !has {
				v["format"] = format
			}
		}
	case []any:
		for _, value := range v {
			addFormats(value)
		}
	}
}

// splitDefault replaces an operation's default response by one for each class of errors.
func splitDefault(operation map[string]any) {
	responses, ok := operation["responses"].(map[string]any)
	if !ok || responses["default"] == nil {
		return
	}
	responses["4XX"], responses["5XX"] = responses["default"], responses["default"]
	delete(responses, "default")
}
