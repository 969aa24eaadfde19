package server

import (
	_ "embed"
	"encoding/json"
	"net/http"
	"sync"

	"go.yaml.in/yaml/v3"
)

//go:embed openapi.yaml
var openAPI []byte

// openAPIJSON is the OpenAPI document as JSON.
var openAPIJSON = sync.OnceValues(func() ([]byte, error) {
	var doc map[string]any
	if err := yaml.Unmarshal(openAPI, &doc); err != nil {
		return nil, err
	}
	return json.Marshal(doc)
})

func (s *Server) openapi(w http.ResponseWriter, _ *http.Request) error {
	b, err := openAPIJSON()
	if err != nil {
		return err
	}
	return writeBytes(w, http.StatusOK, "application/json", b)
}
