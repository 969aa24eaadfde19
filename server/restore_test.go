package server

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/server/internal/archive"
)

// rewritten returns a backup whose entries are changed, with sums that fit. An entry that becomes
// nil is left out.
func rewritten(t *testing.T, backup []byte, change func(name string, content []byte) []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	in, out := archive.NewReader("b.tar", bytes.NewReader(backup)), archive.NewWriter(&b, time.Unix(0, 0))
	for {
		name, content, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if content = change(name, content); content == nil {
			continue
		}
		if err := out.Add(name, content); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// ledgerIn returns the privacy ledger in a backup.
func ledgerIn(t *testing.T, backup []byte) (document []byte) {
	t.Helper()
	rewritten(t, backup, func(name string, content []byte) []byte {
		if name == ledgerEntry {
			document = bytes.Clone(content)
		}
		return content
	})
	if document == nil {
		t.Fatal("the backup has no ledger")
	}
	return document
}

// TestRestoreLedger restores backups whose privacy ledger is missing, older than the log, or that
// of others: they are refused, as the restored service would not know what was spent.
func TestRestoreLedger(t *testing.T) {
	w := privateServer(t, func(c *Config) { c.BackupPrivate = true })
	begun := w.takeBackup()
	w.privateRound(unitNames("a", 50), func(int) map[string]float64 { return map[string]float64{"buy": 60} })
	w.matured()
	released := w.takeBackup()
	other := strings.Replace(privateToy, "name: secret", "name: other", 1)
	w.apply(other)
	both := w.takeBackup()
	w.get(204, nil, "DELETE", "/v1/experiments/secret", "")
	w.get(204, nil, "DELETE", "/v1/experiments/other", "")
	w.server.Tick()
	deleted := w.takeBackup()
	ledger := func(backup, of []byte) []byte {
		document := []byte(nil)
		if of != nil {
			document = ledgerIn(t, of)
		}
		return rewritten(t, backup, func(name string, content []byte) []byte {
			if name == ledgerEntry {
				return document
			}
			return content
		})
	}
	nameless := func(backup []byte) []byte {
		return rewritten(t, backup, func(name string, content []byte) []byte {
			if name == backupEntry {
				return bytes.Replace(content, []byte(`,"private":["secret"]`), nil, 1)
			}
			return content
		})
	}
	for _, c := range []struct {
		name, want string
		backup     []byte
	}{
		{"no ledger", `of the private experiments [], and backup.json names ["secret"]`, ledger(released, nil)},
		{
			"no ledger and no names", `does not know the private experiment "secret" (releases in the log: 1)`,
			nameless(ledger(released, nil)),
		},
		{"an older ledger", `has 0 releases of the private experiment "secret", and the log has 1: want`, ledger(released, begun)},
		{
			"an older ledger without an account", `[\"secret\"], and backup.json names [\"other\" \"secret\"]`,
			ledger(both, released),
		},
		{"a ledger with one more account", `["other" "secret"], and backup.json names ["secret"]`, ledger(released, both)},
		{"deleted experiments without a ledger", `[], and backup.json names ["other" "secret"]`, ledger(deleted, nil)},
		{"a damaged ledger", "privacy/ledger: ledger: damaged", rewritten(t, released, func(
			name string, b []byte,
		) []byte {
			if name == ledgerEntry {
				b = append([]byte(" "), b...)
			}
			return b
		})},
	} {
		data := filepath.Join(t.TempDir(), "new")
		_, err := Restore(t.Context(), "b.tar", bytes.NewReader(c.backup), data)
		want := strings.ReplaceAll(c.want, `\"`, `"`)
		if noregret.CodeOf(err) != noregret.BadInput || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", c.name, err, want)
		}
		if _, err := os.Stat(data); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: the directory was made: %v", c.name, err)
		}
		_, err = CheckBackup("b.tar", bytes.NewReader(c.backup))
		if strings.Contains(want, backupEntry) && err == nil {
			t.Errorf("%s: the check of the backup passes", c.name)
		}
	}
	for _, good := range [][]byte{begun, released, both, deleted, ledger(released, released)} {
		if _, err := Restore(t.Context(), "b.tar", bytes.NewReader(good), t.TempDir()); err != nil {
			t.Error(err)
		}
	}
}

// TestBackupWithoutLedger loses the ledger of a private experiment. A backup of the directory is
// refused, as its restore would be. A service that starts on the directory ends the releases, and
// the backup of it can be restored.
func TestBackupWithoutLedger(t *testing.T) {
	w := privateServer(t, func(c *Config) { c.FS, c.Keys, c.BackupPrivate = nil, nil, true })
	w.privateRound(unitNames("a", 50), func(int) map[string]float64 { return map[string]float64{"buy": 60} })
	w.matured()
	w.http.Close()
	if err := w.server.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(w.config.Data, "privacy")); err != nil {
		t.Fatal(err)
	}
	_, err := Backup(t.Context(), w.config.Data, io.Discard)
	if noregret.CodeOf(err) != noregret.BadInput ||
		!strings.Contains(err.Error(), `does not know the private experiment "secret"`) {
		t.Errorf("a backup without the ledger: %v", err)
	}
	w.start()
	w.server.Tick()
	if p := w.report("secret").Privacy; p.Released != 1 || !strings.Contains(p.Ended, "the ledger has no such run") {
		t.Errorf("%+v", p)
	}
	r, _ := w.restored(w.takeBackup())
	if p := r.report("secret").Privacy; p.Released != 1 || p.Ended == "" {
		t.Errorf("%+v", p)
	}
	position := func() uint64 { return w.server.log.Stats().Last }
	before := position()
	w.server.Tick()
	if position() != before {
		t.Error("the end of the releases is in the log twice")
	}
}
