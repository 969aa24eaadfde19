package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// The next writer of a target removes what a killed one has left, and nothing else: not what a
// living writer, also of this process, has begun, nor files of other targets and names.
func TestDeadWritersFilesAreRemoved(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "m.json")
	keep := []string{
		".m.json.tmp", ".m.json.tmp1", ".m.json.tmp1-", ".m.json.tmp1-0x", ".m.json.bak", ".other.json.tmp1-0",
		"m.json.tmp1-0", ".m.json.tmp-1-0",
	}
	dead := []string{".m.json.tmp1-0", ".m.json.tmp99999999-17"}
	for _, name := range append(keep, dead...) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("secret"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, ".m.json.tmp2-0"), 0o700); err != nil {
		t.Fatal(err)
	}
	keep = append(keep, ".m.json.tmp2-0")
	alive, err := Create(target)
	if err != nil {
		t.Fatal(err)
	}
	defer alive.Abort()
	keep = append(keep, filepath.Base(alive.Name()))
	if err := WriteBytes(target, []byte("new")); err != nil {
		t.Fatal(err)
	}
	left := strings.Join(names(t, dir), " ") + " "
	for _, name := range dead {
		if strings.Contains(left, name+" ") {
			t.Errorf("%s is left", name)
		}
	}
	for _, name := range append(keep, "m.json") {
		if !strings.Contains(left, name+" ") {
			t.Errorf("%s is gone", name)
		}
	}
	if _, err := alive.Write([]byte("later")); err != nil {
		t.Fatal(err)
	}
	if err := alive.Commit(); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(target); string(b) != "later" {
		t.Errorf("%q, %v", b, err)
	}
}

// A writer of a private file removes what killed writers of other private files of the directory
// have left, such as those of backups with another name every time. It leaves the files of living
// writers, files that others may read, and names that are not of this package.
func TestDeadPrivateFilesAreRemoved(t *testing.T) {
	dir := t.TempDir()
	old, public, foreign := ".backup-1.tar.tmp1-0", ".data.csv.tmp1-0", ".backup-1.tar.tmp"
	for _, name := range []string{old, public, foreign} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("secret"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(dir, public), 0o644); err != nil {
		t.Fatal(err)
	}
	alive, err := CreatePrivate(filepath.Join(dir, "backup-2.tar"))
	if err != nil {
		t.Fatal(err)
	}
	defer alive.Abort()
	if err := WritePrivate(filepath.Join(dir, "backup-3.tar"), nil); err != nil {
		t.Fatal(err)
	}
	left := names(t, dir)
	for name, want := range map[string]bool{
		old: false, public: runtime.GOOS != "windows", foreign: true, filepath.Base(alive.Name()): true,
		"backup-3.tar": true,
	} {
		if slices.Contains(left, name) != want {
			t.Errorf("%s is there: %v, want %v", name, !want, want)
		}
	}
}

// Writers of one target do not take each other's files away, while others clean up.
func TestWritersAtOnce(t *testing.T) {
	target := filepath.Join(t.TempDir(), "m.json")
	var wait sync.WaitGroup
	for i := range 4 {
		wait.Go(func() {
			for range 50 {
				if err := WriteBytes(target, []byte{byte('a' + i)}); err != nil {
					t.Error(err)
				}
				if err := Clean(target); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	if got := names(t, filepath.Dir(target)); len(got) != 1 {
		t.Errorf("left: %q", got)
	}
}

// A temporary directory lives as long as its process.
func TestTempDir(t *testing.T) {
	target := filepath.Join(t.TempDir(), "restore")
	d, err := MakeTempDir(target)
	if err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(d.Name, "keys")
	if err := os.WriteFile(secret, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(CleanTempDirs(target), Clean(target)); err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(secret); err != nil {
		t.Errorf("the directory of a living process: %v, %v", st, err)
	}
	if locks {
		_ = d.f.Close() // as the system does when the process is killed
		if err := Clean(target); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(secret); err != nil {
			t.Errorf("a directory is removed as a file is: %v", err)
		}
		if err := CleanTempDirs(target); err != nil {
			t.Fatal(err)
		}
	} else if err := d.Remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(d.Name); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory of a dead process: %v", err)
	}
}
