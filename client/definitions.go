package client

import (
	"context"
	"encoding/json"

	"github.com/noregret/noregret/api"
)

// Apply creates or changes an experiment. The text is its definition in YAML or JSON, whose name
// must be the given one.
func (c *Client) Apply(ctx context.Context, name string, text []byte) (out api.Applied, err error) {
	err = c.json(ctx, call{method: "PUT", path: pathOf(name, ""), body: text, media: "application/yaml"}, nil, &out)
	return out, err
}

// Create is Apply for an experiment that does not exist yet; it is an error if it does.
func (c *Client) Create(ctx context.Context, name string, text []byte) (out api.Applied, err error) {
	err = c.json(ctx, call{
		method: "PUT", path: pathOf(name, ""), body: text, media: "application/yaml", tag: "*",
	}, nil, &out)
	return out, err
}

// Preview returns what [Client.Apply] would change, in the field Preview, or the error with which
// it would be refused. It changes nothing.
func (c *Client) Preview(ctx context.Context, name string, text []byte) (out api.Applied, err error) {
	err = c.json(ctx, call{
		method: "PUT", path: pathOf(name, "?dry_run=true"), body: text, media: "application/yaml", repeat: true,
	}, nil, &out)
	return out, err
}

// Definition returns the definition in force of an experiment, as JSON with all defaults.
func (c *Client) Definition(ctx context.Context, name string) (out json.RawMessage, err error) {
	err = c.json(ctx, call{method: "GET", path: pathOf(name, ""), repeat: true}, nil, &out)
	return out, err
}
