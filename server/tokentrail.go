package server

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/internal/atomicfile"
	"github.com/noregret/noregret/internal/strictjson"
	"github.com/noregret/noregret/server/internal/access"
)

// tokenTrail notes changes of the file of access tokens in the audit trail, also those that were
// made while no service was running: DATA/tokens.json has what the tokens were when the last
// change was noted, without the tokens.
type tokenTrail struct {
	file   string
	logger *slog.Logger
	tokens *access.Tokens
	writer *writer

	mu    sync.Mutex
	noted []access.Known
	begun bool // noted is known; else the next look is the first
}

// tokensSeen is the form of DATA/tokens.json.
type tokensSeen struct {
	Tokens []access.Known `json:"tokens"`
}

// newTokenTrail reads what was noted last. A file that cannot be read is as if there were none.
func newTokenTrail(c *Config, tokens *access.Tokens, w *writer) *tokenTrail {
	t := &tokenTrail{file: filepath.Join(c.Data, "tokens.json"), logger: c.Logger, tokens: tokens, writer: w}
	b, err := os.ReadFile(t.file)
	if err == nil {
		var seen tokensSeen
		if err = strictjson.Decode(b, &seen, strictjson.Rules{}); err == nil {
			t.noted, t.begun = seen.Tokens, true
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.logger.Warn("changes of the access tokens since the last start cannot be told", "error", err)
	}
	return t
}

// look notes what has changed since the last note. What cannot be noted now is noted with the next
// change, or at the next start.
func (t *tokenTrail) look() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.writer.leads.Load() {
		return // a node notes it when it leads
	}
	now := t.tokens.Known()
	if !t.begun && len(now) == 0 {
		return // tokens have never been required
	}
	what := access.Changes(t.noted, now)
	if t.begun && what == "" {
		return
	}
	if t.begun {
		ctx, cancel := context.WithTimeout(context.Background(), t.writer.noteTime)
		defer cancel()
		if err := t.writer.note(ctx, experiment.ActionTokens, experiment.Author{What: what}); err != nil {
			t.logger.Warn("a change of the access tokens is not in the audit trail yet", "change", what, "error", err)
			return
		}
	}
	t.noted, t.begun = now, true
	b, err := json.Marshal(tokensSeen{now})
	if err == nil {
		err = atomicfile.WritePrivate(t.file, b)
	}
	if err != nil {
		t.logger.Warn("changes of the access tokens while the service is down may not be noted", "error", err)
	}
}
