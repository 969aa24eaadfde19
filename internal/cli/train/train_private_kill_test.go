package train

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/internal/atomicfile"
	"github.com/noregret/noregret/internal/cli/budgets"
	"github.com/noregret/noregret/internal/cli/command"
)

// dieAtStep is the variable of a command that kills itself before one of its operations on files.
const dieAtStep = "NOREGRET_TEST_DIE_AT_STEP"

// killSelf ends the process by SIGKILL.
func killSelf() {
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Kill()
	}
	select {} // the signal ends the process
}

// mortalSteps is the command for a process that kills itself before the operation on files whose
// number, from 1, is given.
func mortalSteps(at int) int {
	steps := 0
	atomicfile.Failpoint = func(string, string) {
		if steps++; steps == at {
			killSelf()
		}
	}
	return command.Main(cmds)
}

// filesBelow returns the paths of the files below a directory, and requires that of a ledger and a
// secret state nothing is open to others.
func filesBelow(t *testing.T, dir string) (out []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := d.Info()
		if err != nil {
			return err
		}
		rest, err := filepath.Rel(dir, path)
		if err == nil && strings.ContainsAny(rest, `/\`) && st.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows" {
			t.Errorf("%s has the mode %v", rest, st.Mode())
		}
		if !d.IsDir() {
			out = append(out, rest)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// killed runs the command in fresh directories with ten records, as processes that die at step 1,
// 2, ..., which the variable gives them, until one lives. It calls f after each death, and f calls
// restart, which runs the command to its end in the directory. It returns the number of deaths.
func killed(t *testing.T, variable string, f func(at int, dir string, restart func())) (deaths int) {
	t.Helper()
	args := append(strings.Fields(trainPrivate), "--save-every", "5", "--resume", "--workers", "1", "in.svm")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), mortal)
	if err := os.Symlink(self, link); err != nil {
		t.Skipf("no symbolic links: %v", err)
	}
	for at := 1; ; at++ {
		dir := privateFile(t, 10, someRow)
		cmd := exec.Command(link, args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), fmt.Sprintf("%s=%d", variable, at))
		out, err := cmd.CombinedOutput()
		if err == nil {
			return deaths // it has fewer steps
		}
		if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() > 0 {
			t.Fatalf("death at step %d: %v, %s", at, err, out)
		}
		deaths++
		f(at, dir, func() {
			t.Chdir(dir)
			if status, _, stderr := cmds.Try(t.Context(), args...); status != 0 {
				t.Fatalf("restart after step %d: status %d, %s", at, status, stderr)
			}
			if m, err := classify.LoadModel("m.json"); err != nil || m.Privacy.Records != 10 {
				t.Fatalf("after step %d: %v", at, err)
			}
		})
	}
}

// A private training is killed by SIGKILL before each of its operations on files, in the middle of
// writes too, and resumed. Opening the state alone leaves nothing that a dead writer has begun, and
// at the end nothing of the state is left, whole or in parts, and the ledger is charged once.
func TestTrainPrivateKilledAnywhere(t *testing.T) {
	leftovers := 0
	kills := killed(t, dieAtStep, func(at int, dir string, restart func()) {
		state := filepath.Join(dir, "m.json.state")
		if entries, err := os.ReadDir(state); err == nil {
			if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return strings.Contains(e.Name(), ".tmp") }) {
				leftovers++
			}
			if _, err := dp.OpenFileStore(state); err != nil {
				t.Fatal(err)
			}
			for _, path := range filesBelow(t, state) {
				if strings.Contains(path, ".tmp") {
					t.Errorf("death at operation %d: %s is there after the state was opened", at, path)
				}
			}
		}
		restart()
		for _, path := range filesBelow(t, dir) {
			switch {
			case path == "in.svm" || path == "m.json":
			case strings.HasPrefix(path, "in.svm.privacy") && !strings.Contains(path, ".tmp"):
			default:
				t.Errorf("death at operation %d: %s is left", at, path)
			}
		}
		accounts, err := budgets.Read("in.svm.privacy")
		if err != nil || len(accounts) != 1 || len(accounts[0].Runs) != 1 || accounts[0].Spent > 1 {
			t.Errorf("after operation %d: %+v, %v", at, accounts, err)
		}
	})
	if kills < 40 || leftovers < 10 {
		t.Errorf("%d kills, %d of them with a leftover: want 40, as the test says", kills, leftovers)
	}
}
