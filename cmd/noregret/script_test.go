package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(cleaned{m}, programs)
}

// programs are those that the test binary runs as under other names.
var programs = map[string]func(){
	"noregret": func() { os.Exit(mainStatus()) },
	mortal:     func() { os.Exit(mortalStatus()) },
}

// cleaned runs the tests without the variables of the command's environment that whoever runs them
// has set, and then removes the command that they built.
type cleaned struct{ *testing.M }

func (m cleaned) Run() int {
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "NOREGRET_") {
			_ = os.Unsetenv(name)
		}
	}
	defer func() { _ = os.RemoveAll(builtDir) }()
	return m.M.Run()
}

// builtDir is the directory of the built command, "" before it is built.
var builtDir string

// buildCommand builds the command once for all tests.
var buildCommand = sync.OnceValues(func() (command string, err error) {
	if builtDir, err = os.MkdirTemp("", "noregret-built-"); err != nil {
		return "", err
	}
	command = filepath.Join(builtDir, "noregret")
	if out, err := exec.Command("go", "build", "-o", command, ".").CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w: %s", err, out)
	}
	return command, nil
})

// built returns the command as users build it, without the race detector. A whole demo takes
// minutes under the race detector, and the other tests run the same code under it.
func built(t *testing.T) string {
	t.Helper()
	command, err := buildCommand()
	if err != nil {
		t.Fatal(err)
	}
	return command
}

// TestScripts runs the scenarios in testdata/script. Each is a readable text: commands, what they
// print, and files. Run one with -run TestScripts/NAME; rewrite the expected outputs after an
// intended change with UPDATE_SCRIPTS=1.
//
// Scripts have additional commands (script_commands_test.go): "status N noregret ..." checks the
// exit status, "bad N ERROR ..." the exact error as well; pack, damage, replace and idx make files
// that text cannot show; "service start|stop|kill" runs noregret serve and "decide EXPERIMENT UNIT"
// asks it for a decision (script_service_test.go). "legible FILE.svg" checks a picture.
// After "plain", noregret is the command built without the race detector, for scenarios that take
// minutes under it and whose code other tests run under it.
func TestScripts(t *testing.T) {
	t.Parallel()
	path := filepath.Dir(built(t)) + string(filepath.ListSeparator)
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			// Under the race detector a program sleeps a second before it exits, unless told
			// otherwise.
			env.Setenv("GORACE", "atexit_sleep_ms=10")
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"status":  status,
			"bad":     bad,
			"pack":    pack,
			"damage":  damage,
			"replace": replace,
			"idx":     idx,
			"service": service,
			"decide":  decide,
			"legible": checkPicture,
			"plain": func(ts *testscript.TestScript, _ bool, _ []string) {
				ts.Setenv("PATH", path+ts.Getenv("PATH"))
			},
		},
	})
}
