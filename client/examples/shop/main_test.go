package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"github.com/noregret/noregret/client"
	"github.com/noregret/noregret/server/servicetest"
)

// TestRun runs the example against a service.
func TestRun(t *testing.T) {
	_, url := servicetest.Start(t, nil)
	c, err := client.New(client.DefaultOptions(url))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("checkout.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Apply(context.Background(), "checkout", text); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run(context.Background(), url, &out); err != nil {
		t.Fatal(err)
	}
	if want := "feedback: 200\n"; !strings.Contains(out.String(), want) {
		t.Errorf("got %q, want %q in it", out.String(), want)
	}
}
