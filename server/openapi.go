package server

import (
	_ "embed"
	"sync"

	"github.com/noregret/noregret/server/internal/web"
)

// openAPI is the OpenAPI document, which is made of the routes and of the types of their bodies by
// TestDocument: go generate ./server writes it.
//
//go:embed openapi.json
var openAPI []byte

// document is the body of the OpenAPI document.
var document = sync.OnceValue(func() *web.Text { return web.NewText(openAPI) })
