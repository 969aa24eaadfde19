package access

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/noregret/noregret/internal/legible"
)

// TestTokensFileRefused checks that a bad file is refused and that the error does not contain a
// token.
func TestTokensFileRefused(t *testing.T) {
	for _, text := range []string{
		"", "tokens: []", "x", "tokens: [{name: a, roles: [read]}]",
		"tokens: [{name: a, roles: [root], token: 0123456789abcdef}]",
		"tokens: [{name: a, roles: [read], token: short}]", "tokens: [{name: a, roles: [read], sha256: zz}]",
		"tokens: [{roles: [read], token: 0123456789abcdef}]",
		"tokens: [{name: a, roles: [read], token: 0123456789abcdef, sha256: aa}]",
		"tokens: [{name: a, roles: [], token: 0123456789abcdef}]",
		"tokens: [{name: a, roles: [read], token: 0123456789abcdef, color: red}]",
		"tokens: [{name: a, roles: [read], token: 0123456789abcdef}, " +
			"{name: a, roles: [read], token: 0123456789abcdeg}]",
		"tokens: [{name: a, roles: [aggregate], token: 0123456789abcdef}]",
		"tokens: [{name: a, roles: [feedback], sources: [s], token: 0123456789abcdef}]",
		"tokens: [{name: a, roles: [aggregate], sources: [''], token: 0123456789abcdef}]",
		"tokens: [{name: a, roles: [read], open_share: 0, token: 0123456789abcdef}]",
		"tokens: [{name: a, roles: [read], open_share: 1.1, token: 0123456789abcdef}]",
		"tokens: [{name: a, roles: [aggregate], sources: ['s*'], token: 0123456789abcdef}, " +
			"{name: b, roles: [aggregate], sources: [shop], token: 0123456789abcdeg}]",
		"tokens: [{name: a, roles: [aggregate], sources: [shop], token: 0123456789abcdef}, " +
			"{name: b, roles: [aggregate], sources: ['*'], token: 0123456789abcdeg}]",
		"tokens:\n  - name: a\n    roles: [read\n",
		"tokens: [{name: a, roles: [browser], token: 0123456789abcdef}]",
		"tokens: [{name: a, roles: [browser], experiments: [''], token: 0123456789abcdef}]",
		"tokens: [{name: a, roles: [browser, decide], experiments: [toy], token: 0123456789abcdef}]",
		"tokens: [{name: a, roles: [browser, admin], experiments: [toy], token: 0123456789abcdef}]",
		"tokens: [{name: a, roles: [decide], experiments: [''], token: 0123456789abcdef}]",
		"tokens: [{name: a, roles: [read], projects: [shop, ''], token: 0123456789abcdef}]",
		"tokens: [{name: a, roles: [decide], origins: ['https://a.example'], token: 0123456789abcdef}]",
		"tokens: [{name: a, roles: [browser], experiments: [toy], origins: ['*'], token: 0123456789abcdef}]",
	} {
		if _, err := parseTokens("f", []byte(text)); err == nil || strings.Contains(err.Error(), "0123456789abcde") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// told is a log handler that forwards each message to a channel.
type told struct {
	slog.Handler
	messages chan string
}

func (h told) Enabled(context.Context, slog.Level) bool { return true }

func (h told) Handle(_ context.Context, r slog.Record) error {
	h.messages <- r.Message
	return nil
}

// TestTokensWatched checks that Watch reads a changed file again.
func TestTokensWatched(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.yaml")
	write := func(name string) {
		t.Helper()
		text := "tokens: [{name: " + name + ", roles: [read], token: 0123456789abcdef-" + name + "}]"
		if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	write("old")
	messages, stop := make(chan string, 10), make(chan struct{})
	a, err := Open(path, slog.New(told{slog.DiscardHandler, messages}))
	if err != nil {
		t.Fatal(err)
	}
	a.every = time.Millisecond
	var done sync.WaitGroup
	done.Go(func() { a.Watch(stop) })
	write("new")
	if m := <-messages; m != "the access tokens were read again" {
		t.Error(m)
	}
	if a.Token("0123456789abcdef-old") != nil || a.Token("0123456789abcdef-new") == nil {
		t.Error("the old token is still valid, or the new one is not")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if m := <-messages; m != "the access tokens stay as they were" {
		t.Error(m)
	}
	write("new") // the same content as before
	if m := <-messages; m != "the access tokens were read again" {
		t.Error(m)
	}
	close(stop)
	done.Wait()
}

// TestNamesOfTokens: the names in the file are texts that people read.
func TestNamesOfTokens(t *testing.T) {
	for _, line := range []string{
		`{name: "a\nb", roles: [read]`, `{name: "a\u202eb", roles: [read]`, `{name: a, roles: [read], projects: ["b\e[2J"]`,
		`{name: a, roles: [aggregate], sources: ["b\t*"]`, `{name: a, roles: [read], experiments: ["\x9bb"]`,
	} {
		_, err := parseTokens("tokens.yaml", []byte("tokens:\n  - "+line+", token: 0123456789abcdef}"))
		if err == nil || !strings.Contains(err.Error(), "want one line without control characters") ||
			strings.ContainsFunc(err.Error(), legible.Unclear) {
			t.Errorf("%s: %v", line, err)
		}
	}
}
