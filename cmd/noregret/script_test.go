package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"noregret": func() { os.Exit(mainStatus()) },
	})
}

// TestScripts runs the scenarios in testdata/script. Each is a readable text: commands, what
// they print, and files. Run one with -run TestScripts/NAME; rewrite the expected
// outputs after a wanted change with UPDATE_SCRIPTS=1.
//
// Scripts have commands of their own (scriptcmd_test.go): "status N noregret ..." checks the exit
// status, "bad N ERROR ..." the exact error as well; pack, damage, replace and idx make files that
// text cannot show; "service start|stop|kill" runs noregret serve (scriptserve_test.go); after
// "plain", noregret is the command as it is built without the race detector, for what takes minutes
// with it and has tests of its own under it.
func TestScripts(t *testing.T) {
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
			"plain": func(ts *testscript.TestScript, _ bool, _ []string) {
				ts.Setenv("PATH", path+ts.Getenv("PATH"))
			},
		},
	})
}
