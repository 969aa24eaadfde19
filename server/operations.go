package server

import (
	_ "embed"
	"encoding/json"
	"net/http"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/noregret/noregret/server/internal/access"
	"github.com/noregret/noregret/server/internal/web"
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

// operationsAPI serves what operators and tools ask for: the API's description, metrics and health.
type operationsAPI struct {
	metrics  *metrics
	writer   *writer
	draining <-chan struct{}
}

func (a *operationsAPI) routes() []web.Route {
	return []web.Route{
		{Method: "GET", Pattern: "/openapi.json", Serve: a.openapi},
		{Method: "GET", Pattern: "/metrics", Role: access.Read, Serve: a.showMetrics},
		{Method: "GET", Pattern: "/livez", Serve: a.livez},
		{Method: "GET", Pattern: "/readyz", Serve: a.readyz},
	}
}

func (a *operationsAPI) openapi(w http.ResponseWriter, _ *http.Request) error {
	b, err := openAPIJSON()
	if err != nil {
		return err
	}
	return web.WriteBytes(w, http.StatusOK, "application/json", b)
}

func (a *operationsAPI) showMetrics(w http.ResponseWriter, r *http.Request) error {
	a.metrics.handler().ServeHTTP(w, r)
	return nil
}

// livez answers that the process runs.
func (a *operationsAPI) livez(w http.ResponseWriter, _ *http.Request) error {
	return writeOK(w)
}

// readyz answers whether the service takes requests that write.
func (a *operationsAPI) readyz(w http.ResponseWriter, _ *http.Request) error {
	select {
	case <-a.draining:
		return web.Unavailable(errDraining)
	default:
	}
	if a.writer.err() != nil {
		return web.Unavailable(errFailed)
	}
	return writeOK(w)
}

func writeOK(w http.ResponseWriter) error {
	return web.WriteBytes(w, http.StatusOK, "text/plain; charset=utf-8", []byte("ok\n"))
}
