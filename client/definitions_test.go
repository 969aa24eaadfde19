package client_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/noregret/noregret/client"
)

// TestPreview asks what a definition would change, creates an experiment once, and reads its
// definition.
func TestPreview(t *testing.T) {
	s, ctx := newService(t), context.Background()
	other := bytes.Replace([]byte(toy), []byte("name: toy"), []byte("name: other"), 1)
	v, err := s.client.Preview(ctx, "other", other)
	if err != nil || !v.Created || v.Preview == nil || v.Preview.Next != 1 {
		t.Errorf("%+v %v", v, err)
	}
	if v, err = s.client.Create(ctx, "other", other); err != nil || !v.Created || v.Preview != nil {
		t.Errorf("%+v %v", v, err)
	}
	var e *client.Error
	if _, err = s.client.Create(ctx, "other", other); !errors.As(err, &e) || e.Status != http.StatusPreconditionFailed {
		t.Errorf("%v", err)
	}
	text, err := s.client.Definition(ctx, "other")
	if err != nil || !bytes.HasPrefix(text, []byte(`{"name":"other",`)) {
		t.Errorf("%s %v", text, err)
	}
	if v, err = s.client.Preview(ctx, "other", text); err != nil || v.Changed || v.Version != 1 {
		t.Errorf("%+v %v", v, err)
	}
	_, err = s.client.Preview(ctx, "other", bytes.Replace(other, []byte("stickiness: unit"), nil, 1))
	if !errors.As(err, &e) || e.Status != http.StatusConflict {
		t.Errorf("%v", err)
	}
	ds, err := s.client.Decide(ctx, "other", "ann")
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.client.ExplainIn(ctx, "other", ds[0].Token, []byte(`{"age": 3}`))
	if err == nil || !strings.Contains(err.Error(), "does not look at it") {
		t.Errorf("%v", err)
	}
}
