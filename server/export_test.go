package server

import (
	"bufio"
	"bytes"
	"context"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/server/internal/web"
)

// TestExport checks that the exported lines are the log and can be imported into another one.
func TestExport(t *testing.T) {
	w := newWorld(t)
	w.apply(toy)
	w.apply(strings.Replace(toy, "name: toy", "name: other", 1))
	d := w.decide("toy", "a")[0]
	w.post("/v1/feedback", item{d.Token, map[string]float64{"x": 1}})
	_, all := w.do("GET", "/v1/export", "")
	log, err := eventlog.Open(vfs.NewMem(), "log", eventlog.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	if n, err := eventlog.Import(context.Background(), log, "export", bytes.NewReader(all)); err != nil || n != 3 {
		t.Fatalf("%d events, %v", n, err)
	}
	state := experiment.NewState()
	if err := Fold(context.Background(), log, state, 3); err != nil {
		t.Fatal(err)
	}
	want, err := w.server.State()
	if err != nil {
		t.Fatal(err)
	}
	if digest, err := state.Digest(); err != nil || digest != want.Digest {
		t.Errorf("the exported log folds to %s, the service has %s", digest, want.Digest)
	}
	_, some := w.do("GET", "/v1/export?experiment=other", "")
	n := 0
	for sc := bufio.NewScanner(bytes.NewReader(some)); sc.Scan(); n++ {
		if !strings.Contains(sc.Text(), `"experiment":"other"`) {
			t.Error(sc.Text())
		}
	}
	if n != 1 {
		t.Errorf("%d lines: %s", n, some)
	}
	w.get(400, nil, "GET", "/v1/export?from=x", "")
	w.get(404, nil, "GET", "/v1/export?from=99", "")
}

// compactingLog drops the events up to a position before the first Read, as a compaction that runs
// during an export does.
type compactingLog struct {
	eventlog.Log
	t    *testing.T
	upTo uint64
}

func (l *compactingLog) Read(ctx context.Context, from uint64) iter.Seq2[eventlog.Record, error] {
	if upTo := l.upTo; upTo > 0 {
		l.upTo = 0
		if err := l.SaveSnapshot(ctx, upTo, []byte("state")); err != nil {
			l.t.Fatal(err)
		}
		if err := l.Compact(ctx, upTo); err != nil {
			l.t.Fatal(err)
		}
	}
	return l.Log.Read(ctx, from)
}

// TestExportBesideCompaction drops events after an export has read where the log begins. The
// connection does not break: an export from a dropped position answers 410 Gone, and an export
// without a position begins after the dropped events.
func TestExportBesideCompaction(t *testing.T) {
	for query, want := range map[string]int{"": http.StatusOK, "?from=1": http.StatusGone} {
		w := newWorld(t)
		w.apply(toy)
		w.get(200, nil, "POST", "/v1/experiments/toy/pause", "")
		w.get(200, nil, "POST", "/v1/experiments/toy/resume", "")
		a := &logAPI{
			tokens: w.server.tokens,
			config: &w.config, live: w.server.live, policies: w.server.policies,
			log: &compactingLog{Log: w.server.log, t: t, upTo: 1},
		}
		rec := httptest.NewRecorder()
		err := a.export(rec, httptest.NewRequest("GET", "/v1/export"+query, nil))
		if err != nil {
			web.WriteError(rec, httptest.NewRequest("GET", "/v1/export", nil), w.config.Logger, err)
		}
		if rec.Code != want {
			t.Errorf("%q: status %d, want %d: %s", query, rec.Code, want, rec.Body)
		}
		if want == http.StatusOK && !strings.HasPrefix(rec.Body.String(), `{"position":2,`) {
			t.Errorf("%q: the export begins with %.40s", query, rec.Body)
		}
	}
}
