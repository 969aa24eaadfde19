package faults

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/noregret/noregret"
)

// programs are the files of the programs that the machines run.
type programs struct{ server, node string }

func programsIn(dir string) programs {
	return programs{server: filepath.Join(dir, "nats-server"), node: filepath.Join(dir, "noregret")}
}

// build compiles the programs with the go command: the server that the module of the laboratory
// pins, and the command noregret as it is, with clocks of their own if they need them.
func build(ctx context.Context, dir string, clocks bool) (p programs, err error) {
	p = programsIn(dir)
	run := func(in string, args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, "go", args...)
		cmd.Dir = in
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false")
		out, err := cmd.Output()
		if e, ok := errors.AsType[*exec.ExitError](err); ok {
			err = fmt.Errorf("go %s: %w: %s", strings.Join(args, " "), err, e.Stderr)
		}
		return strings.TrimSpace(string(out)), err
	}
	lab, err := run("", "list", "-m", "-f", "{{.Dir}}", "github.com/noregret/noregret/lab")
	with := "" // the same as no overlay
	if err == nil && clocks {
		var root string
		if root, err = run(lab, "env", "GOROOT"); err == nil {
			with, err = overlay(dir, root)
		}
	}
	if err == nil {
		_, err = run(lab, "build", "-overlay", with, "-o", p.server, "github.com/nats-io/nats-server/v2")
	}
	if err == nil {
		_, err = run(filepath.Dir(lab), "build", "-overlay", with, "-o", p.node, "./cmd/noregret")
	}
	if err != nil {
		err = noregret.Errorf(noregret.Internal, "programs", "%w", err)
	}
	return p, err
}

// process is a program of a machine.
type process struct {
	name string
	args []string
	log  string // the file of what it prints
	// ahead is the file of the seconds by which its clock is ahead, if it has one of its own.
	ahead string
	cmd   *exec.Cmd
}

// start starts the process.
func (p *process) start() error {
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the process has its own descriptor
	cmd := exec.Command(p.args[0], p.args[1:]...)
	cmd.Env = append(os.Environ(), aheadVariable+"="+p.ahead)
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = log, log, endsWithUs()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	p.cmd = cmd
	return nil
}

// kill ends the process as kill -9 does, if it runs.
func (p *process) kill() {
	if p.cmd != nil {
		_ = p.cmd.Process.Kill() // it may have ended
		_ = p.cmd.Wait()         // says that it was killed
		p.cmd = nil
	}
}

// said returns the lines that the process has printed and that have one of the texts.
func (p *process) said(texts ...string) (lines []string) {
	b, err := os.ReadFile(p.log)
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(b)) {
		if slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(line, text) }) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}
