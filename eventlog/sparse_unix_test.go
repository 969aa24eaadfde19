//go:build unix

package eventlog

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSparse checks that a file of the log that claims to have a terabyte, but has holes, is an
// error for whoever opens, checks or repairs the log. Before, a check read it into memory.
func TestSparse(t *testing.T) {
	ctx := context.Background()
	for _, pattern := range []string{"mark", "events/*.log", "events/*.sst", "events/MANIFEST-*", "snapshots/*"} {
		t.Run(strings.ReplaceAll(pattern, "/", "-"), func(t *testing.T) {
			dir := t.TempDir()
			s, err := Open(nil, dir, DefaultOptions())
			if err != nil {
				t.Fatal(err)
			}
			for range 50 {
				if _, _, err := s.Append(ctx, Event{Kind: "k", Time: 1, Payload: []byte("payload")}); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.SaveSnapshot(ctx, 40, []byte("state")); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			// The first log becomes a table.
			if s, err = Open(nil, dir, DefaultOptions()); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			files, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(pattern)))
			if err != nil || len(files) == 0 {
				t.Fatalf("no %s: %v", pattern, err)
			}
			for _, file := range files {
				if err := os.Truncate(file, 1<<40); err != nil {
					t.Skip("no sparse files here:", err)
				}
			}
			if s, err = Open(nil, dir, DefaultOptions()); err == nil {
				_, err = s.LatestSnapshot(ctx)
				_ = s.Close()
			}
			report, checked := Check(ctx, nil, dir)
			for what, err := range map[string]error{"Open": err, "Check": checked} {
				text := ""
				if err != nil {
					text = err.Error()
				}
				if what == "Check" {
					text += strings.Join(problems(report), " ")
				}
				if !strings.Contains(text, "holes") && !strings.Contains(text, "object size mismatch") {
					t.Errorf("%s: %v, %+v", what, err, report)
				}
			}
		})
	}
}

// problems are the texts of what a check has found.
func problems(r *Report) (out []string) {
	if r == nil {
		return nil
	}
	for _, f := range r.Findings {
		out = append(out, f.Problem)
	}
	for _, s := range r.Snapshots {
		out = append(out, s.Problem)
	}
	return out
}
