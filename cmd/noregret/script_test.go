package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/noregret/noregret/internal/cli/clitest"
)

func TestMain(m *testing.M) { clitest.Main(m, map[string]func(){"noregret": main}) }

// TestScripts runs the scenarios in testdata/script. Each is a readable text: commands, what they
// print, and files. Run one with -run TestScripts/NAME; rewrite the expected outputs after an
// intended change with UPDATE_SCRIPTS=1.
//
// Scripts have additional commands (script_commands_test.go): "status N noregret ..." checks the
// exit status, "bad N ERROR ..." the exact error as well; pack, damage, replace and idx make files
// that text cannot show; "service start|stop|kill" runs noregret serve, "service score" noregret
// score, "decide EXPERIMENT UNIT" asks it for a decision, and "call METHOD PATH FILE" for anything
// (script_service_test.go). "legible FILE.svg" checks a picture.
// After "plain", noregret is the command built without the race detector, for scenarios that take
// minutes under it and whose code other tests run under it.
func TestScripts(t *testing.T) {
	t.Parallel()
	path := filepath.Dir(clitest.Built(t)) + string(filepath.ListSeparator)
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
			"call":    call,
			"legible": checkPicture,
			"plain": func(ts *testscript.TestScript, _ bool, _ []string) {
				ts.Setenv("PATH", path+ts.Getenv("PATH"))
			},
		},
	})
}
