package atomicfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/noregret/noregret"
)

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func TestWriteReplaces(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "model.json")
	for _, text := range []string{"one", "two"} {
		if err := WriteBytes(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != text {
			t.Fatalf("got %q, %v; want %q", got, err, text)
		}
	}
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("left in the directory: %q", got)
	}
}

func TestFailedWriteLeavesOldFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "model.json")
	if err := WriteBytes(path, []byte("old")); err != nil {
		t.Fatal(err)
	}
	boom := errors.New("boom")
	err := Write(path, func(w io.Writer) error {
		if _, err := io.WriteString(w, "half a mod"); err != nil {
			return err
		}
		return boom
	})
	if !errors.Is(err, boom) {
		t.Fatalf("got error %v, want %v", err, boom)
	}
	if got, _ := os.ReadFile(path); string(got) != "old" {
		t.Errorf("got %q, want the old content", got)
	}
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("left in the directory: %q", got)
	}
}

func TestCommitTwice(t *testing.T) {
	f, err := Create(filepath.Join(t.TempDir(), "x"))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := f.Commit(); err == nil {
		t.Error("the second Commit reported no error")
	}
	f.Abort()
	if _, err := os.Stat(f.path); err != nil {
		t.Errorf("Abort after Commit removed the file: %v", err)
	}
}

// A file keeps its mode, so that a private file is private at every moment.
func TestModeIsKept(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no such modes")
	}
	for _, mode := range []os.FileMode{0o600, 0o640, 0o666, 0o755, 0o400} {
		path := filepath.Join(t.TempDir(), "model.json")
		if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil { // independent of the umask
			t.Fatal(err)
		}
		err := Write(path, func(w io.Writer) error {
			st, err := w.(*File).Stat()
			if err != nil {
				return err
			}
			if wider := st.Mode().Perm() &^ mode; wider != 0 {
				t.Errorf("%v: the temporary file has mode %v", mode, st.Mode())
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		st, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if st.Mode().Perm() != mode {
			t.Errorf("mode %v, want %v", st.Mode().Perm(), mode)
		}
	}
}

// A symbolic link is kept; the file that it names is replaced or created.
func TestLinksAreWrittenThrough(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{"real/deep", "other"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	link := func(target, name string) {
		t.Helper()
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Skip(err)
		}
	}
	link("real/target", "relative")
	link("relative", "chain")
	link(filepath.Join(dir, "real", "target"), "absolute")
	link("real/deep", "folder")             // folder/.. is real, not dir
	link("../missing", "real/deep/up")      // to a file that does not exist yet
	link("folder/up", "dangling")           // through both
	link("nowhere/file", "without a place") // in a directory that does not exist
	for _, tc := range []struct{ path, want string }{
		{"relative", "real/target"},
		{"chain", "real/target"},
		{"absolute", "real/target"},
		{"folder/up", "real/missing"},
		{"dangling", "real/missing"},
	} {
		for _, there := range []bool{false, true} {
			want := filepath.Join(dir, tc.want)
			_ = os.Remove(want)
			if there {
				if err := os.WriteFile(want, []byte("old"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := WriteBytes(filepath.Join(dir, tc.path), []byte("new")); err != nil {
				t.Errorf("%s: %v", tc.path, err)
				continue
			}
			if got, err := os.ReadFile(want); string(got) != "new" {
				t.Errorf("%s: %s holds %q, %v", tc.path, tc.want, got, err)
			}
			if st, err := os.Lstat(filepath.Join(dir, tc.path)); err != nil || st.Mode()&os.ModeSymlink == 0 {
				t.Errorf("%s: no longer a link: %v, %v", tc.path, st, err)
			}
		}
	}
	if err := WriteBytes(filepath.Join(dir, "without a place"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a link into a directory that does not exist: %v", err)
	}
	link("round", "round")
	if err := WriteBytes(filepath.Join(dir, "round"), nil); err == nil {
		t.Error("a link to itself: no error")
	}
}

// Only regular files are replaced.
func TestOtherTargetsAreRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink(dir, filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	for _, path := range []string{dir, filepath.Join(dir, "link"), os.DevNull} {
		err := WriteBytes(path, []byte("x"))
		if noregret.CodeOf(err) != noregret.Usage || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: got %v, want a usage error that names it", path, err)
		}
	}
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("left in the directory: %q", got)
	}
	if st, err := os.Stat(os.DevNull); err != nil || st.Mode().IsRegular() {
		t.Fatalf("%s is %v, %v", os.DevNull, st, err)
	}
}

// If the system cannot flush directories at all, the file is written nevertheless. Other failures
// are reported.
func TestDirectoryFlush(t *testing.T) {
	for _, tc := range []struct {
		err  error
		told bool
	}{
		{nil, false},
		{syscall.EINVAL, false},
		{syscall.ENOTSUP, false},
		{errors.ErrUnsupported, false},
		{syscall.EIO, true},
		{errors.New("boom"), true},
	} {
		err := flushed(&os.PathError{Op: "sync", Path: "x", Err: tc.err})
		if tc.err == nil {
			err = flushed(nil)
		}
		if (err != nil) != tc.told {
			t.Errorf("%v: got %v", tc.err, err)
		}
	}
	if err := SyncDir(t.TempDir()); err != nil {
		t.Error(err)
	}
	if err := SyncDir(filepath.Join(t.TempDir(), "no")); runtime.GOOS != "windows" && !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing directory: %v", err)
	}
}

// TestWritePrivate checks that nobody else can read a private file, even one that was readable.
func TestWritePrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret")
	for _, before := range []os.FileMode{0, 0o644} {
		if before != 0 {
			if err := os.Chmod(path, before); err != nil {
				t.Fatal(err)
			}
		}
		if err := WritePrivate(path, []byte("text")); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o600 && runtime.GOOS != "windows" {
			t.Errorf("%v, %v", info.Mode(), err)
		}
	}
}
