package train

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/dataset/synth"
)

// rowsOf returns rows of the data set g1 as svmlight text.
func rowsOf(t *testing.T, n int, seed uint64) []byte {
	t.Helper()
	g, err := synth.New(synth.G1, seed)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := generateRows(t.Context(), &b, g, generateOptions{rows: int64(n), format: "svmlight"}, nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// listing returns the names of the files in a directory.
func listing(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

// A training run that is interrupted while it waits for more input ends with status 1 and leaves
// nothing.
func TestInterruptedTraining(t *testing.T) {
	for _, mode := range []string{"--stream=false", "--stream=true"} {
		dir := t.TempDir()
		ctx, cancel := context.WithCancel(t.Context())
		in, feed := io.Pipe()
		go func() {
			// The pipe has no buffer: the second write ends when the first has been read, and the
			// reader then waits for more.
			for _, part := range [][]byte{rowsOf(t, 100, 1), rowsOf(t, 1, 2)} {
				if _, err := feed.Write(part); err != nil {
					t.Error(err)
				}
			}
			cancel()
		}()
		var out, errs bytes.Buffer
		// The flags state the format in full, so that the command prints no note about it.
		status := cmds.Run(ctx, []string{
			"train", mode, "--measure", "f1", "--model", filepath.Join(dir, "m.json"), "--format", "svmlight",
			"--base", "1", "--positive", "1", "-",
		}, in, &out, &errs)
		_ = feed.Close() // frees the goroutine that reads
		if status != 1 || out.Len() > 0 || errs.String() != "noregret: interrupted\n" {
			t.Errorf("%s: status %d, stdout %q, stderr %q", mode, status, &out, &errs)
		}
		if left := listing(t, dir); left != "" {
			t.Errorf("%s: left behind: %s", mode, left)
		}
	}
}

// start runs the real command, which is this test binary under another name (see TestMain), in dir.
func start(t *testing.T, dir string, args ...string) (*exec.Cmd, io.WriteCloser, *bytes.Buffer) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "noregret")
	if err := os.Symlink(self, link); err != nil {
		t.Skipf("no symbolic links: %v", err)
	}
	cmd := exec.Command(link, args...)
	cmd.Dir = dir
	var errs bytes.Buffer
	cmd.Stderr = &errs
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, in, &errs
}

// After SIGINT the real process ends with status 1 and its message, and leaves no model and no
// temporary file.
func TestInterruptSignal(t *testing.T) {
	dir := t.TempDir()
	cmd, in, errs := start(t, dir, "train", "--measure", "f1", "--model", "m.json", "-")
	// More than any pipe holds: when it has been written, the process is reading.
	if _, err := in.Write(rowsOf(t, 20_000, 1)); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	err := cmd.Wait()
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok || exit.ExitCode() != 1 || errs.String() != "noregret: interrupted\n" {
		t.Errorf("%v, stderr %q", err, errs)
	}
	if left := listing(t, dir); left != "" {
		t.Errorf("left behind: %s", left)
	}
}

// A process that is killed while it writes its model again and again leaves a whole model or none.
func TestKilledTrainingLeavesWholeModel(t *testing.T) {
	rows := rowsOf(t, 60_000, 1)
	found := 0
	for i := range 8 {
		dir := t.TempDir()
		cmd, in, _ := start(t, dir, "train", "--stream", "--measure", "gmean", "--save-every", "1000", "--model",
			"m.json", "-")
		if _, err := in.Write(rows[:len(rows)*(i+1)/8]); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err == nil {
			t.Error("the killed process reported success")
		}
		m, err := classify.LoadModel(filepath.Join(dir, "m.json"))
		switch {
		case err == nil:
			found++
			if m.Data.Rows == 0 || len(m.Models[0].Weights.Index) != 10 {
				t.Errorf("round %d: a model of %d rows with %d weights", i, m.Data.Rows, len(m.Models[0].Weights.Index))
			}
		case !errors.Is(err, fs.ErrNotExist) && !strings.Contains(err.Error(), "no such file"):
			t.Errorf("round %d: %v", i, err)
		}
	}
	if found == 0 {
		t.Error("no process wrote a model before it was killed")
	}
}

// A model is saved exactly at the multiples of --save-every while a pipe delivers rows. The test
// waits for each model before it writes the next rows.
func TestSaveEveryFromLivePipe(t *testing.T) {
	lines := bytes.SplitAfter(rowsOf(t, 400, 1), []byte("\n"))
	path := filepath.Join(t.TempDir(), "m.json")
	r, w := io.Pipe()
	status := make(chan int, 1)
	var stderr bytes.Buffer
	go func() {
		status <- cmds.Run(t.Context(), []string{
			"train", "--stream", "--measure", "gmean", "--save-every", "100", "--model",
			path, "-",
		}, r, io.Discard, &stderr)
	}()
	for i, line := range lines[:330] {
		if _, err := w.Write(line); err != nil {
			t.Fatal(err)
		}
		if i+1 != 130 && i+1 != 330 {
			continue
		}
		want := int64((i + 1) / 100 * 100)
		for {
			m, err := classify.LoadModel(path)
			if err == nil && m.Data.Rows == want && m.Data.Train.Rows == want {
				break
			}
			if err == nil && m.Data.Rows%100 != 0 {
				t.Fatalf("a model of %d rows", m.Data.Rows)
			}
			if err := t.Context().Err(); err != nil {
				t.Fatal(err)
			}
			runtime.Gosched()
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got := <-status; got != 0 {
		t.Errorf("status %d: %s", got, stderr.String())
	}
	if m, err := classify.LoadModel(path); err != nil || m.Data.Rows != 330 {
		t.Errorf("at the end: %v", err)
	}
}
